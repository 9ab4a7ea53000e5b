//! What is done to a thread as a whole whether it is in memory or not: naming it, putting it away, bringing it back.
//!
//! A thread that is not in memory is not loaded for it; nobody can load it while its row is being changed.

use std::time::Duration;

use agentd_engine::rollout::{RolloutLine, ThreadNamed};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::thread::ThreadStatus;
use agentd_store::{StoreError, ThreadRow};
use tokio::sync::oneshot;

use super::handle::Queued;
use super::now_ms;
use super::registry::{Access, Registry};
use crate::rpc::conn::Outgoing;
use crate::rpc::error::RpcError;

/// How long everybody else waits for the response to the one who asked.
const RESPONSE_LIMIT: Duration = Duration::from_secs(2);
/// How often a thread is unloaded that somebody loads again before it could be put away.
const UNLOAD_TRIES: usize = 5;

impl Registry {
    /// Names a thread. What it returns must be fired when the answer is in the outbox: everybody is told after that.
    ///
    /// # Errors
    /// There is no such thread, or the name cannot be stored.
    pub async fn set_name(&self, thread_id: &str, name: String) -> Result<Queued, RpcError> {
        match self
            .loaded_or(thread_id, self.store_name(thread_id, name.clone()))
            .await?
        {
            Access::Loaded(handle) => handle.set_name(name).await,
            Access::Done(()) => {
                let renamed = ServerNotification::ThreadNameUpdated {
                    thread_id: thread_id.to_owned(),
                    thread_name: Some(name),
                };
                Ok(self.tell_all_after_response(thread_id, renamed))
            }
        }
    }

    async fn store_name(&self, thread_id: &str, name: String) -> Result<(), RpcError> {
        let line = RolloutLine::ThreadNamed(ThreadNamed { name: Some(name) });
        match self.store().append(thread_id, vec![line]).await {
            Err(StoreError::UnknownThread(id)) => Err(RpcError::thread_not_found(&id)),
            other => Ok(other?),
        }
    }

    /// Puts a thread away: a running turn is interrupted, the thread leaves the memory, and nobody can load it. What it
    /// returns must be fired when the answer is in the outbox.
    ///
    /// # Errors
    /// There is no stored thread with this id, it is put away already, or others load it again and again.
    pub async fn archive(&self, thread_id: &str) -> Result<Queued, RpcError> {
        for _ in 0..UNLOAD_TRIES {
            match self.loaded_or(thread_id, self.mark(thread_id, true)).await? {
                Access::Loaded(handle) => {
                    if handle.snapshot().await.is_ok_and(|snapshot| snapshot.record.ephemeral) {
                        return Err(RpcError::no_rollout(thread_id));
                    }
                    handle.stop(RpcError::thread_not_found(thread_id)).await;
                }
                Access::Done(_) => {
                    let unloaded = ServerNotification::ThreadStatusChanged {
                        thread_id: thread_id.to_owned(),
                        status: ThreadStatus::NotLoaded,
                    };
                    self.tell_all(thread_id, &unloaded);
                    let archived = ServerNotification::ThreadArchived {
                        thread_id: thread_id.to_owned(),
                    };
                    return Ok(self.tell_all_after_response(thread_id, archived));
                }
            }
        }
        Err(RpcError::internal(format!(
            "thread {thread_id} is loaded again and again; try later"
        )))
    }

    /// Brings a thread back; it stays out of memory. What it returns beside the thread must be fired when the answer is in
    /// the outbox.
    ///
    /// # Errors
    /// No thread with this id was put away.
    pub async fn unarchive(&self, thread_id: &str) -> Result<(ThreadRow, Queued), RpcError> {
        match self.loaded_or(thread_id, self.mark(thread_id, false)).await? {
            Access::Loaded(_) => Err(RpcError::no_archived_rollout(thread_id)),
            Access::Done(row) => {
                let unarchived = ServerNotification::ThreadUnarchived {
                    thread_id: thread_id.to_owned(),
                };
                Ok((row, self.tell_all_after_response(thread_id, unarchived)))
            }
        }
    }

    /// Changes the mark of a thread that is not in memory.
    async fn mark(&self, thread_id: &str, archived: bool) -> Result<ThreadRow, RpcError> {
        match self.row(thread_id).await?.filter(|row| row.archived != archived) {
            Some(row) => {
                self.store().set_archived(thread_id, archived).await?;
                Ok(row)
            }
            None if archived => Err(RpcError::no_rollout(thread_id)),
            None => Err(RpcError::no_archived_rollout(thread_id)),
        }
    }

    fn tell_all(&self, thread_id: &str, notification: &ServerNotification) {
        self.deps()
            .connections
            .broadcast_of_thread(thread_id, &Outgoing::notification(notification, now_ms()));
    }

    /// Tells every connection once the response is queued, or will never be.
    fn tell_all_after_response(&self, thread_id: &str, notification: ServerNotification) -> Queued {
        let (queued, response_queued) = oneshot::channel();
        let (connections, thread_id) = (self.deps().connections.clone(), thread_id.to_owned());
        self.deps().tracker.spawn(async move {
            // Whether or not the asker is still there, the others are told.
            let _ = tokio::time::timeout(RESPONSE_LIMIT, response_queued).await;
            connections.broadcast_of_thread(&thread_id, &Outgoing::notification(&notification, now_ms()));
        });
        queued
    }
}
