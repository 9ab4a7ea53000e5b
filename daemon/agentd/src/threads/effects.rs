//! Carries out what the engine decided, in order: store and wait for the ack, then reply, publish, spawn.
//!
//! One batch of effects is one transaction: all its records are written before anything in it becomes visible, which is
//! never later than the engine asked for. Owns how each effect is done; decides nothing.

use std::time::Duration;

use agentd_engine::effect::{Effect, ModelCall, Rejection, Reply, ToolAction, ToolRun};
use agentd_engine::input::{ModelEvent, ModelFailure, ReplyToken, RetryAdvice, ToolEvent};
use agentd_engine::rollout::RolloutLine;
use agentd_model::RequestContext;
use agentd_protocol::approval::{ApprovalResponse, ServerRequest};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::settings::SandboxPolicy;
use agentd_store::StoreError;
use agentd_tools::exec::ExecSpec;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::actor::{Actor, Data, Waiting, now_ms};
use super::children::{ChildEnd, ChildKey};
use super::handle::Queued;
use super::publish::is_for_everybody;
use crate::rpc::conn::Outgoing;
use crate::rpc::error::RpcError;

/// How long the thread waits for a response to be put in an outbox before it publishes what follows it.
const RESPONSE_LIMIT: Duration = Duration::from_secs(2);
/// Events of one child that may wait before they reach the thread's mailbox.
const CHILD_CAPACITY: usize = 16;
/// Checkpoint lines that are kept while the store is busy; beyond that the oldest text is given up (it is still in memory
/// and is stored whole when its item completes).
const MAX_UNSAVED: usize = 1024;

impl Actor {
    pub(super) async fn carry_out(&mut self, effects: Vec<Effect>) -> Result<(), StoreError> {
        let mut lines = std::mem::take(&mut self.unsaved);
        let mut must_wait = false;
        let mut rest = Vec::with_capacity(effects.len());
        for effect in effects {
            match effect {
                Effect::Append(more) => {
                    must_wait = true;
                    lines.extend(more);
                }
                Effect::Checkpoint(more) => lines.extend(more),
                other => rest.push(other),
            }
        }
        if let Err(error) = self.store(lines, must_wait).await {
            self.refuse_all(&error);
            return Err(error);
        }
        for effect in rest {
            self.carry_out_one(effect).await;
        }
        Ok(())
    }

    async fn store(&mut self, lines: Vec<RolloutLine>, must_wait: bool) -> Result<(), StoreError> {
        if lines.is_empty() || self.engine.record().ephemeral {
            return Ok(());
        }
        let thread_id = &self.engine.record().id;
        if must_wait {
            return self.deps.store.append(thread_id, lines).await;
        }
        match self.deps.store.append_detached(thread_id, lines.clone()) {
            Err(StoreError::Busy) => {
                self.unsaved = lines;
                self.unsaved.truncate(MAX_UNSAVED);
                Ok(())
            }
            other => other,
        }
    }

    async fn carry_out_one(&mut self, effect: Effect) {
        match effect {
            // Written by `carry_out` before anything else.
            Effect::Append(_) | Effect::Checkpoint(_) => {}
            Effect::Reply { token, result } => self.reply(token, result).await,
            Effect::Emit(notification) => self.emit(&notification),
            Effect::CallModel(call) => self.call_model(call),
            Effect::CancelModel { request } => self.cancel(ChildKey::Model(request)),
            Effect::RunTool(run) => self.run_tool(run),
            Effect::CancelTool { tool } => self.cancel(ChildKey::Tool(tool)),
            Effect::Ask { approval_id, request } => self.ask(approval_id, &request),
            Effect::Withdraw { approval_id } => self.withdraw(&approval_id),
            Effect::StartCheckpointTimer { after_ms } => {
                self.checkpoint_at
                    .get_or_insert_with(|| Instant::now() + Duration::from_millis(after_ms));
            }
        }
    }

    async fn reply(&mut self, token: ReplyToken, result: Result<Reply, Rejection>) {
        // An unsendable reply means that the caller's connection is gone; what it asked for still happens.
        match (self.replies.remove(&token), result) {
            (Some(Waiting::Turn(caller)), Ok(Reply::TurnStarted(turn))) => reply_first(caller, turn).await,
            (Some(Waiting::Steer(caller)), Ok(Reply::Steered { turn_id })) => reply_first(caller, turn_id).await,
            (Some(Waiting::Steer(caller)), Err(rejection)) => drop(caller.send(Err(rejection.into()))),
            (Some(Waiting::Turn(caller)), Err(rejection)) => drop(caller.send(Err(rejection.into()))),
            (Some(Waiting::Interrupt(caller)), Ok(Reply::Interrupted)) => drop(caller.send(Ok(()))),
            (Some(Waiting::Interrupt(caller)), Err(rejection)) => drop(caller.send(Err(rejection.into()))),
            (Some(_), Ok(reply)) => tracing::error!(?reply, "the engine's reply does not fit its request"),
            (None, _) => tracing::error!(?token, "the engine answered a request that nobody waits for"),
        }
    }

