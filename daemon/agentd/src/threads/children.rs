//! The children of a thread's task: what they are, and what follows from their end.
//!
//! A child reports and does not decide. One that dies is reported to the engine as the failure of what it did.

use agentd_engine::input::{ExecExit, Input, ModelEvent, ModelFailure, RetryAdvice, ToolEvent};
use agentd_protocol::approval::ApprovalDecision;
use agentd_protocol::notification::ServerNotification;
use serde_json::json;
use tokio::task::{Id, JoinError};

use super::actor::Actor;

/// Which child a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ChildKey {
    /// A model request.
    Model(u64),
    /// A tool run.
    Tool(u64),
    /// Waits for an answer, or for a response to be queued.
    Waiter,
}

/// How a child ended.
pub(super) enum ChildEnd {
    /// It reported all it had to say before.
    Done,
    /// A server request was answered (`None`: with an error, or with nothing we understand).
    Answered {
        approval_id: String,
        request_id: i64,
        decision: Option<ApprovalDecision>,
    },
    /// The response that a subscriber waited for is in its outbox, or will never be.
    ResponseQueued { conn_id: u64, announce: bool },
}

impl Actor {
    pub(super) fn spawn_child(&mut self, key: ChildKey, child: impl Future<Output = ChildEnd> + Send + 'static) {
        let abort = self.children.spawn(child);
        self.child_keys.insert(abort.id(), (key, abort));
    }

    pub(super) fn on_child_end(&mut self, ended: Result<(Id, ChildEnd), JoinError>) -> Vec<Input> {
        match ended {
            Ok((id, end)) => {
                self.forget_child(id);
                self.on_good_end(end)
            }
            Err(error) => {
                let key = self.forget_child(error.id());
                tracing::error!(?key, %error, "a child of the thread died");
                key.and_then(|key| report_death(key, &error.to_string()))
                    .into_iter()
                    .collect()
            }
        }
    }

    fn forget_child(&mut self, id: Id) -> Option<ChildKey> {
        let (key, _) = self.child_keys.remove(&id)?;
        self.cancels.remove(&key);
        Some(key)
    }

    fn on_good_end(&mut self, end: ChildEnd) -> Vec<Input> {
        match end {
            ChildEnd::Done => Vec::new(),
            ChildEnd::Answered {
                approval_id,
                request_id,
                decision,
            } => {
                if self.asks.remove(&approval_id).is_none() {
                    return Vec::new();
                }
                self.tell_resolved(request_id);
                vec![Input::ApprovalAnswer { approval_id, decision }]
            }
            ChildEnd::ResponseQueued { conn_id, announce } => {
                if announce {
                    let thread = super::thread_view::from_snapshot(&self.snapshot());
                    self.emit(&ServerNotification::ThreadStarted { thread });
                }
                let asks = &self.asks;
                self.subscribers.release(conn_id, |conn| {
                    asks.values().for_each(|open| {
                        conn.send(open.line_for(conn));
                    });
                });
                Vec::new()
            }
        }
    }
}

/// What the engine hears when a child died instead of reporting its end.
fn report_death(key: ChildKey, message: &str) -> Option<Input> {
    match key {
        ChildKey::Model(request) => {
            let failure = ModelFailure {
                message: "the model request ended without a result".into(),
                info: json!("other"),
                details: Some(message.to_owned()),
                retry: RetryAdvice::Never,
            };
            Some(Input::Model {
                request,
                event: ModelEvent::Failed(failure),
            })
        }
        ChildKey::Tool(tool) => {
            let exit = ExecExit::NotStarted {
                kind: "spawnFailed".into(),
                message: message.to_owned(),
            };
            Some(Input::Tool {
                tool,
                event: ToolEvent::ExecEnded {
                    exit,
                    output: String::new(),
                    duration_ms: 0,
                },
            })
        }
        ChildKey::Waiter => None,
    }
}
