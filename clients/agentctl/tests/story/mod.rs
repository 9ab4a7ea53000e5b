//! A small daemon with a story to tell: the fake server of the client crate with the objects of the protocol around it,
//! and a way to run `agentctl` against it.
#![allow(dead_code, unreachable_pub, clippy::expect_used, clippy::unwrap_used)]

#[path = "../../../client/tests/fake/mod.rs"]
mod fake;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub use fake::{FakeServer, Peer};
use serde_json::{Value, json};

pub const THREAD: &str = "019c0000-0000-7000-8000-000000000001";
pub const TURN: &str = "019c0000-0000-7000-8000-000000000002";

/// The home with its fake daemon.
pub struct Story {
    pub dir: tempfile::TempDir,
    pub server: FakeServer,
}

/// Everything `agentctl` left behind.
pub struct Told {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Story {
    /// A daemon that starts and resumes the thread, and tells `tell` when a turn is started. `tell` also hears every later
    /// message (answers, interrupts).
    pub fn new(mut tell: impl FnMut(&Value, &mut Peer) + Send + 'static) -> Self {
        Self::with_account(
            json!({"account": null, "userId": null, "requiresOpenaiAuth": false, "workspaceRouting": null}),
            move |m, p| {
                tell(m, p);
            },
        )
    }

    pub fn with_account(account: Value, mut tell: impl FnMut(&Value, &mut Peer) + Send + 'static) -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        let server = FakeServer::start(
            &dir.path().join("agentd.sock"),
            move |message, peer| match message["method"].as_str() {
                Some("account/read") => peer.reply(message, account.clone()),
                Some("thread/start" | "thread/resume") => peer.reply(message, started()),
                Some("thread/list") => peer.reply(
                    message,
                    json!({"data": [thread(json!([]))], "readStates": {}, "nextCursor": null, "backwardsCursor": null}),
                ),
                // Without turns it is only looked at; the story of a thread with turns is the test's.
                Some("thread/read") if message["params"]["includeTurns"] != true => {
                    peer.reply(message, json!({"thread": thread(json!([])), "readState": null}));
                }
                Some("thread/loaded/list") => peer.reply(message, json!({"data": [THREAD], "nextCursor": null})),
                Some("turn/start") => {
                    peer.reply(message, json!({"turn": turn("inProgress", json!([]), Value::Null)}));
                    tell(message, peer);
                }
                _ => tell(message, peer),
            },
        );
        Self { dir, server }
    }

    pub fn workspace(&self) -> PathBuf {
        self.dir.path().to_path_buf()
    }

