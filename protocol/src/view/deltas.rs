//! How open items grow. Limits keep a wild server from filling a client's memory.

use crate::item::ThreadItem;
use crate::notification::ServerNotification;

/// Parts of a reasoning summary or of raw reasoning beyond this many are not shown before the item is complete.
const MAX_PARTS: usize = 1_024;

/// Output of a running command beyond this many bytes is not shown before the item is complete; the complete item holds
/// head and tail.
const MAX_OUTPUT: usize = 1024 * 1024;

/// What is added to an item.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delta<'a> {
    /// Text of a message.
    Message(&'a str),
    /// Text of a part of a reasoning summary; empty if the part only begins.
    Summary(u32, &'a str),
    /// Text of a part of raw reasoning.
    Reasoning(u32, &'a str),
    /// Output of a command.
    Output(&'a str),
}

impl<'a> Delta<'a> {
    /// Turn id, item id and delta, if the notification is one.
    pub(super) fn of(notification: &'a ServerNotification) -> Option<(&'a str, &'a str, Self)> {
        use ServerNotification as N;
        Some(match notification {
            N::AgentMessageDelta {
                turn_id,
                item_id,
                delta,
                ..
            } => (turn_id, item_id, Self::Message(delta)),
            N::ReasoningSummaryPartAdded {
                turn_id,
                item_id,
                summary_index,
                ..
            } => (turn_id, item_id, Self::Summary(*summary_index, "")),
            N::ReasoningSummaryTextDelta {
                turn_id,
                item_id,
                delta,
                summary_index,
                ..
            } => (turn_id, item_id, Self::Summary(*summary_index, delta)),
            N::ReasoningTextDelta {
                turn_id,
                item_id,
                delta,
                content_index,
                ..
            } => (turn_id, item_id, Self::Reasoning(*content_index, delta)),
            N::CommandExecutionOutputDelta {
                turn_id,
                item_id,
                delta,
                ..
            } => (turn_id, item_id, Self::Output(delta)),
            _ => return None,
        })
    }
}

/// Adds a delta to an item of its kind; to any other it does nothing.
pub(super) fn grow(item: &mut ThreadItem, delta: Delta<'_>) {
    match (item, delta) {
        (ThreadItem::AgentMessage(message), Delta::Message(text)) => message.text.push_str(text),
        (ThreadItem::Reasoning(reasoning), Delta::Summary(index, text)) => push(&mut reasoning.summary, index, text),
        (ThreadItem::Reasoning(reasoning), Delta::Reasoning(index, text)) => push(&mut reasoning.content, index, text),
        (ThreadItem::CommandExecution(command), Delta::Output(text)) => {
            let output = command.aggregated_output.get_or_insert_default();
            if output.len() + text.len() <= MAX_OUTPUT {
                output.push_str(text);
            }
        }
        _ => {}
    }
}

fn push(parts: &mut Vec<String>, index: u32, text: &str) {
    let Ok(index) = usize::try_from(index) else {
        return;
    };
    if index >= MAX_PARTS {
        return;
    }
    if index >= parts.len() {
        parts.resize(index + 1, String::new());
    }
    if let Some(part) = parts.get_mut(index) {
        part.push_str(text);
    }
}
