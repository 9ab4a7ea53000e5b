//! A carrier for engine tests: feeds inputs, keeps what the engine stores, prints what it wants done, and checks in every
//! step what must always hold.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::collections::{HashMap, HashSet};

use agentd_engine::effect::{Effect, ModelCall, Reply, ToolAction};
use agentd_engine::input::{
    ExecExit, Input, ModelEvent, ModelFacts, ModelFailure, PatchPlan, PatchedFile, ReplyToken, RetryAdvice, StartTurn,
    Steer, ToolEvent, TurnFacts,
};
use agentd_engine::rollout::{EnvironmentFacts, RolloutLine, ThreadRecord};
use agentd_engine::{Engine, Now};
use agentd_protocol::approval::ApprovalDecision;
use agentd_protocol::item::{FileUpdateChange, PatchChangeKind, ThreadItem, UserInput};
use agentd_protocol::notification::ServerNotification as N;
use agentd_protocol::settings::{AskForApproval, SandboxPolicy, ThreadSettings};
use agentd_protocol::usage::TokenUsageBreakdown;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

pub fn record() -> ThreadRecord {
    ThreadRecord {
        id: "thread".into(),
        created_at_ms: 1_000,
        originator: "test".into(),
        source: "vscode".into(),
        thread_source: None,
        ephemeral: false,
        forked_from_id: None,
        base_instructions: None,
        developer_instructions: None,
        git_info: None,
        config: None,
    }
}

pub fn settings() -> ThreadSettings {
    ThreadSettings {
        cwd: "/w".into(),
        approval_policy: AskForApproval::OnRequest,
        approvals_reviewer: "user".into(),
        sandbox_policy: SandboxPolicy::WorkspaceWrite {
            writable_roots: vec![],
            network_access: false,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: false,
        },
        model: "m".into(),
        model_provider: "p".into(),
        service_tier: None,
        effort: None,
        summary: None,
        personality: None,
    }
}

pub fn model_facts() -> ModelFacts {
    ModelFacts {
        instructions: "Be good.".into(),
        context_window: Some(1000),
        supports_reasoning: true,
        default_effort: Some("medium".into()),
        verbosity: None,
        stream_max_retries: 2,
    }
}

pub fn facts() -> TurnFacts {
    TurnFacts {
        user_instructions: None,
        developer_instructions: None,
        environment: EnvironmentFacts {
            cwd: "/w".into(),
            shell: "bash".into(),
            current_date: "2026-01-01".into(),
            timezone: "UTC".into(),
            network_access: "restricted".into(),
        },
        writable_roots: vec!["/w".into()],
        shell: "/bin/bash".into(),
    }
}

/// An engine with everything around it that a thread's task would keep.
pub struct Carrier {
    pub engine: Engine,
    pub ms: i64,
    next_id: u64,
    next_token: u64,
    /// What is stored, in order.
    pub rollout: Vec<RolloutLine>,
    pub calls: Vec<ModelCall>,
    /// Numbers of running tools.
    pub tools: Vec<(u64, ToolAction)>,
    pub asks: Vec<String>,
    pub printed: String,
    /// Input that a test wants to find again.
    pub accepted: Vec<String>,
    started: HashMap<String, String>,
    unanswered: HashSet<u64>,
    pub settings: ThreadSettings,
    pub facts: TurnFacts,
    pub model: ModelFacts,
    pub output_schema: Option<Value>,
    stored_completed: HashSet<String>,
    /// The prefix rule is suspended for the next request.
    pub prefix_breaks: bool,
}

impl Carrier {
    pub fn new() -> Self {
        Self::with(record(), settings())
    }

    pub fn with(record: ThreadRecord, settings: ThreadSettings) -> Self {
        let (engine, lines) = Engine::new(record, settings.clone());
        Self::around(engine, lines, settings)
    }

    pub fn around(engine: Engine, rollout: Vec<RolloutLine>, settings: ThreadSettings) -> Self {
        Self {
            engine,
            ms: 1_000,
            next_id: 0,
            next_token: 0,
            rollout,
            calls: vec![],
            tools: vec![],
            asks: vec![],
            printed: String::new(),
            accepted: vec![],
            started: HashMap::new(),
            unanswered: HashSet::new(),
            settings,
            facts: facts(),
            model: model_facts(),
            output_schema: None,
            stored_completed: HashSet::new(),
            prefix_breaks: false,
        }
    }

