//! The methods a small client needs, typed: one function per method, named after it. It owns the shape of params and which
//! part of a result a client gets; the waiting is in `connection.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use agentd_protocol::settings::{AskForApproval, SandboxMode};
use agentd_protocol::thread::Thread;
use agentd_protocol::turn::Turn;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::connection::Client;
use crate::error::ClientError;

/// How long the daemon may take to answer a call that only looks something up or begins something.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// What `thread/start` and `thread/resume` may override; what is `None` is left to the daemon.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartThread {
    /// Absolute working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Model slug.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Provider id, a key of `model_providers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<String>,
    /// What commands may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// When to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<AskForApproval>,
    /// Configuration overrides, dotted key to value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, Value>,
}

/// Which threads `thread/list` gives.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadFilter {
    /// Only threads of this working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// At most so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of `thread/list`, newest first.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPage {
    /// The threads, without turns.
    pub data: Vec<Thread>,
    /// Where the next page begins, if there is one.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// What `account/read` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// The account in use, if there is one (opaque here).
    #[serde(default)]
    pub account: Option<Value>,
    /// Whether the configured provider cannot work without one.
    #[serde(default)]
    pub requires_openai_auth: bool,
}

impl Account {
    /// Whether turns of the configured provider would fail for want of credentials.
    pub fn is_missing(&self) -> bool {
        self.account.is_none() && self.requires_openai_auth
    }
}

#[derive(Deserialize)]
struct ThreadAnswer {
    thread: Thread,
}

#[derive(Deserialize)]
struct TurnAnswer {
    turn: Turn,
}

#[derive(Deserialize)]
struct LoadedThreads {
    data: Vec<String>,
}

impl Client {
    /// `account/read`.
    pub fn account_read(&self) -> Result<Account, ClientError> {
        self.call("account/read", &json!({}), ANSWER_LIMIT)
    }

    /// `thread/start`; this client is subscribed to the thread from then on.
    pub fn thread_start(&self, start: &StartThread) -> Result<Thread, ClientError> {
        self.call("thread/start", start, ANSWER_LIMIT)
            .map(|a: ThreadAnswer| a.thread)
    }

    /// `thread/resume`, with all turns in the answer; this client is subscribed to the thread from then on.
    pub fn thread_resume(&self, thread_id: &str, overrides: &StartThread) -> Result<Thread, ClientError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            thread_id: &'a str,
            #[serde(flatten)]
            overrides: &'a StartThread,
        }
        self.call("thread/resume", &Params { thread_id, overrides }, ANSWER_LIMIT)
            .map(|a: ThreadAnswer| a.thread)
    }

    /// `thread/read`, with all turns if asked; works on threads that are not loaded.
    pub fn thread_read(&self, thread_id: &str, include_turns: bool) -> Result<Thread, ClientError> {
        let params = json!({"threadId": thread_id, "includeTurns": include_turns});
        self.call("thread/read", &params, ANSWER_LIMIT)
            .map(|a: ThreadAnswer| a.thread)
    }

    /// `thread/list`.
    pub fn thread_list(&self, filter: &ThreadFilter) -> Result<ThreadPage, ClientError> {
        self.call("thread/list", filter, ANSWER_LIMIT)
    }

    /// `thread/loaded/list`: ids of the threads in the daemon's memory.
    pub fn thread_loaded_list(&self) -> Result<Vec<String>, ClientError> {
        self.call("thread/loaded/list", &json!({}), ANSWER_LIMIT)
            .map(|a: LoadedThreads| a.data)
    }

    /// `turn/start` with one text.
    pub fn turn_start(&self, thread_id: &str, text: &str) -> Result<Turn, ClientError> {
        let input = json!([{"type": "text", "text": text, "text_elements": []}]);
        self.call(
            "turn/start",
            &json!({"threadId": thread_id, "input": input}),
            ANSWER_LIMIT,
        )
        .map(|a: TurnAnswer| a.turn)
    }

    /// `turn/interrupt`.
    pub fn turn_interrupt(&self, thread_id: &str, turn_id: &str) -> Result<(), ClientError> {
        let params = json!({"threadId": thread_id, "turnId": turn_id});
        self.call("turn/interrupt", &params, ANSWER_LIMIT).map(|_: Value| ())
    }
}
