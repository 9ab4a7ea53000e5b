//! Assistant messages and reasoning. Text is shown as it streams; what a completed item has beyond the streamed text is
//! added. Where the answer has a sink of its own, a message is held until it is known whether it is the last one.

use std::collections::HashMap;

use agentd_protocol::item::{AgentMessageItem, ReasoningItem};

use super::screen::Screen;

/// The messages and reasoning items of the running turn.
#[derive(Default)]
pub(crate) struct Messages {
    /// Open items and what was streamed of them; an entry lives from the first delta to the item's end.
    streamed: HashMap<String, String>,
    /// The last completed message, where the answer is apart.
    held: Option<String>,
}

impl Messages {
    /// More text of a message.
    pub(crate) fn more(&mut self, id: &str, delta: &str, screen: &mut Screen) {
        let fresh = !self.streamed.contains_key(id);
        self.streamed.entry(id.to_owned()).or_default().push_str(delta);
        if screen.answer_is_apart() {
            return;
        }
        if fresh {
            screen.gap();
        }
        screen.add(delta, |_, text| text.to_owned());
    }

    /// A message is complete.
    pub(crate) fn ended(&mut self, item: &AgentMessageItem, screen: &mut Screen) {
        let streamed = self.streamed.remove(&item.id);
        if screen.answer_is_apart() {
            self.release(screen);
            self.held = Some(item.text.clone());
            return;
        }
        if streamed.is_none() {
            screen.gap();
        }
        let rest = item
            .text
            .strip_prefix(streamed.as_deref().unwrap_or_default())
            .unwrap_or_default();
        screen.add(rest, |_, text| text.to_owned());
        screen.gap();
    }

    /// More of a reasoning summary, or a new part of it.
    pub(crate) fn more_reasoning(&mut self, id: &str, delta: &str, screen: &mut Screen) {
        let fresh = !self.streamed.contains_key(id);
        self.streamed.entry(id.to_owned()).or_default().push_str(delta);
        if fresh {
            screen.gap();
        }
        screen.add(delta, |style, text| style.dim(text).into_owned());
    }

    /// A part of a reasoning summary begins; the first one needs no separation.
    pub(crate) fn reasoning_part(&mut self, id: &str, screen: &mut Screen) {
        if self.streamed.contains_key(id) {
            screen.gap();
        }
    }

    /// A reasoning item is complete.
    pub(crate) fn reasoning_ended(&mut self, item: &ReasoningItem, screen: &mut Screen) {
        if self.streamed.remove(&item.id).is_none() {
            for part in item.summary.iter().filter(|part| !part.is_empty()) {
                screen.gap();
                screen.add(part, |style, text| style.dim(text).into_owned());
            }
        }
        screen.end_line();
    }

    /// The held message is not the answer: it becomes progress.
    pub(crate) fn release(&mut self, screen: &mut Screen) {
        if let Some(text) = self.held.take() {
            screen.gap();
            screen.add(&text, |_, text| text.to_owned());
            screen.gap();
        }
    }

    /// The held message is the answer. Open messages are forgotten.
    pub(crate) fn take_answer(&mut self) -> Option<String> {
        self.streamed.clear();
        self.held.take()
    }
}