    pub(super) fn emit(&mut self, notification: &ServerNotification) {
        self.shown.note(notification);
        let event = Outgoing::notification(notification, now_ms());
        if is_for_everybody(notification) {
            // Subscribers get it in its place among the thread's other events, also while those are held back for them.
            let subscribers = &self.subscribers;
            self.deps
                .connections
                .broadcast_except(&event, |conn_id| subscribers.has(conn_id));
        }
        self.subscribers.send(&event);
    }

    pub(super) fn tell_resolved(&mut self, request_id: i64) {
        let thread_id = self.engine.record().id.clone();
        self.emit(&ServerNotification::ServerRequestResolved { thread_id, request_id });
    }

    fn cancel(&mut self, key: ChildKey) {
        if let Some(token) = self.cancels.get(&key) {
            token.cancel();
        }
    }

    fn cancel_token(&mut self, key: ChildKey) -> CancellationToken {
        let token = CancellationToken::new();
        self.cancels.insert(key, token.clone());
        token
    }

    fn call_model(&mut self, call: ModelCall) {
        let key = ChildKey::Model(call.request);
        let cancel = self.cancel_token(key);
        let context = RequestContext {
            thread_id: self.engine.record().id.clone(),
            turn_id: call.turn_id.clone(),
            originator: self.engine.record().originator.clone(),
            user_agent: crate::rpc::user_agent(&self.engine.record().originator),
        };
        let child = run_model_call(
            self.deps.clone(),
            self.config.clone(),
            call,
            context,
            self.data_sender.clone(),
            cancel,
        );
        self.spawn_child(key, child);
    }

    fn run_tool(&mut self, run: ToolRun) {
        let key = ChildKey::Tool(run.tool);
        let cancel = self.cancel_token(key);
        let data = self.data_sender.clone();
        match run.action {
            ToolAction::Exec(action) => {
                let network = action.policy.network_access();
                let spec = ExecSpec {
                    argv: action.argv,
                    cwd: action.cwd.into(),
                    env: agentd_tools::exec::base_environment(parent_environment(), tier_word(&action.policy), network),
                    policy: action.policy,
                    writable_roots: action.writable_roots.into_iter().map(Into::into).collect(),
                    timeout: Duration::from_millis(action.timeout_ms),
                    helper: self.deps.helper.clone(),
                };
                self.spawn_child(key, run_exec(spec, run.tool, data, cancel));
            }
            ToolAction::PreparePatch {
                patch,
                cwd,
                writable_roots,
                unrestricted,
            } => {
                let scope = patch_scope(cwd, writable_roots, unrestricted);
                self.spawn_child(
                    key,
                    run_patch(run.tool, data, move || {
                        ToolEvent::PatchPrepared(agentd_tools::apply_patch::prepare(&patch, &scope))
                    }),
                );
            }
            ToolAction::ApplyPatch {
                patch,
                cwd,
                writable_roots,
                unrestricted,
                plan,
            } => {
                let scope = patch_scope(cwd, writable_roots, unrestricted);
                self.spawn_child(
                    key,
                    run_patch(run.tool, data, move || {
                        ToolEvent::PatchApplied(agentd_tools::apply_patch::apply_planned(&patch, &scope, &plan))
                    }),
                );
            }
        }
    }

    fn ask(&mut self, approval_id: String, request: &ServerRequest) {
        let (answered, answer) = oneshot::channel();
        let open = self.deps.server_requests.open(request, answered);
        let request_id = open.id();
        self.subscribers.send_with(|conn| open.line_for(conn));
        self.asks.insert(approval_id.clone(), open);
        self.spawn_child(ChildKey::Waiter, async move {
            match answer.await {
                Ok(result) => {
                    let decision = result
                        .ok()
                        .and_then(|value| serde_json::from_value::<ApprovalResponse>(value).ok());
                    ChildEnd::Answered {
                        approval_id,
                        request_id,
                        decision: decision.map(|r| r.decision),
                    }
                }
                // Withdrawn.
                Err(_) => ChildEnd::Done,
            }
        });
    }

