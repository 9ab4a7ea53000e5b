//! What is done to a thread as a whole whether it is in memory or not: naming it, putting it away, bringing it back.
//!
//! A thread that is not in memory is not loaded for it; nobody can load it while its row is being changed.

use std::time::Duration;

use agentd_engine::rollout::{RolloutLine, ThreadNamed};
use agentd_protocol::notification::ServerNotification;
use agentd_store::StoreError;
use tokio::sync::oneshot;

use super::handle::Queued;
use super::now_ms;
use super::registry::{Access, Registry};
use crate::rpc::conn::Outgoing;
use crate::rpc::error::RpcError;

/// How long everybody else waits for the response to the one who asked.
const RESPONSE_LIMIT: Duration = Duration::from_secs(2);

impl Registry {
    /// Names a thread. What it returns must be fired when the answer is in the outbox: everybody is told after that.
    ///
    /// # Errors
    /// There is no such thread, or the name cannot be stored.
    pub async fn set_name(&self, thread_id: &str, name: String) -> Result<Queued, RpcError> {
        match self.loaded_or(thread_id, self.store_name(thread_id, name.clone())).await? {
            Access::Loaded(handle) => handle.set_name(name).await,
            Access::Done(()) => Ok(self.tell_all_after_response(ServerNotification::ThreadNameUpdated {
                thread_id: thread_id.to_owned(),
                thread_name: Some(name),
            })),
        }
    }

    async fn store_name(&self, thread_id: &str, name: String) -> Result<(), RpcError> {
        let line = RolloutLine::ThreadNamed(ThreadNamed { name: Some(name) });
        match self.store().append(thread_id, vec![line]).await {
            Err(StoreError::UnknownThread(id)) => Err(RpcError::thread_not_found(&id)),
            other => Ok(other?),
        }
    }

    /// Tells every connection once the response is queued, or will never be.
    fn tell_all_after_response(&self, notification: ServerNotification) -> Queued {
        let (queued, response_queued) = oneshot::channel();
        let connections = self.deps().connections.clone();
        self.deps().tracker.spawn(async move {
            // Whether or not the asker is still there, the others are told.
            let _ = tokio::time::timeout(RESPONSE_LIMIT, response_queued).await;
            connections.broadcast(&Outgoing::notification(&notification, now_ms()));
        });
        queued
    }
}
