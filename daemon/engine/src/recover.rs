//! From a rollout back to live state, and the repair of a turn that a crash cut off.
//!
//! Nothing of an unfinished turn runs any more when this is called. The repair says so in the record: open items are
//! completed with what was saved of them, open questions are withdrawn, open calls get an output, input that
//! was accepted is heard, the turn is interrupted.

use agentd_protocol::item::{PatchStatus, ThreadItem};
use agentd_protocol::turn::TurnStatus;

use crate::effect::Effect;
use crate::history::{Pairing, assistant_message, call_output};
use crate::out::Out;
use crate::rollout::{
    ApprovalAnswered, InputQueued, ItemLine, ItemText, ResponseItemLine, RolloutError, RolloutLine, TurnCompleted,
    TurnStarted,
};
use crate::thread::ThreadState;
use crate::{Now, exec, items, tokens};

/// The turn that the lines read so far left open.
#[derive(Debug)]
struct OpenTurn {
    started: TurnStarted,
    items: Vec<ThreadItem>,
    /// Approval ids.
    asked: Vec<String>,
    /// Input that was accepted and is not in the history yet.
    queued: Vec<InputQueued>,
}

#[derive(Debug)]
struct Replay {
    thread: ThreadState,
    pairing: Pairing,
    turn: Option<OpenTurn>,
}

/// The state that the lines record, and the lines to add to them.
pub(crate) fn replay(
    lines: Vec<RolloutLine>,
    now: &mut Now<'_>,
) -> Result<(ThreadState, Vec<RolloutLine>), RolloutError> {
    let mut lines = lines.into_iter();
    let (Some(RolloutLine::ThreadStarted(record)), Some(RolloutLine::Settings(settings))) =
        (lines.next(), lines.next())
    else {
        return Err(RolloutError::NoBeginning);
    };
    let thread = ThreadState::new(record, settings);
    let mut replay = Replay {
        thread,
        pairing: Pairing::default(),
        turn: None,
    };
    for line in lines {
        replay.apply(line);
    }
    Ok(replay.repair(now))
}

impl Replay {
    fn apply(&mut self, line: RolloutLine) {
        match line {
            RolloutLine::ThreadStarted(record) => self.thread.record = record,
            RolloutLine::Settings(settings) => self.thread.settings = settings,
            RolloutLine::Context(context) => self.thread.context = Some(context),
            RolloutLine::TurnStarted(started) => self.turn_started(started),
            RolloutLine::InputQueued(queued) => self.input_queued(queued),
            RolloutLine::ResponseItem(line) => self.response_item(&line),
            RolloutLine::ItemStarted(line) => self.item_started(line.item),
            RolloutLine::ItemText(text) => self.item_text(&text),
            RolloutLine::ItemCompleted(line) => self.item_completed(line.item),
            RolloutLine::ApprovalAsked(asked) => self.turn_asked(asked.approval_id),
            RolloutLine::ApprovalAnswered(answered) => self.answered(answered),
            RolloutLine::Usage(line) => self.thread.usage = line.usage,
            RolloutLine::TurnCompleted(completed) => self.turn_completed(&completed),
            RolloutLine::ThreadNamed(named) => self.thread.name = named.name,
        }
    }

    fn turn_started(&mut self, started: TurnStarted) {
        self.thread.updated_at_ms = self.thread.updated_at_ms.max(started.started_at_ms);
        self.turn = Some(OpenTurn {
            started,
            items: Vec::new(),
            asked: Vec::new(),
            queued: Vec::new(),
        });
    }

    fn turn_completed(&mut self, completed: &TurnCompleted) {
        // A fork was made after the turns that it shares with its source.
        self.thread.updated_at_ms = self.thread.updated_at_ms.max(completed.completed_at_ms);
        self.turn = None;
    }

    fn response_item(&mut self, line: &ResponseItemLine) {
        if self.pairing.admit(&line.item) {
            self.thread.history.push(&line.item);
        }
    }

    fn input_queued(&mut self, queued: InputQueued) {
        if let Some(turn) = &mut self.turn {
            turn.queued.push(queued);
        }
    }

    fn item_started(&mut self, item: ThreadItem) {
        self.thread.note_item(&item);
        if let Some(turn) = &mut self.turn {
            turn.items.push(item);
        }
    }

    fn item_text(&mut self, text: &ItemText) {
        let items = self.turn.iter_mut().flat_map(|turn| &mut turn.items);
        for item in items.filter(|item| item.id() == text.item_id && item.completed_at_ms().is_none()) {
            items::append_text(item, text.channel, text.index, &text.text);
        }
    }

