//! The agent loop as a pure machine.
//!
//! [`Engine::step`] takes one [`input::Input`] and returns the [`effect::Effect`]s that follow from it. Nothing in this
//! crate performs IO, waits, reads a clock or draws a random number: time and ids come in with [`Now`].
//!
//! Where to look: `turn.rs` is the way of a turn, `model_events.rs` what the model says, `tool_calls.rs` what it wants
//! done, `approval.rs` when the user is asked, `steer.rs` how input joins a running turn,
//! `stop.rs` how a turn is cut short, `recover.rs` how a rollout becomes live
//! state again, `wire.rs` what a request looks like.

mod approval;
mod command_line;
mod context;
mod diff;
pub mod effect;
mod exec;
mod flow;
mod history;
pub mod input;
mod items;
mod model_events;
mod out;
mod patch;
mod plan;
mod recover;
pub mod rollout;
mod steer;
mod stop;
mod stream;
mod thread;
mod tokens;
mod tool_calls;
mod tool_specs;
mod turn;
mod wire;

use std::collections::VecDeque;

use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::thread::ThreadStatus;
use agentd_protocol::turn::Turn;
use agentd_protocol::usage::ThreadTokenUsage;

use crate::effect::{Effect, Rejection};
use crate::input::{Input, ReplyToken, StartTurn, Steer};
use crate::out::Out;
use crate::rollout::{RolloutError, RolloutLine, ThreadNamed, ThreadRecord};
use crate::thread::ThreadState;
use crate::turn::ActiveTurn;

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
    thread: ThreadState,
    turn: Option<ActiveTurn>,
    /// Turns that were asked for while the running one was being stopped.
    waiting: VecDeque<StartTurn>,
}

impl Engine {
    /// A new thread, and the lines to store first.
    pub fn new(record: ThreadRecord, settings: ThreadSettings) -> (Engine, Vec<RolloutLine>) {
        let lines = vec![
            RolloutLine::ThreadStarted(record.clone()),
            RolloutLine::Settings(settings.clone()),
        ];
        (Self::idle(ThreadState::new(record, settings)), lines)
    }

    /// The thread that these lines record, and the lines that repair a turn which a crash cut off; store them before
    /// anything else. A thread whose last turn failed comes back idle.
    pub fn replay(lines: Vec<RolloutLine>, now: &mut Now<'_>) -> Result<(Engine, Vec<RolloutLine>), RolloutError> {
        let (thread, repair) = recover::replay(lines, now)?;
        Ok((Self::idle(thread), repair))
    }

    fn idle(thread: ThreadState) -> Self {
        Self {
            thread,
            turn: None,
            waiting: VecDeque::new(),
        }
    }

    /// Takes one input; returns what has to be done, in order.
    pub fn step(&mut self, input: Input, now: &mut Now<'_>) -> Vec<Effect> {
        let mut out = Out::new(&self.thread.record.id, now);
        match input {
            Input::StartTurn(start) => self.start_turn(*start, &mut out),
            Input::Steer(steer) => self.steer(*steer, &mut out),
            Input::Interrupt { turn_id, reply } => self.interrupt(turn_id, reply, &mut out),
            input => self.turn_input(input, &mut out),
        }
        self.settle(&mut out);
        out.into_effects()
    }

    fn start_turn(&mut self, start: StartTurn, out: &mut Out<'_, '_>) {
        match &mut self.turn {
            None => self.turn = Some(ActiveTurn::start(&mut self.thread, start, out)),
            Some(turn) if turn.stop.is_some() => self.waiting.push_back(start),
            Some(turn) => turn.start_again(&mut self.thread, start, out),
        }
    }

    /// A turn that is being stopped takes no more input.
    fn steer(&mut self, steer: Steer, out: &mut Out<'_, '_>) {
        match self.turn.as_mut().filter(|turn| turn.stop.is_none()) {
            Some(turn) => turn.steer(&mut self.thread, steer, out),
            None => out.reply(steer.reply, Err(Rejection::NoTurnToSteer)),
        }
    }

    fn interrupt(&mut self, turn_id: Option<String>, reply: Option<ReplyToken>, out: &mut Out<'_, '_>) {
        match (&mut self.turn, reply) {
            (Some(turn), reply) => turn.interrupt(&mut self.thread, turn_id, reply, out),
            (None, Some(token)) => out.reply(token, Err(Rejection::NoActiveTurn)),
            (None, None) => {}
        }
    }

    /// What only a running turn cares for; after its end such inputs are late and ignored.
    fn turn_input(&mut self, input: Input, out: &mut Out<'_, '_>) {
        let Some(turn) = &mut self.turn else { return };
        match input {
            Input::ApprovalAnswer { approval_id, decision } => {
                turn.on_answer(&mut self.thread, &approval_id, decision, out);
            }
            Input::Model { request, event } => turn.on_model_event(&mut self.thread, request, event, out),
            Input::Tool { tool, event } => turn.on_tool_event(&mut self.thread, tool, event, out),
            Input::CheckpointDue => turn.checkpoint_due(out),
            Input::StartTurn(_) | Input::Steer(_) | Input::Interrupt { .. } => {}
        }
    }

    /// Drops a turn that has ended and starts what waited for its end.
    fn settle(&mut self, out: &mut Out<'_, '_>) {
        self.turn.take_if(|turn| turn.ended);
        if self.turn.is_none() {
            for start in std::mem::take(&mut self.waiting) {
                self.start_turn(start, out);
            }
        }
    }

    /// How the thread stands.
    pub fn status(&self) -> ThreadStatus {
        match &self.turn {
            Some(turn) => turn.status(),
            None if self.thread.failed => ThreadStatus::SystemError,
            None => ThreadStatus::Idle,
        }
    }

    /// The settings it runs with.
    pub fn settings(&self) -> &ThreadSettings {
        &self.thread.settings
    }

    /// What was fixed at its start.
    pub fn record(&self) -> &ThreadRecord {
        &self.thread.record
    }

    /// The running turn with all items so far (open ones with their text so far).
    pub fn active_turn(&self) -> Option<Turn> {
        self.turn.as_ref().map(ActiveTurn::full_view)
    }

    /// Usage so far.
    pub fn usage(&self) -> ThreadTokenUsage {
        self.thread.usage
    }

    /// Name the user gave.
    pub fn name(&self) -> Option<&str> {
        self.thread.name.as_deref()
    }

    /// Names the thread; the line is to be stored before anybody is told.
    pub fn set_name(&mut self, name: Option<String>) -> RolloutLine {
        self.thread.name.clone_from(&name);
        RolloutLine::ThreadNamed(ThreadNamed { name })
    }

    /// Changes the settings from the next turn on; the line is to be stored before anybody is told.
    pub fn change_settings(&mut self, settings: ThreadSettings) -> RolloutLine {
        self.thread.settings.clone_from(&settings);
        RolloutLine::Settings(settings)
    }

    /// Text of the first user message; empty before it.
    pub fn preview(&self) -> &str {
        self.thread.preview.as_deref().unwrap_or_default()
    }

    /// Unix milliseconds at which the last turn began or ended.
    pub fn updated_at_ms(&self) -> i64 {
        self.thread.updated_at_ms
    }
}
