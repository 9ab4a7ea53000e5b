//! Typed access to a thread's task. Owns the messages it hears from the daemon; holds no state of the thread itself
//! except its last published status.

use std::sync::{Arc, Mutex, PoisonError};

use agentd_engine::input::{StartTurn, Steer};
use agentd_engine::rollout::ThreadRecord;
use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::thread::ThreadStatus;
use agentd_protocol::turn::Turn;
use tokio::sync::{mpsc, oneshot};

use crate::rpc::conn::ConnHandle;
use crate::rpc::error::RpcError;

/// Fired by the RPC layer once the response it belongs to is in the connection's outbox.
pub type Queued = oneshot::Sender<()>;

/// What a thread looks like right now.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What was fixed at its start.
    pub record: ThreadRecord,
    /// Its settings.
    pub settings: ThreadSettings,
    /// Its name.
    pub name: Option<String>,
    /// Text of the first user message.
    pub preview: String,
    /// Unix milliseconds of the last change.
    pub updated_at_ms: i64,
    /// How it stands.
    pub status: ThreadStatus,
    /// The running turn with all its items, open ones with their text so far.
    pub active_turn: Option<Turn>,
}

/// What a thread's task hears from the daemon; polled before anything its children say.
pub(super) enum Control {
    /// Start a turn; the task fills in the reply token.
    StartTurn {
        start: Box<StartTurn>,
        reply: oneshot::Sender<Result<(Turn, Queued), RpcError>>,
    },
    /// Add input to the running turn; the task fills in the reply token.
    Steer {
        steer: Box<Steer>,
        reply: oneshot::Sender<Result<(String, Queued), RpcError>>,
    },
    /// Stop the running turn.
    Interrupt {
        turn_id: String,
        reply: oneshot::Sender<Result<(), RpcError>>,
    },
    /// Change the settings from the next turn on.
    ChangeSettings {
        settings: Box<ThreadSettings>,
        reply: oneshot::Sender<Result<(), RpcError>>,
    },
    /// Name the thread.
    SetName {
        name: String,
        reply: oneshot::Sender<Result<((), Queued), RpcError>>,
    },
    /// Make the connection a subscriber. What is published after the snapshot reaches it after its response.
    Attach {
        conn: ConnHandle,
        announce: bool,
        reply: oneshot::Sender<Result<(Snapshot, Queued), RpcError>>,
    },
    /// The connection is no subscriber any more.
    Detach { conn_id: u64, reply: oneshot::Sender<()> },
    /// Tell how the thread stands.
    Snapshot {
        reply: oneshot::Sender<Result<Snapshot, RpcError>>,
    },
    /// End the task; a running turn is interrupted first, and whoever wants a new one is told this.
    Stop { refusal: RpcError },
}

/// A way to speak to a loaded thread. Cheap to clone; outliving the task is harmless.
#[derive(Clone)]
pub struct ThreadHandle {
    pub(super) control: mpsc::Sender<Control>,
    pub(super) status: Arc<Mutex<ThreadStatus>>,
}

impl ThreadHandle {
    /// Starts a turn. The second part must be fired when the answer is in the outbox: the thread publishes nothing of the
    /// turn before.
    ///
    /// # Errors
    /// The thread is gone, or could not store the turn.
    pub async fn start_turn(&self, start: StartTurn) -> Result<(Turn, Queued), RpcError> {
        self.ask(|reply| Control::StartTurn {
            start: Box::new(start),
            reply,
        })
        .await?
    }

    /// Adds input to the running turn; returns the turn's id. The second part as in [`Self::start_turn`].
    ///
    /// # Errors
    /// No turn runs, or another one than the caller meant, or the input cannot be stored.
    pub async fn steer(&self, steer: Steer) -> Result<(String, Queued), RpcError> {
        self.ask(|reply| Control::Steer {
            steer: Box::new(steer),
            reply,
        })
        .await?
    }

    /// Stops the running turn.
    ///
    /// # Errors
    /// No turn runs, or another one than `turn_id`.
    pub async fn interrupt(&self, turn_id: String) -> Result<(), RpcError> {
        self.ask(|reply| Control::Interrupt { turn_id, reply }).await?
    }

    /// Changes the settings from the next turn on.
    ///
    /// # Errors
    /// The thread is gone, or could not store them.
    pub async fn change_settings(&self, settings: ThreadSettings) -> Result<(), RpcError> {
        self.ask(|reply| Control::ChangeSettings {
            settings: Box::new(settings),
            reply,
        })
        .await?
    }

    /// Names the thread. What it returns must be fired when the answer is in the outbox: everybody is told after that.
    ///
    /// # Errors
    /// The thread is gone, or could not store the name.
    pub async fn set_name(&self, name: String) -> Result<Queued, RpcError> {
        let ((), queued) = self.ask(|reply| Control::SetName { name, reply }).await??;
        Ok(queued)
    }

    /// Subscribes a connection. `announce` also tells every connection that the thread was started.
    ///
    /// # Errors
    /// The thread is gone.
    pub async fn attach(&self, conn: ConnHandle, announce: bool) -> Result<(Snapshot, Queued), RpcError> {
        self.ask(|reply| Control::Attach { conn, announce, reply }).await?
    }

    /// How the thread stands.
    ///
    /// # Errors
    /// The thread is gone.
    pub async fn snapshot(&self) -> Result<Snapshot, RpcError> {
        self.ask(|reply| Control::Snapshot { reply }).await?
    }

    /// The status that was published last.
    pub fn status(&self) -> ThreadStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the thread's task has ended.
    pub fn is_gone(&self) -> bool {
        self.control.is_closed()
    }

    /// Unsubscribes a connection.
    ///
    /// # Errors
    /// The thread is gone.
    pub async fn detach(&self, conn_id: u64) -> Result<(), RpcError> {
        self.ask(|reply| Control::Detach { conn_id, reply }).await
    }

    /// Asks the task to end and waits until it has. Whoever wants a turn meanwhile gets `refusal`.
    pub async fn stop(&self, refusal: RpcError) {
        // An error means it has ended already.
        let _ = self.control.send(Control::Stop { refusal }).await;
        self.control.closed().await;
    }

    async fn ask<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Control) -> Result<T, RpcError> {
        let (reply, answer) = oneshot::channel();
        let gone = || RpcError::internal("the thread was unloaded while the request was under way; try again");
        self.control.send(message(reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}
