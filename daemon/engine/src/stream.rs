//! Messages and reasoning that the model is still writing, and the checkpoints of their text.
//!
//! Every delta is shown at once. It reaches the store with the next checkpoint: after [`CHECKPOINT_BYTES`] of unsaved
//! text, or [`CHECKPOINT_MS`] after the first unsaved byte, whichever comes first. Command output is saved the same way.

use agentd_protocol::item::ThreadItem;
use agentd_protocol::notification::ServerNotification;
use serde_json::Value;

use crate::effect::Effect;
use crate::items;
use crate::out::Out;
use crate::rollout::{ItemLine, ItemText, RolloutLine, TextChannel};
use crate::thread::ThreadState;
use crate::turn::ActiveTurn;

/// Unsaved text that is stored without waiting for the timer.
const CHECKPOINT_BYTES: usize = 2 * 1024;

/// How long shown text may stay unsaved.
const CHECKPOINT_MS: u64 = 150;

/// What the model can write piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    Message,
    Reasoning,
}

/// An item that the model is still writing.
#[derive(Debug)]
pub(crate) struct OpenText {
    kind: TextKind,
    /// Position in the turn's items.
    pub(crate) index: usize,
    /// The model's id of the item, if it told one.
    model_id: Option<String>,
    /// Whether raw reasoning was streamed; only then the final raw text is shown.
    raw_reasoning: bool,
}

/// Text of open items that is shown but not stored.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    /// Items whose beginning is in the store.
    stored: Vec<usize>,
    unsaved: Vec<Unsaved>,
    bytes: usize,
    timer_runs: bool,
}

#[derive(Debug)]
struct Unsaved {
    index: usize,
    channel: TextChannel,
    part: u32,
    text: String,
}

impl Checkpoints {
    /// The beginning of this item is stored already.
    pub(crate) fn note_stored(&mut self, index: usize) {
        self.stored.push(index);
    }

    /// The item ended; its final text is stored as a whole.
    pub(crate) fn forget(&mut self, index: usize) {
        self.stored.retain(|stored| *stored != index);
        self.unsaved.retain(|unsaved| unsaved.index != index);
        self.bytes = self.unsaved.iter().map(|unsaved| unsaved.text.len()).sum();
    }

    fn add(&mut self, index: usize, channel: TextChannel, part: u32, text: &str) {
        self.bytes += text.len();
        let same = |u: &&mut Unsaved| u.index == index && u.channel == channel && u.part == part;
        match self.unsaved.iter_mut().find(same) {
            Some(unsaved) => unsaved.text.push_str(text),
            None => self.unsaved.push(Unsaved {
                index,
                channel,
                part,
                text: text.to_owned(),
            }),
        }
    }
}

impl ActiveTurn {
    /// `response.output_item.added` of a message or reasoning item.
    pub(crate) fn open_text(
        &mut self,
        thread: &mut ThreadState,
        kind: TextKind,
        model_id: Option<&str>,
        phase: Option<String>,
        out: &mut Out<'_, '_>,
    ) -> usize {
        let model_id = model_id.filter(|id| !id.is_empty());
        let id = thread.unique_item_id(model_id, out);
        let item = match kind {
            TextKind::Message => items::agent_message(id, phase, out.ms()),
            TextKind::Reasoning => items::reasoning(id, out.ms()),
        };
        let index = self.open_item(item, out);
        self.stream.push(OpenText {
            kind,
            index,
            model_id: model_id.map(str::to_owned),
            raw_reasoning: false,
        });
        self.stream.len() - 1
    }

    /// Position in `stream` of the item that an event belongs to: the one with its id, or, since some servers give the
    /// same item several ids, the only one of its kind.
    fn find_text(&self, kind: TextKind, model_id: Option<&str>) -> Option<usize> {
        let by_id = self
            .stream
            .iter()
            .position(|open| open.kind == kind && open.model_id.as_deref() == model_id);
        if by_id.is_some() && model_id.is_some() {
            return by_id;
        }
        let mut of_kind = self.stream.iter().enumerate().filter(|(_, open)| open.kind == kind);
        match (of_kind.next_back(), of_kind.next_back()) {
            (Some((last, _)), None) => Some(last),
            (Some((last, _)), Some(_)) if model_id.is_none() => Some(last),
            _ => None,
        }
    }

    fn find_or_open(
        &mut self,
        thread: &mut ThreadState,
        kind: TextKind,
        model_id: Option<&str>,
        out: &mut Out<'_, '_>,
    ) -> usize {
        match self.find_text(kind, model_id) {
            Some(at) => at,
            None => self.open_text(thread, kind, model_id, None, out),
        }
    }

    pub(crate) fn message_delta(
        &mut self,
        thread: &mut ThreadState,
        model_id: Option<&str>,
        delta: String,
        out: &mut Out<'_, '_>,
    ) {
        let at = self.find_or_open(thread, TextKind::Message, model_id, out);
        let index = self.stream[at].index;
        self.add_text(index, TextChannel::Message, 0, &delta, out);
        let (thread_id, turn_id, item_id) = (out.thread_id(), self.id.clone(), self.items[index].id().to_owned());
        out.emit(ServerNotification::AgentMessageDelta {
            thread_id,
            turn_id,
            item_id,
            delta,
        });
    }

    pub(crate) fn summary_part_added(
        &mut self,
        thread: &mut ThreadState,
        model_id: Option<&str>,
        summary_index: u32,
        out: &mut Out<'_, '_>,
    ) {
        let at = self.find_or_open(thread, TextKind::Reasoning, model_id, out);
        let item = &mut self.items[self.stream[at].index];
        items::append_text(item, TextChannel::ReasoningSummary, summary_index, "");
        let (thread_id, turn_id, item_id) = (out.thread_id(), self.id.clone(), item.id().to_owned());
        out.emit(ServerNotification::ReasoningSummaryPartAdded {
            thread_id,
            turn_id,
            item_id,
            summary_index,
        });
    }