    pub fn step(&mut self, input: Input) {
        let next_id = &mut self.next_id;
        let mut ids = || {
            *next_id += 1;
            format!("id{next_id}")
        };
        let effects = self.engine.step(
            input,
            &mut Now {
                ms: self.ms,
                ids: &mut ids,
            },
        );
        for effect in effects {
            let line = self.carry_out(effect);
            self.printed.push_str(&line);
            self.printed.push('\n');
        }
        if self.engine.active_turn().is_none() {
            assert!(
                self.started.is_empty(),
                "open items after the turn: {:?}\n{}",
                self.started,
                self.printed
            );
            assert!(self.tools.is_empty(), "running tools after the turn: {}", self.printed);
        }
    }

    fn carry_out(&mut self, effect: Effect) -> String {
        match effect {
            Effect::Append(lines) => format!("append {}", self.store(lines)),
            Effect::Checkpoint(lines) => format!("checkpoint {}", self.store(lines)),
            Effect::Reply { token, result } => {
                assert!(self.unanswered.remove(&token.0), "answered twice");
                match result {
                    Ok(Reply::TurnStarted(turn)) => format!("reply turn {}", turn.id),
                    Ok(Reply::Steered { turn_id }) => format!("reply steered {turn_id}"),
                    Ok(Reply::Interrupted) => "reply interrupted".into(),
                    Err(rejection) => format!("reply error: {rejection}"),
                }
            }
            Effect::Emit(notification) => self.emitted(&notification),
            Effect::CallModel(call) => {
                let line = format!(
                    "call model #{} attempt {} delay {}",
                    call.request, call.attempt, call.delay_ms
                );
                self.check_body(&call);
                self.calls.push(call);
                line
            }
            Effect::CancelModel { request } => format!("cancel model #{request}"),
            Effect::RunTool(run) => {
                let line = format!("run {} {}", run.call_id, print_action(&run.action));
                self.tools.push((run.tool, run.action));
                line
            }
            Effect::CancelTool { tool } => {
                // Reading a patch is only reading; its end does not matter. Everything else still reports its end.
                let reads = |action: &ToolAction| matches!(action, ToolAction::PreparePatch { .. });
                self.tools.retain(|(number, action)| *number != tool || !reads(action));
                format!("cancel tool {tool}")
            }
            Effect::Ask { approval_id, .. } => {
                self.asks.push(approval_id);
                "ask".into()
            }
            Effect::Withdraw { approval_id } => {
                self.asks.retain(|id| *id != approval_id);
                "withdraw".into()
            }
            Effect::StartCheckpointTimer { .. } => "timer".into(),
        }
    }

    fn store(&mut self, lines: Vec<RolloutLine>) -> String {
        let kinds: Vec<&str> = lines.iter().map(RolloutLine::kind).collect();
        for line in lines {
            if let RolloutLine::ItemCompleted(line) = &line {
                self.stored_completed.insert(line.item.id().to_owned());
            }
            self.rollout
                .push(RolloutLine::decode(line.kind(), &line.payload().unwrap()).unwrap());
        }
        kinds.join(" ")
    }

    fn emitted(&mut self, notification: &N) -> String {
        match notification {
            N::ItemStarted { item, .. } => {
                let value = serde_json::to_value(item).unwrap();
                let kind = value["type"].as_str().unwrap().to_owned();
                assert!(item.completed_at_ms().is_none());
                assert!(
                    self.started.insert(item.id().to_owned(), kind.clone()).is_none(),
                    "{} twice",
                    item.id()
                );
                format!("started {kind} {}{}", item.id(), print_item(item))
            }
            N::ItemCompleted { item, .. } => {
                let kind = self.started.remove(item.id()).expect("completed without start");
                assert!(self.stored_completed.contains(item.id()), "shown before stored");
                assert!(item.completed_at_ms().is_some());
                format!("completed {kind} {}{}", item.id(), print_item(item))
            }
            N::ThreadStatusChanged { status, .. } => {
                format!(
                    "status {}",
                    serde_json::to_string(status).unwrap().replace("\"type\":", "")
                )
            }
            N::TurnStarted { turn, .. } => format!("turn started {}", turn.id),
            N::TurnCompleted { turn, .. } => {
                format!(
                    "turn {:?} {} items {:?}",
                    turn.status,
                    turn.items.len(),
                    turn.items_view
                )
            }
            N::AgentMessageDelta { item_id, delta, .. } => format!("delta {item_id} {delta:?}"),
            N::CommandExecutionOutputDelta { item_id, delta, .. } => format!("output {item_id} {delta:?}"),
            N::ReasoningSummaryTextDelta {
                item_id,
                delta,
                summary_index,
                ..
            } => {
                format!("summary {item_id} {summary_index} {delta:?}")
            }
            N::ReasoningTextDelta { item_id, delta, .. } => format!("reasoning {item_id} {delta:?}"),
            N::ReasoningSummaryPartAdded {
                item_id, summary_index, ..
            } => format!("part {item_id} {summary_index}"),
            N::ThreadTokenUsageUpdated { token_usage, .. } => format!("usage {}", token_usage.total.total_tokens),
            N::Error { error, will_retry, .. } => format!("error {:?} retry {will_retry}", error.message),
            N::TurnDiffUpdated { .. } => "diff".into(),
            N::TurnPlanUpdated { plan, .. } => format!("plan {} steps", plan.len()),
            other => serde_json::to_value(other).unwrap()["method"]
                .as_str()
                .unwrap()
                .to_owned(),
        }
    }

