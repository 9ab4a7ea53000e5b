//! What the person has seen: each item with the text that was shown of it and when it arrived.

use std::time::Instant;

use agentd_protocol::item::ThreadItem;
use agentd_protocol::notification::ServerNotification;

/// One item as it was shown.
pub(super) struct Shown {
    pub(super) id: String,
    /// The text that streamed.
    pub(super) text: String,
    /// When the text reached which length (bytes); one entry per delta, for the length of one turn.
    pub(super) arrivals: Vec<(Instant, usize)>,
    /// The item as it began.
    pub(super) begun: ThreadItem,
    /// The item as it was completed.
    pub(super) complete: Option<ThreadItem>,
}

impl Shown {
    pub(super) fn is_open_command(&self) -> bool {
        self.complete.is_none() && matches!(self.begun, ThreadItem::CommandExecution(_))
    }

    pub(super) fn is_open_message(&self) -> bool {
        self.complete.is_none() && matches!(self.begun, ThreadItem::AgentMessage(_))
    }

    /// What kind of item it is, for people.
    pub(super) fn kind(&self) -> &'static str {
        match self.begun {
            ThreadItem::UserMessage(_) => "user message",
            ThreadItem::AgentMessage(_) => "streaming message",
            ThreadItem::Reasoning(_) => "streaming reasoning",
            ThreadItem::CommandExecution(_) => "running command",
            ThreadItem::FileChange(_) => "patch",
        }
    }
}

/// All items of a turn, in the order they began.
#[derive(Default)]
pub(super) struct Record {
    pub(super) items: Vec<Shown>,
}

impl Record {
    /// Takes note of what was just shown.
    pub(super) fn note(&mut self, notification: &ServerNotification) {
        use ServerNotification as N;
        match notification {
            N::ItemStarted { item, .. } => self.begin(item),
            N::ItemCompleted { item, .. } => self.complete(item),
            N::AgentMessageDelta { item_id, delta, .. }
            | N::ReasoningSummaryTextDelta { item_id, delta, .. }
            | N::CommandExecutionOutputDelta { item_id, delta, .. } => self.append(item_id, delta),
            _ => {}
        }
    }

    /// Whether a command runs and has written something.
    pub(super) fn has_running_command(&self) -> bool {
        self.items
            .iter()
            .any(|item| item.is_open_command() && !item.text.is_empty())
    }

    /// Whether a message streams.
    pub(super) fn has_streaming_message(&self) -> bool {
        self.items
            .iter()
            .any(|item| item.is_open_message() && !item.text.is_empty())
    }

    /// One line for people.
    pub(super) fn summary(&self) -> String {
        let complete = self.items.iter().filter(|item| item.complete.is_some()).count();
        let mut text = format!("{complete} completed item(s) shown so far");
        for open in self.items.iter().filter(|item| item.complete.is_none()) {
            text.push_str(&format!(", a {} ({} bytes)", open.kind(), open.text.len()));
        }
        text
    }

    fn begin(&mut self, item: &ThreadItem) {
        self.items.push(Shown {
            id: item.id().to_owned(),
            text: String::new(),
            arrivals: Vec::new(),
            begun: item.clone(),
            complete: None,
        });
    }

    fn complete(&mut self, item: &ThreadItem) {
        if !self.items.iter().any(|shown| shown.id == item.id()) {
            self.begin(item);
        }
        if let Some(shown) = self.items.iter_mut().find(|shown| shown.id == item.id()) {
            shown.complete = Some(item.clone());
        }
    }

    fn append(&mut self, id: &str, delta: &str) {
        if let Some(shown) = self.items.iter_mut().find(|shown| shown.id == id) {
            shown.text.push_str(delta);
            shown.arrivals.push((Instant::now(), shown.text.len()));
        }
    }
}
