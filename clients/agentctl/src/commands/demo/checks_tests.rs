//! The comparison must be able to fail: each loss that is not allowed is shown to be noticed.

use agentd_protocol::item::AgentMessageItem;
use agentd_protocol::notification::ServerNotification;

use super::super::record::Record;
use super::*;

fn message(text: &str) -> ThreadItem {
    ThreadItem::AgentMessage(AgentMessageItem {
        id: "m".into(),
        text: text.into(),
        ..AgentMessageItem::default()
    })
}

fn shown(deltas: &[&str]) -> Record {
    let mut record = Record::default();
    let ids = || (String::new(), String::new());
    let (thread_id, turn_id) = ids();
    record.note(&ServerNotification::ItemStarted {
        item: message(""),
        thread_id,
        turn_id,
        started_at_ms: 0,
    });
    for delta in deltas {
        let (thread_id, turn_id) = ids();
        let delta = (*delta).to_owned();
        record.note(&ServerNotification::AgentMessageDelta {
            thread_id,
            turn_id,
            item_id: "m".into(),
            delta,
        });
    }
    record
}

fn outcome(deltas: &[&str], kept: Option<&str>, later: Duration) -> bool {
    let record = shown(deltas);
    let item = record.items.first().expect("one item");
    open_item(item, kept.map(message).as_ref(), Instant::now() + later).holds
}

#[test]
fn what_was_shown_must_be_kept() {
    let soon = Duration::ZERO;
    let late = Duration::from_secs(2);
    assert!(outcome(&["one ", "two"], Some("one two"), late), "nothing lost");
    assert!(
        outcome(&["one ", "two"], Some("one two three"), late),
        "kept but not shown yet"
    );
    assert!(outcome(&["one ", "two"], Some("one "), soon), "young text may be lost");
    assert!(!outcome(&["one ", "two"], Some("one "), late), "old text may not");
    assert!(!outcome(&["one ", "two"], Some("uno "), soon), "other text");
    assert!(!outcome(&["one ", "two"], None, soon), "no item at all");
    let much = "x".repeat(LOSS_BYTES + 1);
    assert!(!outcome(&[&much], Some(""), soon), "too much at once");
}