    /// Valid JSON, paired calls, and the prefix rule.
    fn check_body(&mut self, call: &ModelCall) {
        let body = call.body.concat();
        let value: Value = serde_json::from_slice(&body).expect("body is JSON");
        let mut open: Vec<String> = vec![];
        for item in value["input"].as_array().unwrap() {
            assert_ne!(item["role"], "system");
            let kind = item["type"].as_str().unwrap();
            let id = || item["call_id"].as_str().unwrap().to_owned();
            if kind.ends_with("_call_output") {
                let at = open.iter().position(|open| *open == id()).expect("output without call");
                open.remove(at);
            } else if kind.ends_with("_call") && item.get("call_id").is_some() {
                open.push(id());
            }
        }
        assert!(open.is_empty(), "calls without output: {open:?}");
        if let Some(last) = self.calls.last().filter(|_| !self.prefix_breaks) {
            let last = last.body.concat();
            assert!(body.starts_with(&last[..last.len() - 2]), "the prefix broke");
        }
        self.prefix_breaks = false;
    }

    /// What was printed since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.printed)
    }

    pub fn expect(&mut self, expected: &str) {
        let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
        let printed = self.take();
        let printed: Vec<&str> = printed.trim().lines().collect();
        assert!(
            printed == expected,
            "got:\n{}\nexpected:\n{}",
            printed.join("\n"),
            expected.join("\n")
        );
    }

    pub fn token(&mut self) -> ReplyToken {
        self.next_token += 1;
        self.unanswered.insert(self.next_token);
        ReplyToken(self.next_token)
    }

    pub fn start(&mut self, text: &str) {
        let input = match text {
            "" => vec![],
            text => vec![UserInput::Text {
                text: text.into(),
                text_elements: vec![],
            }],
        };
        let content = input
            .iter()
            .map(|_| raw(&json!({"type": "input_text", "text": text})))
            .collect();
        let start = StartTurn {
            reply: self.token(),
            input,
            content,
            client_user_message_id: None,
            settings: self.settings.clone(),
            model: self.model.clone(),
            facts: self.facts.clone(),
            output_schema: self.output_schema.clone(),
        };
        self.step(Input::StartTurn(Box::new(start)));
    }

    pub fn steer(&mut self, expected_turn_id: &str, text: &str) {
        let steer = Steer {
            reply: self.token(),
            expected_turn_id: expected_turn_id.into(),
            input: vec![UserInput::Text {
                text: text.into(),
                text_elements: vec![],
            }],
            content: vec![raw(&json!({"type": "input_text", "text": text}))],
            client_user_message_id: Some(format!("client {text}")),
        };
        self.step(Input::Steer(Box::new(steer)));
    }

    pub fn interrupt(&mut self) {
        let reply = Some(self.token());
        self.step(Input::Interrupt { turn_id: None, reply });
    }

    pub fn model(&mut self, event: ModelEvent) {
        let request = self.calls.last().map_or(0, |call| call.request);
        self.step(Input::Model { request, event });
    }

    pub fn done(&mut self, item: &Value) {
        self.model(ModelEvent::ItemDone { item: raw(item) });
    }

    pub fn message(&mut self, id: &str, text: &str) {
        self.done(&json!({"type": "message", "id": id, "role": "assistant",
            "content": [{"type": "output_text", "text": text}]}));
    }

    pub fn call(&mut self, call_id: &str, name: &str, arguments: &Value) {
        self.done(
            &json!({"type": "function_call", "id": format!("fc_{call_id}"), "call_id": call_id,
            "name": name, "arguments": arguments.to_string()}),
        );
    }

    pub fn completed(&mut self) {
        let usage = TokenUsageBreakdown {
            total_tokens: 10,
            ..TokenUsageBreakdown::default()
        };
        self.model(ModelEvent::Completed {
            usage: Some(usage),
            end_turn: None,
        });
    }

    pub fn failed(&mut self, retry: RetryAdvice) {
        let failure = ModelFailure {
            message: "broken".into(),
            info: json!("other"),
            details: None,
            retry,
        };
        self.model(ModelEvent::Failed(failure));
    }

    /// Something from the `at`-th running tool; an end removes it.
    pub fn tool(&mut self, at: usize, event: ToolEvent) {
        let tool = self.tools[at].0;
        let more = matches!(event, ToolEvent::ExecStarted { .. } | ToolEvent::ExecOutput { .. });
        if !more {
            self.tools.remove(at);
        }
        self.step(Input::Tool { tool, event });
    }

    pub fn exec_ends(&mut self, at: usize, exit: ExecExit, output: &str) {
        self.tool(
            at,
            ToolEvent::ExecEnded {
                exit,
                output: output.into(),
                duration_ms: 1_412,
            },
        );
    }

    pub fn answer(&mut self, decision: Option<ApprovalDecision>) {
        let approval_id = self.asks.remove(0);
        self.step(Input::ApprovalAnswer { approval_id, decision });
    }

    /// Input items of the last request.
    pub fn input(&self) -> Vec<Value> {
        let value: Value = serde_json::from_slice(&self.calls.last().unwrap().body.concat()).unwrap();
        value["input"].as_array().unwrap().clone()
    }

    /// Outputs of calls in the last request: `call id: text`.
    pub fn outputs(&self) -> Vec<String> {
        let input = self.input();
        let outputs = input
            .iter()
            .filter(|item| item["type"].as_str().unwrap().ends_with("_output"));
        outputs
            .map(|item| {
                format!(
                    "{}: {}",
                    item["call_id"].as_str().unwrap(),
                    item["output"].as_str().unwrap()
                )
            })
            .collect()
    }

    /// A new process that reads what was stored.
    pub fn restart(&self) -> (Self, Vec<RolloutLine>) {
        restart(&self.rollout, self.ms)
    }
}

