//! The agent loop as a pure machine.
//!
//! [`Engine::step`] takes one [`input::Input`] and returns the [`effect::Effect`]s that follow from it. Nothing in this
//! crate performs IO, waits, reads a clock or draws a random number: time and ids come in with [`Now`].

pub mod effect;
pub mod input;
pub mod rollout;

use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::thread::ThreadStatus;
use agentd_protocol::turn::Turn;
use agentd_protocol::usage::ThreadTokenUsage;

use crate::effect::Effect;
use crate::input::Input;
use crate::rollout::{RolloutError, RolloutLine, ThreadRecord};

/// Time and ids for one step.
pub struct Now<'a> {
    /// Unix milliseconds.
    pub ms: i64,
    /// Yields a fresh uuid v7 as text.
    pub ids: &'a mut dyn FnMut() -> String,
}

/// The state of one loaded thread.
#[derive(Debug)]
pub struct Engine {
    record: ThreadRecord,
    settings: ThreadSettings,
    usage: ThreadTokenUsage,
}

impl Engine {
    /// A new thread, and the lines to store first.
    pub fn new(record: ThreadRecord, settings: ThreadSettings) -> (Engine, Vec<RolloutLine>) {
        let lines = vec![RolloutLine::ThreadStarted(record.clone()), RolloutLine::Settings(settings.clone())];
        (Engine { record, settings, usage: ThreadTokenUsage::default() }, lines)
    }

    /// The thread that these lines record, and the lines that repair a turn which a crash cut (store them first).
    pub fn replay(_lines: Vec<RolloutLine>, _now: &mut Now<'_>) -> Result<(Engine, Vec<RolloutLine>), RolloutError> {
        Err(RolloutError::UnknownKind(String::new()))
    }

    /// Takes one input; returns what has to be done, in order.
    pub fn step(&mut self, _input: Input, _now: &mut Now<'_>) -> Vec<Effect> {
        Vec::new()
    }

    /// How the thread stands.
    pub fn status(&self) -> ThreadStatus {
        ThreadStatus::Idle
    }

    /// The settings it runs with.
    pub fn settings(&self) -> &ThreadSettings {
        &self.settings
    }

    /// What was fixed at its start.
    pub fn record(&self) -> &ThreadRecord {
        &self.record
    }

    /// The running turn with all items so far (open ones with their text so far).
    pub fn active_turn(&self) -> Option<Turn> {
        None
    }

    /// Usage so far.
    pub fn usage(&self) -> ThreadTokenUsage {
        self.usage.clone()
    }

    /// Name the user gave.
    pub fn name(&self) -> Option<&str> {
        None
    }

    /// Text of the first user message.
    pub fn preview(&self) -> &str {
        ""
    }

    /// Unix milliseconds of the last change.
    pub fn updated_at_ms(&self) -> i64 {
        self.record.created_at_ms
    }
}
