//! The loop of one thread: hears one thing at a time, asks the engine what follows, has it carried out.
//!
//! Owns the thread's engine, subscribers and children. Everything it hears becomes an [`Input`]; it decides nothing by
//! itself. Control (clients) is polled before data (model and tools). When the store cannot take a record, the thread ends:
//! what it runs is stopped and it is loaded again from what is durable.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentd_engine::effect::Effect;
use agentd_engine::input::{Input, ModelEvent, ReplyToken, StartTurn, ToolEvent};
use agentd_engine::rollout::RolloutLine;
use agentd_engine::{Engine, Now};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::thread::ThreadStatus;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::children::{ChildEnd, ChildKey};
use super::handle::{Control, Queued, Snapshot, ThreadHandle};
use super::outage::Shown;
use super::publish::Subscribers;
use super::registry::Deps;
use crate::config::Config;
use crate::rpc::conn::ConnHandle;
use crate::rpc::error::RpcError;

/// Control messages that may wait; senders wait when it is full.
const CONTROL_CAPACITY: usize = 64;
/// Messages of children that may wait; children wait when it is full, which slows their source, not the daemon.
const DATA_CAPACITY: usize = 256;
/// How many waiting messages of children are handled as one step (and one store transaction).
const MAX_BATCH: usize = 64;

/// What a thread's task hears from its children.
pub(super) enum Data {
    /// Events of a model request.
    Model { request: u64, events: Vec<ModelEvent> },
    /// An event of a tool run.
    Tool { tool: u64, event: ToolEvent },
}

/// Who waits for a reply of the engine.
pub(super) enum Waiting {
    /// A `turn/start`.
    Turn(oneshot::Sender<Result<(agentd_protocol::turn::Turn, Queued), RpcError>>),
    /// A `turn/steer`.
    Steer(oneshot::Sender<Result<(String, Queued), RpcError>>),
    /// A `turn/interrupt`.
    Interrupt(oneshot::Sender<Result<(), RpcError>>),
}

/// One thread in memory.
pub(super) struct Actor {
    pub(super) engine: Engine,
    pub(super) deps: Arc<Deps>,
    /// Configuration with the thread's own overrides.
    pub(super) config: Arc<Config>,
    pub(super) subscribers: Subscribers,
    pub(super) children: JoinSet<ChildEnd>,
    pub(super) child_keys: HashMap<Id, (ChildKey, AbortHandle)>,
    pub(super) cancels: HashMap<ChildKey, CancellationToken>,
    pub(super) data_sender: mpsc::Sender<Data>,
    pub(super) replies: HashMap<ReplyToken, Waiting>,
    /// Open server requests by approval id.
    pub(super) asks: HashMap<String, crate::rpc::server_requests::OpenRequest>,
    pub(super) checkpoint_at: Option<Instant>,
    /// Checkpoint lines that the store had no room for.
    pub(super) unsaved: Vec<RolloutLine>,
    /// What clients were told of the running turn and have not seen end.
    pub(super) shown: Shown,
    /// What was asked while the record could not be written; comes first now that it can.
    pub(super) postponed: Option<Control>,
    pub(super) status: Arc<Mutex<ThreadStatus>>,
    pub(super) control: mpsc::Receiver<Control>,
    pub(super) data: mpsc::Receiver<Data>,
    next_token: u64,
    /// Set when the task ends as soon as nothing runs: what those are told who want a turn.
    stopping: Option<RpcError>,
}

/// Starts the task of a thread; it is tracked by the daemon and ends when it is stopped or its handles are gone.
pub(super) fn spawn(engine: Engine, deps: Arc<Deps>, config: Arc<Config>) -> ThreadHandle {
    let (control_sender, control) = mpsc::channel(CONTROL_CAPACITY);
    let (data_sender, data) = mpsc::channel(DATA_CAPACITY);
    let status = Arc::new(Mutex::new(engine.status()));
    let tracker = deps.tracker.clone();
    let actor = Actor {
        engine,
        deps,
        config,
        subscribers: Subscribers::default(),
        children: JoinSet::new(),
        child_keys: HashMap::new(),
        cancels: HashMap::new(),
        data_sender,
        replies: HashMap::new(),
        asks: HashMap::new(),
        checkpoint_at: None,
        unsaved: Vec::new(),
        shown: Shown::default(),
        postponed: None,
        status: status.clone(),
        control,
        data,
        next_token: 0,
        stopping: None,
    };
    tracker.spawn(actor.run());
    ThreadHandle {
        control: control_sender,
        status,
    }
}

