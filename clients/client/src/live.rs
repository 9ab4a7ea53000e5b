//! A thread that keeps itself up to date: a snapshot from the daemon, and every event of the connection folded into it by
//! the reducer of the protocol crate. It owns the view; whoever draws it reads [`LiveThread::view`] after each event.

use std::time::Duration;

use agentd_protocol::turn::Turn;
use agentd_protocol::view::ThreadView;

use crate::calls::ThreadOverrides;
use crate::connection::Client;
use crate::error::ClientError;
use crate::wire::Event;

/// A thread this client is subscribed to.
pub struct LiveThread<'c> {
    client: &'c Client,
    view: ThreadView,
}

impl<'c> LiveThread<'c> {
    /// Starts a new thread.
    pub fn start(client: &'c Client, overrides: &ThreadOverrides) -> Result<Self, ClientError> {
        let thread = client.thread_start(overrides)?;
        Ok(Self {
            client,
            view: ThreadView::from_thread(thread),
        })
    }

    /// Resumes a stored or running thread.
    pub fn resume(client: &'c Client, thread_id: &str, overrides: &ThreadOverrides) -> Result<Self, ClientError> {
        let thread = client.thread_resume(thread_id, overrides)?;
        Ok(Self {
            client,
            view: ThreadView::from_thread(thread),
        })
    }

    /// The thread's id.
    pub fn id(&self) -> &str {
        &self.view.thread().id
    }

    /// The thread as far as it was told.
    pub fn view(&self) -> &ThreadView {
        &self.view
    }

    /// Starts a turn with one text.
    pub fn turn_start(&self, text: &str) -> Result<Turn, ClientError> {
        self.client.turn_start(self.id(), text)
    }

    /// Interrupts the running turn; nothing to do if none runs.
    pub fn interrupt(&self) -> Result<(), ClientError> {
        match self.view.active_turn() {
            Some(turn) => self.client.turn_interrupt(self.id(), &turn.id),
            None => Ok(()),
        }
    }

    /// The next event of the connection, already folded into the view. Events of other threads pass through unfolded.
    pub fn next_event(&mut self, timeout: Duration) -> Option<Event> {
        let event = self.client.next_event(timeout)?;
        if let Event::Notification(notified) = &event
            && let Some(known) = &notified.known
        {
            self.view.apply(known);
        }
        Some(event)
    }
}