/// A new process that reads these lines.
pub fn restart(lines: &[RolloutLine], ms: i64) -> (Carrier, Vec<RolloutLine>) {
    let copy = |line: &RolloutLine| RolloutLine::decode(line.kind(), &line.payload().unwrap()).unwrap();
    let mut stored: Vec<RolloutLine> = lines.iter().map(copy).collect();
    let mut ids = || "repair".to_owned();
    let (engine, repair) = Engine::replay(stored.iter().map(copy).collect(), &mut Now { ms, ids: &mut ids }).unwrap();
    stored.extend(repair.iter().map(copy));
    let settings = engine.settings().clone();
    let mut carrier = Carrier::around(engine, stored, settings);
    carrier.ms = ms;
    carrier.next_id = 100_000;
    (carrier, repair)
}

pub fn plan(path: &str, outside: bool) -> PatchPlan {
    PatchPlan {
        changes: vec![FileUpdateChange {
            path: path.into(),
            kind: PatchChangeKind::Add,
            diff: "x\n".into(),
        }],
        targets: vec![path.into()],
        outside: if outside { vec![path.into()] } else { vec![] },
    }
}

pub fn patched(path: &str) -> Vec<PatchedFile> {
    vec![PatchedFile {
        path: path.into(),
        letter: 'A',
        shown_path: path.into(),
        before: None,
        after: Some("x\n".into()),
    }]
}

fn print_action(action: &ToolAction) -> String {
    match action {
        ToolAction::Exec(exec) => {
            let policy = serde_json::to_value(&exec.policy).unwrap()["type"].clone();
            format!("{:?} in {} {}", exec.argv, exec.cwd, policy.as_str().unwrap())
        }
        ToolAction::PreparePatch {
            writable_roots,
            unrestricted,
            ..
        } => {
            format!("prepare patch {writable_roots:?} unrestricted {unrestricted}")
        }
        ToolAction::ApplyPatch {
            writable_roots,
            unrestricted,
            ..
        } => {
            format!("apply patch {writable_roots:?} unrestricted {unrestricted}")
        }
    }
}

fn print_item(item: &ThreadItem) -> String {
    match item {
        ThreadItem::UserMessage(_) => String::new(),
        ThreadItem::AgentMessage(item) => format!(" {:?}", item.text),
        ThreadItem::Reasoning(item) => format!(" {:?} {:?}", item.summary, item.content),
        ThreadItem::CommandExecution(item) => format!(
            " {:?} {} {:?} {:?} {:?}",
            item.command, item.source, item.status, item.exit_code, item.aggregated_output
        ),
        ThreadItem::FileChange(item) => format!(" {:?}", item.status),
    }
}