    pub(crate) fn summary_delta(
        &mut self,
        thread: &mut ThreadState,
        model_id: Option<&str>,
        summary_index: u32,
        delta: String,
        out: &mut Out<'_, '_>,
    ) {
        let at = self.find_or_open(thread, TextKind::Reasoning, model_id, out);
        let index = self.stream[at].index;
        self.add_text(index, TextChannel::ReasoningSummary, summary_index, &delta, out);
        let (thread_id, turn_id, item_id) = (out.thread_id(), self.id.clone(), self.items[index].id().to_owned());
        out.emit(ServerNotification::ReasoningSummaryTextDelta {
            thread_id,
            turn_id,
            item_id,
            delta,
            summary_index,
        });
    }

    pub(crate) fn reasoning_delta(
        &mut self,
        thread: &mut ThreadState,
        model_id: Option<&str>,
        content_index: u32,
        delta: String,
        out: &mut Out<'_, '_>,
    ) {
        let at = self.find_or_open(thread, TextKind::Reasoning, model_id, out);
        self.stream[at].raw_reasoning = true;
        let index = self.stream[at].index;
        self.add_text(index, TextChannel::ReasoningContent, content_index, &delta, out);
        let (thread_id, turn_id, item_id) = (out.thread_id(), self.id.clone(), self.items[index].id().to_owned());
        out.emit(ServerNotification::ReasoningTextDelta {
            thread_id,
            turn_id,
            item_id,
            delta,
            content_index,
        });
    }

    /// `response.output_item.done` of a message or reasoning item: its text wins over the deltas.
    pub(crate) fn text_done(&mut self, thread: &mut ThreadState, kind: TextKind, done: &Value, out: &mut Out<'_, '_>) {
        let model_id = done["id"].as_str();
        let Some(at) = self.find_text(kind, model_id) else {
            let id = thread.unique_item_id(model_id, out);
            let mut item = match kind {
                TextKind::Message => items::agent_message(id, None, out.ms()),
                TextKind::Reasoning => items::reasoning(id, out.ms()),
            };
            set_final_text(&mut item, done, false);
            return self.add_whole_item(item, out);
        };
        let open = self.stream.remove(at);
        set_final_text(&mut self.items[open.index], done, open.raw_reasoning);
        self.complete_item(open.index, out);
    }

    /// Ends what the model left unfinished, with the text so far.
    pub(crate) fn close_stream(&mut self, out: &mut Out<'_, '_>) {
        for open in std::mem::take(&mut self.stream) {
            self.complete_item(open.index, out);
        }
    }

    /// Adds shown text to an open item and sees to it that the store learns of it.
    pub(crate) fn add_text(
        &mut self,
        index: usize,
        channel: TextChannel,
        part: u32,
        text: &str,
        out: &mut Out<'_, '_>,
    ) {
        let Some(item) = self.items.get_mut(index) else { return };
        if !items::append_text(item, channel, part, text) || text.is_empty() {
            return;
        }
        self.checkpoints.add(index, channel, part, text);
        if self.checkpoints.bytes >= CHECKPOINT_BYTES {
            self.checkpoint(out);
        } else if !self.checkpoints.timer_runs {
            self.checkpoints.timer_runs = true;
            out.push(Effect::StartCheckpointTimer {
                after_ms: CHECKPOINT_MS,
            });
        }
    }

    pub(crate) fn checkpoint_due(&mut self, out: &mut Out<'_, '_>) {
        self.checkpoints.timer_runs = false;
        self.checkpoint(out);
    }

    fn checkpoint(&mut self, out: &mut Out<'_, '_>) {
        let mut lines = Vec::new();
        for Unsaved {
            index,
            channel,
            part,
            text,
        } in std::mem::take(&mut self.checkpoints.unsaved)
        {
            let Some(item) = self.items.get(index) else { continue };
            if !self.checkpoints.stored.contains(&index) {
                self.checkpoints.stored.push(index);
                let line = ItemLine {
                    turn_id: self.id.clone(),
                    item: items::without_text(item),
                };
                lines.push(RolloutLine::ItemStarted(line));
            }
            let (turn_id, item_id) = (self.id.clone(), item.id().to_owned());
            lines.push(RolloutLine::ItemText(ItemText {
                turn_id,
                item_id,
                channel,
                index: part,
                text,
            }));
        }
        self.checkpoints.bytes = 0;
        if !lines.is_empty() {
            out.push(Effect::Checkpoint(lines));
        }
    }
}

fn set_final_text(item: &mut ThreadItem, done: &Value, raw_reasoning: bool) {
    match item {
        ThreadItem::AgentMessage(item) => {
            item.text = texts(&done["content"]).concat();
            if let Some(phase) = done["phase"].as_str() {
                item.phase = Some(phase.to_owned());
            }
        }
        ThreadItem::Reasoning(item) => {
            let summary = texts(&done["summary"]);
            if !summary.is_empty() {
                item.summary = summary;
            }
            let content = texts(&done["content"]);
            if raw_reasoning && !content.is_empty() {
                item.content = content;
            }
        }
        _ => {}
    }
}

/// The texts of a list of content parts; a refusal counts as text.
fn texts(parts: &Value) -> Vec<String> {
    let text = |part: &Value| part["text"].as_str().or(part["refusal"].as_str()).map(str::to_owned);
    parts
        .as_array()
        .map(|parts| parts.iter().filter_map(text).collect())
        .unwrap_or_default()
}
