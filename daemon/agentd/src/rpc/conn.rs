//! What the rest of the daemon sees of a connection: who it is, and a way to send to it. Cheap to clone.
//!
//! Owns what `initialize` established. Never waits; a connection that cannot keep up is closed and its client resumes.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::opening::Openings;
use super::outbox::{Outbox, Pushed};
pub use super::outgoing::Outgoing;

/// What a client said in `initialize`.
#[derive(Clone, Debug, Default)]
pub struct ClientHello {
    /// `clientInfo.name`.
    pub name: String,
    /// Whether it asked for the experimental API.
    pub experimental: bool,
    /// Notifications it does not want, by exact method.
    pub opted_out: HashSet<String>,
}

/// One connection.
#[derive(Clone)]
pub struct ConnHandle(Arc<Shared>);

struct Shared {
    id: u64,
    hello: OnceLock<ClientHello>,
    outbox: Outbox,
    /// One at a time builds a large result for this connection.
    large_turn: Arc<Semaphore>,
    openings: Openings,
    closed: CancellationToken,
}

impl ConnHandle {
    pub(crate) fn new(id: u64) -> Self {
        Self(Arc::new(Shared {
            id,
            hello: OnceLock::new(),
            outbox: Outbox::default(),
            large_turn: Arc::new(Semaphore::new(1)),
            openings: Openings::default(),
            closed: CancellationToken::new(),
        }))
    }

    /// Number of the connection within this process.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Name the client gave itself; empty before `initialize`.
    pub fn client_name(&self) -> &str {
        self.0.hello.get().map_or("", |hello| &hello.name)
    }

    /// Whether the client asked for the experimental API.
    pub fn experimental(&self) -> bool {
        self.0.hello.get().is_some_and(|hello| hello.experimental)
    }

    /// Whether the client does not want this notification.
    pub fn opted_out(&self, method: &str) -> bool {
        self.0.hello.get().is_some_and(|hello| hello.opted_out.contains(method))
    }

    /// Whether `initialize` succeeded.
    pub fn is_initialized(&self) -> bool {
        self.0.hello.get().is_some()
    }

    /// Records what the client said. `false`: it has said so before.
    pub fn initialize(&self, hello: ClientHello) -> bool {
        self.0.hello.set(hello).is_ok()
    }

    /// Queues a message, unless the client opted out of it. `false`: the connection is gone.
    pub fn send(&self, message: Outgoing) -> bool {
        if message.method().is_some_and(|method| self.opted_out(method)) {
            return !self.is_closed();
        }
        self.is_queued(self.0.outbox.push(message))
    }

    /// Queues a large response when there is room for it. `false`: the connection is gone.
    pub async fn send_when_room(&self, response: Outgoing) -> bool {
        let pushed = self.0.outbox.push_when_room(response).await;
        self.is_queued(pushed)
    }

    fn is_queued(&self, pushed: Pushed) -> bool {
        match pushed {
            Pushed::Queued => true,
            Pushed::Overflowed => {
                self.close("the client does not read; its outbox is full");
                false
            }
            Pushed::Closed => false,
        }
    }

    /// Ends the connection without waiting for what is queued.
    pub fn close(&self, reason: &str) {
        if !self.is_closed() {
            tracing::warn!(
                connection = self.id(),
                client = self.client_name(),
                reason,
                "closing the connection"
            );
            self.hang_up();
        }
    }

    /// Ends the connection quietly: its client left.
    pub(crate) fn hang_up(&self) {
        self.0.outbox.finish();
        self.0.closed.cancel();
    }

    /// Whether it ended.
    pub fn is_closed(&self) -> bool {
        self.0.closed.is_cancelled()
    }

    /// Completes when it ended.
    pub async fn closed(&self) {
        self.0.closed.cancelled().await;
    }

    pub(super) fn large_turn(&self) -> Arc<Semaphore> {
        self.0.large_turn.clone()
    }

    pub(super) fn openings(&self) -> &Openings {
        &self.0.openings
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }
}