impl Actor {
    async fn run(mut self) {
        while let Err(error) = self.listen().await {
            if !self.survive(&error).await {
                break;
            }
        }
        for (_, request) in self.asks.drain() {
            self.deps.server_requests.close(request.id());
        }
        // Dropping the JoinSet aborts what is left; aborted commands lose their lifetime link and their tree is killed.
    }

    async fn listen(&mut self) -> Result<(), agentd_store::StoreError> {
        loop {
            if self.stopping.is_some() && !self.is_active() {
                return Ok(());
            }
            let due = self.checkpoint_at;
            let inputs = tokio::select! {
                biased;
                control = next_control(&mut self.postponed, &mut self.control) => match control {
                    Some(Control::ChangeSettings { settings, reply }) => {
                        self.change_settings(*settings, reply).await?;
                        continue;
                    }
                    Some(Control::SetName { name, reply }) => {
                        self.set_name(name, reply).await?;
                        continue;
                    }
                    Some(control) => self.on_control(control),
                    None => return Ok(()),
                },
                () = sleep_until(due), if due.is_some() => {
                    self.checkpoint_at = None;
                    vec![Input::CheckpointDue]
                }
                Some(data) = self.data.recv() => self.on_data(data),
                Some(ended) = self.children.join_next_with_id(), if !self.children.is_empty() => self.on_child_end(ended),
            };
            let mut effects = Vec::new();
            for input in inputs {
                let mut ids = || uuid::Uuid::now_v7().to_string();
                effects.append(&mut self.engine.step(
                    input,
                    &mut Now {
                        ms: now_ms(),
                        ids: &mut ids,
                    },
                ));
            }
            if !effects.is_empty() {
                self.carry_out(effects).await?;
                *self.status.lock().unwrap_or_else(PoisonError::into_inner) = self.engine.status();
            }
        }
    }

    fn is_active(&self) -> bool {
        matches!(self.engine.status(), ThreadStatus::Active { .. })
    }

    fn on_control(&mut self, control: Control) -> Vec<Input> {
        match control {
            Control::StartTurn { start, reply } => self.on_start_turn(start, reply),
            Control::Steer { mut steer, reply } => {
                steer.reply = self.wait_for_reply(Waiting::Steer(reply));
                vec![Input::Steer(steer)]
            }
            Control::Interrupt { turn_id, reply } => {
                let token = self.wait_for_reply(Waiting::Interrupt(reply));
                vec![Input::Interrupt {
                    turn_id: Some(turn_id),
                    reply: Some(token),
                }]
            }
            Control::Attach { conn, announce, reply } => self.on_attach(conn, announce, reply),
            Control::Detach { conn_id, reply } => {
                self.subscribers.remove(conn_id);
                // The asker may be gone; it is no subscriber all the same.
                let _ = reply.send(());
                Vec::new()
            }
            Control::Snapshot { reply } => {
                // The asker may be gone; nobody else wants the answer.
                let _ = reply.send(Ok(self.snapshot()));
                Vec::new()
            }
            // Handled by `listen`, since they are no input of the engine.
            Control::ChangeSettings { .. } | Control::SetName { .. } => Vec::new(),
            Control::Stop { refusal } => {
                self.stopping = Some(refusal);
                if self.is_active() {
                    vec![Input::Interrupt {
                        turn_id: None,
                        reply: None,
                    }]
                } else {
                    Vec::new()
                }
            }
        }
    }