    pub(super) fn withdraw(&mut self, approval_id: &str) {
        if let Some(open) = self.asks.remove(approval_id) {
            self.deps.server_requests.close(open.id());
            self.tell_resolved(open.id());
        }
    }

    /// Answers everybody who waits, since their request could not be recorded.
    fn refuse_all(&mut self, error: &StoreError) {
        for (_, waiting) in self.replies.drain() {
            let refusal = RpcError::store(error);
            match waiting {
                Waiting::Turn(caller) => drop(caller.send(Err(refusal))),
                Waiting::Steer(caller) => drop(caller.send(Err(refusal))),
                Waiting::Interrupt(caller) => drop(caller.send(Err(refusal))),
            }
        }
    }
}

/// Answers a request and waits until its response is queued, so that what follows is told after it.
pub(super) async fn reply_first<T>(caller: oneshot::Sender<Result<(T, Queued), RpcError>>, value: T) {
    let (queued, response_queued) = oneshot::channel();
    if caller.send(Ok((value, queued))).is_ok() {
        let _ = tokio::time::timeout(RESPONSE_LIMIT, response_queued).await;
    }
}

fn patch_scope(cwd: String, writable_roots: Vec<String>, unrestricted: bool) -> agentd_tools::apply_patch::Scope {
    agentd_tools::apply_patch::Scope {
        cwd: cwd.into(),
        writable_roots: writable_roots.into_iter().map(Into::into).collect(),
        unrestricted,
    }
}

/// One model request, from its delay to its last event.
async fn run_model_call(
    deps: std::sync::Arc<super::Deps>,
    config: std::sync::Arc<crate::config::Config>,
    call: ModelCall,
    context: RequestContext,
    data: mpsc::Sender<Data>,
    cancel: CancellationToken,
) -> ChildEnd {
    let request = call.request;
    if call.delay_ms > 0 {
        tokio::select! {
            () = cancel.cancelled() => return ChildEnd::Done,
            () = tokio::time::sleep(Duration::from_millis(with_jitter(call.delay_ms))) => {}
        }
    }
    let provider = match deps.providers.resolve(&config, &call.provider).await {
        Ok(provider) => provider,
        Err(message) => {
            let failure = ModelFailure {
                message,
                info: json!("other"),
                details: None,
                retry: RetryAdvice::Never,
            };
            // A closed mailbox means that the thread is gone.
            let _ = data
                .send(Data::Model {
                    request,
                    events: vec![ModelEvent::Failed(failure)],
                })
                .await;
            return ChildEnd::Done;
        }
    };
    let (sender, mut events) = mpsc::channel::<Vec<ModelEvent>>(CHILD_CAPACITY);
    let forward = async {
        while let Some(events) = events.recv().await {
            if data.send(Data::Model { request, events }).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(
        deps.models.respond(&provider, &context, call.body, sender, cancel),
        forward
    );
    ChildEnd::Done
}

/// One command, from its start to its last event.
async fn run_exec(spec: ExecSpec, tool: u64, data: mpsc::Sender<Data>, cancel: CancellationToken) -> ChildEnd {
    let (sender, mut events) = mpsc::channel::<ToolEvent>(CHILD_CAPACITY);
    let forward = async {
        while let Some(event) = events.recv().await {
            if data.send(Data::Tool { tool, event }).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(agentd_tools::exec::run(spec, sender, cancel), forward);
    ChildEnd::Done
}

/// One step of a patch. It is not cancelled half-way: it is short and all-or-nothing.
async fn run_patch(tool: u64, data: mpsc::Sender<Data>, work: impl FnOnce() -> ToolEvent + Send + 'static) -> ChildEnd {
    let event = tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| ToolEvent::PatchApplied(Err(format!("the patch could not be processed: {error}"))));
    // A closed mailbox means that the thread is gone.
    let _ = data.send(Data::Tool { tool, event }).await;
    ChildEnd::Done
}

/// The word for `AGENTD_SANDBOX`.
fn tier_word(policy: &SandboxPolicy) -> &'static str {
    match policy {
        SandboxPolicy::DangerFullAccess => "none",
        SandboxPolicy::ReadOnly { .. } | SandboxPolicy::WorkspaceWrite { .. } => "B",
    }
}

/// The daemon's own environment, as far as it is text.
fn parent_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Spreads retries of many threads by up to a tenth, so that they do not hit the service at once.
fn with_jitter(delay_ms: u64) -> u64 {
    let spread = (delay_ms / 10).max(1);
    // The low half of a fresh uuid v7 is random.
    let (_, random) = uuid::Uuid::now_v7().as_u64_pair();
    delay_ms + random % spread
}
