//! The methods a small client needs, typed through the protocol's method table: one function per method, named after it. It
//! owns which part of a result a client gets; the waiting is in `connection.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use agentd_protocol::item::UserInput;
use agentd_protocol::methods::account::{AccountReadParams, AccountReadResponse};
use agentd_protocol::methods::thread_list::{ThreadListParams, ThreadListResponse, ThreadLoadedListParams};
use agentd_protocol::methods::thread_start::{ThreadForkParams, ThreadResumeParams, ThreadStartParams};
use agentd_protocol::methods::threads::{ThreadIdParams, ThreadNameSetParams, ThreadReadParams};
use agentd_protocol::methods::turns::{TurnInterruptParams, TurnStartParams};
use agentd_protocol::methods::{
    AccountRead, Method, ThreadArchive, ThreadFork, ThreadList, ThreadLoadedList, ThreadNameSet, ThreadRead,
    ThreadResume, ThreadStart, ThreadUnarchive, TurnInterrupt, TurnStart,
};
use agentd_protocol::settings::{AskForApproval, SandboxMode};
use agentd_protocol::thread::Thread;
use agentd_protocol::turn::Turn;
use serde_json::Value;

use crate::connection::Client;
use crate::error::ClientError;

/// How long the daemon may take to answer a call that only looks something up or begins something.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// What `thread/start` and `thread/resume` may override; what is `None` is left to the daemon.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadOverrides {
    /// Absolute working directory.
    pub cwd: Option<String>,
    /// Model slug.
    pub model: Option<String>,
    /// Provider id, a key of `model_providers`.
    pub model_provider: Option<String>,
    /// What commands may do.
    pub sandbox: Option<SandboxMode>,
    /// When to ask.
    pub approval_policy: Option<AskForApproval>,
    /// Configuration, dotted key to value.
    pub config: BTreeMap<String, Value>,
}

impl ThreadOverrides {
    fn config(&self) -> Option<BTreeMap<String, Value>> {
        (!self.config.is_empty()).then(|| self.config.clone())
    }
}

impl Client {
    /// Calls a method of the protocol's table.
    pub fn request<M: Method>(&self, params: &M::Params) -> Result<M::Result, ClientError> {
        self.call(M::NAME, params, ANSWER_LIMIT)
    }

    /// `account/read`.
    pub fn account_read(&self) -> Result<AccountReadResponse, ClientError> {
        self.request::<AccountRead>(&AccountReadParams::default())
    }

    /// `thread/start`; this client is subscribed to the thread from then on.
    pub fn thread_start(&self, overrides: &ThreadOverrides) -> Result<Thread, ClientError> {
        let params = ThreadStartParams {
            cwd: overrides.cwd.clone(),
            model: overrides.model.clone(),
            model_provider: overrides.model_provider.clone(),
            sandbox: overrides.sandbox,
            approval_policy: overrides.approval_policy,
            config: overrides.config(),
            ..ThreadStartParams::default()
        };
        Ok(self.request::<ThreadStart>(&params)?.thread)
    }

    /// `thread/resume`, with all turns in the answer; this client is subscribed to the thread from then on.
    pub fn thread_resume(&self, thread_id: &str, overrides: &ThreadOverrides) -> Result<Thread, ClientError> {
        let params = ThreadResumeParams {
            thread_id: thread_id.to_owned(),
            cwd: overrides.cwd.clone(),
            model: overrides.model.clone(),
            model_provider: overrides.model_provider.clone(),
            sandbox: overrides.sandbox,
            approval_policy: overrides.approval_policy,
            config: overrides.config(),
            ..ThreadResumeParams::default()
        };
        Ok(self.request::<ThreadResume>(&params)?.started.thread)
    }

    /// `thread/read`, with all turns if asked; works on threads that are not loaded.
    pub fn thread_read(&self, thread_id: &str, include_turns: bool) -> Result<Thread, ClientError> {
        let params = ThreadReadParams {
            thread_id: thread_id.to_owned(),
            include_turns: Some(include_turns),
        };
        Ok(self.request::<ThreadRead>(&params)?.thread)
    }

    /// `thread/list`: one page, newest first unless asked otherwise.
    pub fn thread_list(&self, params: &ThreadListParams) -> Result<ThreadListResponse, ClientError> {
        self.request::<ThreadList>(params)
    }

    /// `thread/name/set`.
    pub fn thread_name_set(&self, thread_id: &str, name: &str) -> Result<(), ClientError> {
        let params = ThreadNameSetParams {
            thread_id: thread_id.to_owned(),
            name: name.to_owned(),
        };
        self.request::<ThreadNameSet>(&params).map(|_| ())
    }

    /// `thread/archive`; a turn that runs in it is interrupted.
    pub fn thread_archive(&self, thread_id: &str) -> Result<(), ClientError> {
        self.request::<ThreadArchive>(&id_alone(thread_id)).map(|_| ())
    }

    /// `thread/unarchive`.
    pub fn thread_unarchive(&self, thread_id: &str) -> Result<Thread, ClientError> {
        Ok(self.request::<ThreadUnarchive>(&id_alone(thread_id))?.thread)
    }

    /// `thread/fork` at the end of the last turn that has ended; the answer is without turns.
    pub fn thread_fork(&self, thread_id: &str) -> Result<Thread, ClientError> {
        let params = ThreadForkParams {
            thread_id: thread_id.to_owned(),
            exclude_turns: Some(true),
            ..ThreadForkParams::default()
        };
        Ok(self.request::<ThreadFork>(&params)?.thread)
    }

    /// `thread/loaded/list`: ids of the threads in the daemon's memory.
    pub fn thread_loaded_list(&self) -> Result<Vec<String>, ClientError> {
        Ok(self
            .request::<ThreadLoadedList>(&ThreadLoadedListParams::default())?
            .data)
    }

    /// `turn/start` with one text.
    pub fn turn_start(&self, thread_id: &str, text: &str) -> Result<Turn, ClientError> {
        let params = TurnStartParams {
            thread_id: thread_id.to_owned(),
            input: vec![UserInput::Text {
                text: text.to_owned(),
                text_elements: Vec::new(),
            }],
            ..TurnStartParams::default()
        };
        Ok(self.request::<TurnStart>(&params)?.turn)
    }

    /// `turn/interrupt`.
    pub fn turn_interrupt(&self, thread_id: &str, turn_id: &str) -> Result<(), ClientError> {
        let params = TurnInterruptParams {
            thread_id: thread_id.to_owned(),
            turn_id: turn_id.to_owned(),
        };
        self.request::<TurnInterrupt>(&params).map(|_| ())
    }
}

fn id_alone(thread_id: &str) -> ThreadIdParams {
    ThreadIdParams {
        thread_id: thread_id.to_owned(),
    }
}
