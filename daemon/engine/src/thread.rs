//! What a thread keeps between its turns.
//!
//! Everything here can be rebuilt from the rollout, apart from the numbers of requests and tool runs, which only have to
//! be fresh within one loaded thread.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use agentd_protocol::item::ThreadItem;
use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::usage::ThreadTokenUsage;
use serde_json::value::RawValue;

use crate::history::History;
use crate::input::ModelFacts;
use crate::out::Out;
use crate::rollout::{ContextSnapshot, ResponseItemLine, RolloutLine, ThreadRecord};

/// State that outlives a turn.
#[derive(Debug)]
pub(crate) struct ThreadState {
    pub(crate) record: ThreadRecord,
    pub(crate) settings: ThreadSettings,
    pub(crate) history: History,
    /// What the model has been told; `None` before the first turn.
    pub(crate) context: Option<ContextSnapshot>,
    pub(crate) usage: ThreadTokenUsage,
    pub(crate) name: Option<String>,
    pub(crate) preview: Option<String>,
    pub(crate) updated_at_ms: i64,
    /// What the user allowed for the session; see [`crate::approval`].
    pub(crate) grants: BTreeSet<String>,
    /// Whether the last turn failed.
    pub(crate) failed: bool,
    /// Ids of all shown items so far: a model may repeat one, clients must not see it twice.
    item_ids: HashSet<String>,
    /// By model: instructions stay what they were in the model's first request.
    instructions: BTreeMap<String, String>,
    last_request: u64,
    last_tool: u64,
}

impl ThreadState {
    pub(crate) fn new(record: ThreadRecord, settings: ThreadSettings) -> Self {
        Self {
            updated_at_ms: record.created_at_ms,
            record,
            settings,
            history: History::default(),
            context: None,
            usage: ThreadTokenUsage::default(),
            name: None,
            preview: None,
            grants: BTreeSet::new(),
            failed: false,
            item_ids: HashSet::new(),
            instructions: BTreeMap::new(),
            last_request: 0,
            last_tool: 0,
        }
    }

    pub(crate) fn next_request(&mut self) -> u64 {
        self.last_request += 1;
        self.last_request
    }

    pub(crate) fn next_tool(&mut self) -> u64 {
        self.last_tool += 1;
        self.last_tool
    }

    /// Adds an item to the history and to the rollout.
    pub(crate) fn append_history(&mut self, turn_id: &str, item: Box<RawValue>, out: &mut Out<'_, '_>) {
        self.history.push(&item);
        out.append(RolloutLine::ResponseItem(ResponseItemLine {
            turn_id: turn_id.to_owned(),
            item,
        }));
    }

    /// The wanted id, or one made from it that no item of the thread has.
    pub(crate) fn unique_item_id(&mut self, wanted: Option<&str>, out: &mut Out<'_, '_>) -> String {
        let base = match wanted {
            Some(id) if !id.is_empty() => id.to_owned(),
            _ => out.new_id(),
        };
        let mut id = base.clone();
        let mut copy = 2;
        while !self.item_ids.insert(id.clone()) {
            id = format!("{base}-{copy}");
            copy += 1;
        }
        id
    }

    /// Takes note of an item that the rollout holds.
    pub(crate) fn note_item(&mut self, item: &ThreadItem) {
        self.item_ids.insert(item.id().to_owned());
        if let (None, ThreadItem::UserMessage(message)) = (&self.preview, item) {
            self.preview = Some(message.preview());
        }
    }

    /// The instructions for the current model.
    pub(crate) fn instructions(&mut self, model: &ModelFacts) -> String {
        if let Some(text) = &self.record.base_instructions {
            return text.clone();
        }
        self.instructions
            .entry(self.settings.model.clone())
            .or_insert_with(|| model.instructions.clone())
            .clone()
    }
}
