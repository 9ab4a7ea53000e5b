//! Requests that the daemon sends to clients (approvals) and that wait for their first answer.
//!
//! One id for all subscribers, counting up from 0 per process. The first answer of any connection wins; later ones, and
//! ones to unknown ids, are ignored. Who asked waits on its own channel and says when the question became moot.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentd_protocol::approval::ServerRequest;
use serde_json::Value;
use tokio::sync::oneshot;

use super::conn::{ConnHandle, Outgoing};

/// What a client answered: the result, or the error object.
pub type Answer = Result<Value, Value>;

/// All requests that wait for an answer.
#[derive(Default)]
pub struct ServerRequests {
    next_id: AtomicI64,
    open: Mutex<HashMap<i64, oneshot::Sender<Answer>>>,
}

/// A request that was given an id; ready to be sent to any connection.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    id: i64,
    plain: Outgoing,
    experimental: Outgoing,
}

impl OpenRequest {
    /// Its id on the wire.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// The message as this connection may see it.
    pub fn line_for(&self, conn: &ConnHandle) -> Outgoing {
        if conn.experimental() {
            self.experimental.clone()
        } else {
            self.plain.clone()
        }
    }
}

impl ServerRequests {
    /// Gives the request an id; `answered` gets the first answer, or is dropped by [`Self::close`].
    pub fn open(&self, request: &ServerRequest, answered: oneshot::Sender<Answer>) -> OpenRequest {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(id, answered);
        let plain = Outgoing::request(id, &without_experimental(request));
        OpenRequest {
            id,
            plain,
            experimental: Outgoing::request(id, request),
        }
    }

    /// A client answered.
    pub fn answer(&self, id: i64, answer: Answer) {
        let asker = self.lock().remove(&id);
        match asker {
            // An error means that the asker is gone; then nobody wants the answer.
            Some(asker) => drop(asker.send(answer)),
            None => tracing::debug!(id, "ignoring an answer to a request that is not open"),
        }
    }

    /// The question became moot.
    pub fn close(&self, id: i64) {
        self.lock().remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Answer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `availableDecisions` belongs to the experimental API; some clients cannot parse it.
fn without_experimental(request: &ServerRequest) -> ServerRequest {
    let mut request = request.clone();
    if let ServerRequest::CommandExecutionRequestApproval(params) = &mut request {
        params.available_decisions = None;
    }
    request
}

#[cfg(test)]
mod tests {
    use agentd_protocol::approval::{ApprovalDecision, CommandExecutionRequestApprovalParams};
    use serde_json::json;

    use super::*;
    use crate::rpc::conn::ClientHello;

    fn request() -> ServerRequest {
        ServerRequest::CommandExecutionRequestApproval(CommandExecutionRequestApprovalParams {
            kind: "command".into(),
            thread_id: "t".into(),
            turn_id: "u".into(),
            item_id: "i".into(),
            started_at_ms: 1,
            environment_id: "local".into(),
            reason: None,
            command: "ls".into(),
            cwd: "/".into(),
            command_actions: Vec::new(),
            available_decisions: Some(vec![ApprovalDecision::Accept]),
        })
    }

    fn shown(open: &OpenRequest, experimental: bool) -> Value {
        let conn = ConnHandle::new(0);
        conn.initialize(ClientHello {
            experimental,
            ..ClientHello::default()
        });
        serde_json::from_slice(open.line_for(&conn).bytes()).expect("JSON")
    }

    #[tokio::test]
    async fn the_first_answer_wins_and_later_ones_are_ignored() {
        let requests = ServerRequests::default();
        let (sender, receiver) = oneshot::channel();
        let open = requests.open(&request(), sender);
        requests.answer(99, Ok(json!("unknown id")));
        requests.answer(open.id(), Ok(json!("first")));
        requests.answer(open.id(), Ok(json!("second")));
        assert_eq!(receiver.await.expect("answered"), Ok(json!("first")));
    }

    #[tokio::test]
    async fn closing_wakes_the_asker_empty_handed() {
        let requests = ServerRequests::default();
        let (sender, receiver) = oneshot::channel();
        let open = requests.open(&request(), sender);
        requests.close(open.id());
        assert!(receiver.await.is_err());
    }

    #[test]
    fn ids_count_from_zero_and_decisions_are_experimental() {
        let requests = ServerRequests::default();
        let first = requests.open(&request(), oneshot::channel().0);
        let second = requests.open(&request(), oneshot::channel().0);
        assert_eq!((first.id(), second.id()), (0, 1));
        let (plain, experimental) = (shown(&first, false), shown(&first, true));
        assert_eq!(plain["id"], 0);
        assert_eq!(plain["method"], "item/commandExecution/requestApproval");
        assert!(plain["params"].get("availableDecisions").is_none());
        assert_eq!(experimental["params"]["availableDecisions"], json!(["accept"]));
    }
}