    fn item_completed(&mut self, item: ThreadItem) {
        self.thread.note_item(&item);
        let Some(turn) = &mut self.turn else { return };
        turn.queued.retain(|queued| queued.item.id() != item.id());
        match turn.items.iter_mut().find(|open| open.id() == item.id()) {
            Some(open) => *open = item,
            None => turn.items.push(item),
        }
    }

    fn turn_asked(&mut self, approval_id: String) {
        if let Some(turn) = &mut self.turn {
            turn.asked.push(approval_id);
        }
    }

    fn answered(&mut self, answered: ApprovalAnswered) {
        self.thread.grants.extend(answered.session_grants);
        if let Some(turn) = &mut self.turn {
            turn.asked.retain(|id| *id != answered.approval_id);
        }
    }

    fn repair(mut self, now: &mut Now<'_>) -> (ThreadState, Vec<RolloutLine>) {
        let Some(mut turn) = self.turn.take() else {
            return (self.thread, Vec::new());
        };
        let mut out = Out::new(&self.thread.record.id, now);
        let partial_message = close_items(&mut turn, &mut out);
        withdraw(&turn, &mut out);
        let turn_id = &turn.started.turn_id;
        for (call_id, kind) in self.pairing.into_open() {
            let output = known_output(&turn.items, &call_id).unwrap_or_else(|| "aborted".to_owned());
            self.thread
                .append_history(turn_id, call_output(kind, &call_id, &output), &mut out);
        }
        if !partial_message.is_empty() {
            self.thread
                .append_history(turn_id, assistant_message(&partial_message), &mut out);
        }
        for queued in std::mem::take(&mut turn.queued) {
            hear(&mut self.thread, queued, &mut out);
        }
        self.thread.updated_at_ms = out.ms();
        out.append(RolloutLine::TurnCompleted(TurnCompleted {
            turn_id: turn_id.clone(),
            status: TurnStatus::Interrupted,
            error: None,
            completed_at_ms: out.ms(),
            duration_ms: (out.ms() - turn.started.started_at_ms).max(0),
        }));
        (self.thread, appended(out))
    }
}

/// Completes the open items; returns what the user saw of an unfinished message.
fn close_items(turn: &mut OpenTurn, out: &mut Out<'_, '_>) -> String {
    let mut partial_message = String::new();
    for item in turn.items.iter_mut().filter(|item| item.completed_at_ms().is_none()) {
        items::mark_failed(item);
        items::set_completed_at(item, out.ms());
        if let ThreadItem::AgentMessage(message) = item {
            partial_message.push_str(&message.text);
        }
        let line = ItemLine {
            turn_id: turn.started.turn_id.clone(),
            item: item.clone(),
        };
        out.append(RolloutLine::ItemCompleted(line));
    }
    partial_message
}

/// Gives input that was accepted its place in the history.
fn hear(thread: &mut ThreadState, queued: InputQueued, out: &mut Out<'_, '_>) {
    let InputQueued {
        turn_id,
        mut item,
        message,
    } = queued;
    if let Some(message) = message {
        thread.append_history(&turn_id, message, out);
    }
    items::set_times(&mut item, out.ms());
    thread.note_item(&item);
    out.append(RolloutLine::ItemCompleted(ItemLine { turn_id, item }));
}

fn withdraw(turn: &OpenTurn, out: &mut Out<'_, '_>) {
    for approval_id in &turn.asked {
        out.append(RolloutLine::ApprovalAnswered(ApprovalAnswered {
            approval_id: approval_id.clone(),
            decision: "withdrawn".to_owned(),
            answered_at_ms: out.ms(),
            session_grants: Vec::new(),
        }));
    }
}

/// The output of a call that had ended although its output was not stored yet: its item tells.
fn known_output(items: &[ThreadItem], call_id: &str) -> Option<String> {
    match items.iter().find(|item| item.id() == call_id)? {
        ThreadItem::CommandExecution(item) => {
            let code = item.exit_code?;
            let output = item.aggregated_output.as_deref().unwrap_or_default();
            let duration_ms = item.duration_ms.unwrap_or_default();
            let line = format!("Process exited with code {code}");
            Some(exec::model_text(&line, output, duration_ms, tokens::MAX_OUTPUT_TOKENS))
        }
        ThreadItem::FileChange(item) if item.status == PatchStatus::Completed => {
            Some("Exit code: 0\nOutput:\nSuccess. The patch was applied.\n".to_owned())
        }
        _ => None,
    }
}

fn appended(out: Out<'_, '_>) -> Vec<RolloutLine> {
    let lines = |effect| match effect {
        Effect::Append(lines) => lines,
        _ => Vec::new(),
    };
    out.into_effects().into_iter().flat_map(lines).collect()
}