    /// Runs `agentctl` without a terminal.
    pub fn run(&self, args: &[&str]) -> Told {
        let output = self.command(args).output().expect("run agentctl");
        Told::from(output)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentctl"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .env_clear()
            .env("AGENTD_HOME", self.dir.path())
            .env("AGENTD_BIN", "/nonexistent/agentd")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl From<Output> for Told {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

pub fn thread(turns: Value) -> Value {
    json!({"id": THREAD, "environments": null, "extra": null, "sessionId": THREAD, "forkedFromId": null,
        "attachedToThreadId": null, "parentThreadId": null, "preview": "fix the\ntest", "ephemeral": false, "section": null,
        "sectionEnteredAt": null, "projectId": null, "historyMode": "paginated", "modelProvider": "openai",
        "model": "gpt-5.5", "reasoningEffort": null, "createdAt": 1, "updatedAt": 1, "recencyAt": 1,
        "status": {"type": "idle"}, "path": null, "cwd": "/w", "cliVersion": "0.171.0", "originator": "agentctl",
        "source": "vscode", "canAcceptDirectInput": true, "threadSource": null, "agentNickname": null,
        "agentRole": null, "gitInfo": null, "name": null, "daybreakEnabled": null, "turns": turns})
}

fn started() -> Value {
    json!({"thread": thread(json!([])), "model": "gpt-5.5", "modelProvider": "openai", "serviceTier": null,
        "disabledPluginIds": [], "cwd": "/w", "runtimeWorkspaceRoots": ["/w"], "instructionSources": [],
        "approvalPolicy": "on-request", "approvalsReviewer": "user",
        "sandbox": {"type": "readOnly", "networkAccess": false}, "activePermissionProfile": null,
        "reasoningEffort": null, "multiAgentMode": "off", "initialTurnsPage": null})
}

pub fn turn(status: &str, items: Value, error: Value) -> Value {
    json!({"id": TURN, "rootTurnId": TURN, "items": items, "itemsView": "summary", "status": status, "error": error,
        "startedAt": 1, "completedAt": null, "durationMs": if status == "inProgress" { Value::Null } else { json!(1500) }})
}

pub fn message(id: &str, text: &str) -> Value {
    json!({"type": "agentMessage", "moderation": null, "id": id, "text": text, "phase": null, "memoryCitation": null,
        "delivery": null, "questions": null, "startedAtMs": 1, "completedAtMs": 2})
}

pub fn command(id: &str, command: &str, status: &str, output: Value, exit: Value) -> Value {
    json!({"type": "commandExecution", "id": id, "pluginId": null, "scriptPath": null, "command": command, "cwd": "/w",
        "processId": null, "source": "unifiedExecStartup", "status": status, "commandActions": [],
        "aggregatedOutput": output, "exitCode": exit, "durationMs": 1200, "startedAtMs": 1, "completedAtMs": 2})
}

pub fn patch(id: &str, status: &str) -> Value {
    json!({"type": "fileChange", "id": id, "status": status, "startedAtMs": 1, "completedAtMs": null, "changes": [
        {"path": "/w/a.txt", "kind": {"type": "update", "move_path": null}, "diff": "@@ -1 +1 @@\n-one\n+two\n"},
        {"path": "/w/new.txt", "kind": {"type": "add"}, "diff": "hello\nworld\n"}]})
}

/// The notifications of a turn, with the ids filled in.
pub trait Tell {
    fn begin(&mut self, item: Value);
    fn end(&mut self, item: Value);
    fn say(&mut self, id: &str, delta: &str);
    fn output(&mut self, id: &str, delta: &str);
    fn finish(&mut self, status: &str);
    fn whole(&mut self, item: Value);
    fn ask_command(&mut self, request: i64, item: &str, line: &str);
    fn ask_patch(&mut self, request: i64, item: &str);
}

impl Tell for Peer {
    fn begin(&mut self, item: Value) {
        self.notify(
            "item/started",
            json!({"item": item, "threadId": THREAD, "turnId": TURN, "startedAtMs": 1}),
        );
    }

    fn end(&mut self, item: Value) {
        let params =
            json!({"item": item, "threadId": THREAD, "turnId": TURN, "contentTokenCount": null, "completedAtMs": 2});
        self.notify("item/completed", params);
    }

    fn say(&mut self, id: &str, delta: &str) {
        let params = json!({"threadId": THREAD, "turnId": TURN, "itemId": id, "delta": delta});
        self.notify("item/agentMessage/delta", params);
    }

    fn output(&mut self, id: &str, delta: &str) {
        let params = json!({"threadId": THREAD, "turnId": TURN, "itemId": id, "delta": delta});
        self.notify("item/commandExecution/outputDelta", params);
    }

    fn finish(&mut self, status: &str) {
        let error = match status {
            "failed" => {
                json!({"message": "the model is on strike", "codexErrorInfo": null, "additionalDetails": null, "misalignment": null})
            }
            _ => Value::Null,
        };
        self.notify(
            "turn/completed",
            json!({"threadId": THREAD, "turn": turn(status, json!([]), error)}),
        );
    }

    fn whole(&mut self, item: Value) {
        self.begin(item.clone());
        self.end(item);
    }

    fn ask_command(&mut self, request: i64, item: &str, line: &str) {
        self.send(&json!({"id": request, "method": "item/commandExecution/requestApproval", "params": {
            "kind": "command", "threadId": THREAD, "turnId": TURN, "itemId": item, "startedAtMs": 1,
            "environmentId": "local", "reason": "needs the network", "command": line, "cwd": "/w", "commandActions": []}}));
    }

    fn ask_patch(&mut self, request: i64, item: &str) {
        self.send(
            &json!({"id": request, "method": "item/fileChange/requestApproval", "params": {
            "threadId": THREAD, "turnId": TURN, "itemId": item, "startedAtMs": 1, "reason": null, "grantRoot": null}}),
        );
    }
}
