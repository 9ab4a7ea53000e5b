//! Small edits of shown items: closing them, growing their texts.
//!
//! Shared by live turns and by recovery, so that both make the same item of the same facts.

use agentd_protocol::item::{AgentMessageItem, CommandStatus, PatchStatus, ReasoningItem, ThreadItem};

use crate::rollout::TextChannel;

/// Live command output that an item keeps while the command runs; the end brings the exact text.
const MAX_LIVE_OUTPUT: usize = 1024 * 1024;

/// A new, empty assistant message.
pub(crate) fn agent_message(id: String, phase: Option<String>, ms: i64) -> ThreadItem {
    ThreadItem::AgentMessage(AgentMessageItem {
        id,
        phase,
        started_at_ms: Some(ms),
        ..AgentMessageItem::default()
    })
}

/// A new, empty reasoning item.
pub(crate) fn reasoning(id: String, ms: i64) -> ThreadItem {
    ThreadItem::Reasoning(ReasoningItem {
        id,
        started_at_ms: Some(ms),
        ..ReasoningItem::default()
    })
}

/// Marks an item as ended.
pub(crate) fn set_completed_at(item: &mut ThreadItem, ms: i64) {
    *completed_at(item) = Some(ms);
}

/// Makes a user message one that came and ended at this moment.
pub(crate) fn set_times(item: &mut ThreadItem, ms: i64) {
    if let ThreadItem::UserMessage(message) = item {
        message.started_at_ms = Some(ms);
    }
    set_completed_at(item, ms);
}

/// The item as it looks in `item/started`.
pub(crate) fn as_started(item: &ThreadItem) -> ThreadItem {
    let mut item = item.clone();
    *completed_at(&mut item) = None;
    item
}

fn completed_at(item: &mut ThreadItem) -> &mut Option<i64> {
    match item {
        ThreadItem::UserMessage(item) => &mut item.completed_at_ms,
        ThreadItem::AgentMessage(item) => &mut item.completed_at_ms,
        ThreadItem::Reasoning(item) => &mut item.completed_at_ms,
        ThreadItem::CommandExecution(item) => &mut item.completed_at_ms,
        ThreadItem::FileChange(item) => &mut item.completed_at_ms,
    }
}

/// The item without the texts that [`append_text`] adds.
pub(crate) fn without_text(item: &ThreadItem) -> ThreadItem {
    let mut item = item.clone();
    match &mut item {
        ThreadItem::AgentMessage(item) => item.text.clear(),
        ThreadItem::Reasoning(item) => {
            item.summary.clear();
            item.content.clear();
        }
        ThreadItem::CommandExecution(item) => item.aggregated_output = None,
        ThreadItem::UserMessage(_) | ThreadItem::FileChange(_) => {}
    }
    item
}

/// Adds text to an open item. `false`: the item keeps no more of it.
pub(crate) fn append_text(item: &mut ThreadItem, channel: TextChannel, index: u32, text: &str) -> bool {
    match (item, channel) {
        (ThreadItem::AgentMessage(item), TextChannel::Message) => item.text.push_str(text),
        (ThreadItem::Reasoning(item), TextChannel::ReasoningSummary) => part(&mut item.summary, index).push_str(text),
        (ThreadItem::Reasoning(item), TextChannel::ReasoningContent) => part(&mut item.content, index).push_str(text),
        (ThreadItem::CommandExecution(item), TextChannel::CommandOutput) => {
            let output = item.aggregated_output.get_or_insert_default();
            if output.len() + text.len() > MAX_LIVE_OUTPUT {
                return false;
            }
            output.push_str(text);
        }
        _ => return false,
    }
    true
}

/// Part `index` of a list of parts; missing ones before it are made (a server counts them one by one).
pub(crate) fn part(parts: &mut Vec<String>, index: u32) -> &mut String {
    /// A server that skips further ahead than this is not believed.
    const MAX_PARTS: usize = 1024;
    let index = usize::try_from(index).unwrap_or(usize::MAX).min(MAX_PARTS - 1);
    if parts.len() <= index {
        parts.resize(index + 1, String::new());
    }
    &mut parts[index]
}

/// Gives an item that was cut off a status that says so.
pub(crate) fn mark_failed(item: &mut ThreadItem) {
    match item {
        ThreadItem::CommandExecution(item) if item.status == CommandStatus::InProgress => {
            item.status = CommandStatus::Failed;
        }
        ThreadItem::FileChange(item) if item.status == PatchStatus::InProgress => item.status = PatchStatus::Failed,
        _ => {}
    }
}