    async fn change_settings(
        &mut self,
        settings: ThreadSettings,
        reply: oneshot::Sender<Result<(), RpcError>>,
    ) -> Result<(), agentd_store::StoreError> {
        if settings == *self.engine.settings() {
            let _ = reply.send(Ok(()));
            return Ok(());
        }
        let line = self.engine.change_settings(settings.clone());
        let effects = vec![
            Effect::Append(vec![line]),
            Effect::Emit(Box::new(ServerNotification::ThreadSettingsUpdated {
                thread_id: self.engine.record().id.clone(),
                thread_settings: settings,
            })),
        ];
        let stored = self.carry_out(effects).await;
        // The asker may be gone; the settings are changed all the same.
        let _ = reply.send(stored.as_ref().copied().map_err(RpcError::store));
        stored
    }

    async fn set_name(
        &mut self,
        name: String,
        reply: oneshot::Sender<Result<((), Queued), RpcError>>,
    ) -> Result<(), agentd_store::StoreError> {
        let line = self.engine.set_name(Some(name.clone()));
        if let Err(error) = self.carry_out(vec![Effect::Append(vec![line])]).await {
            // The asker may be gone.
            let _ = reply.send(Err(RpcError::store(&error)));
            return Err(error);
        }
        super::effects::reply_first(reply, ()).await;
        let thread_id = self.engine.record().id.clone();
        self.emit(&ServerNotification::ThreadNameUpdated {
            thread_id,
            thread_name: Some(name),
        });
        Ok(())
    }

    fn on_start_turn(
        &mut self,
        mut start: Box<StartTurn>,
        reply: oneshot::Sender<Result<(agentd_protocol::turn::Turn, Queued), RpcError>>,
    ) -> Vec<Input> {
        if let Some(refusal) = &self.stopping {
            let _ = reply.send(Err(refusal.clone()));
            return Vec::new();
        }
        start.reply = self.wait_for_reply(Waiting::Turn(reply));
        vec![Input::StartTurn(start)]
    }

    fn on_attach(
        &mut self,
        conn: ConnHandle,
        announce: bool,
        reply: oneshot::Sender<Result<(Snapshot, Queued), RpcError>>,
    ) -> Vec<Input> {
        let (queued, response_queued) = oneshot::channel();
        let conn_id = conn.id();
        if reply.send(Ok((self.snapshot(), queued))).is_ok() {
            self.subscribers.hold(conn);
            self.spawn_child(ChildKey::Waiter, async move {
                // An error means that the response will never come: its connection is gone, and `release` finds that out.
                let _ = response_queued.await;
                ChildEnd::ResponseQueued { conn_id, announce }
            });
        }
        Vec::new()
    }

    fn wait_for_reply(&mut self, waiting: Waiting) -> ReplyToken {
        self.next_token += 1;
        let token = ReplyToken(self.next_token);
        self.replies.insert(token, waiting);
        token
    }

    /// Takes the message and all that already wait behind it, so that they share one transaction.
    fn on_data(&mut self, first: Data) -> Vec<Input> {
        let mut inputs = Vec::new();
        push_inputs(first, &mut inputs);
        for _ in 1..MAX_BATCH {
            match self.data.try_recv() {
                Ok(data) => push_inputs(data, &mut inputs),
                Err(_) => break,
            }
        }
        inputs
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            record: self.engine.record().clone(),
            settings: self.engine.settings().clone(),
            name: self.engine.name().map(str::to_owned),
            preview: self.engine.preview().to_owned(),
            updated_at_ms: self.engine.updated_at_ms(),
            status: self.engine.status(),
            active_turn: self.engine.active_turn(),
        }
    }
}

fn push_inputs(data: Data, inputs: &mut Vec<Input>) {
    match data {
        Data::Model { request, events } => {
            inputs.extend(events.into_iter().map(|event| Input::Model { request, event }))
        }
        Data::Tool { tool, event } => inputs.push(Input::Tool { tool, event }),
    }
}

/// What was put off while the record could not be written comes first.
async fn next_control(postponed: &mut Option<Control>, control: &mut mpsc::Receiver<Control>) -> Option<Control> {
    match postponed.take() {
        Some(first) => Some(first),
        None => control.recv().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => tokio::time::sleep(Duration::MAX).await,
    }
}

/// Unix milliseconds.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
