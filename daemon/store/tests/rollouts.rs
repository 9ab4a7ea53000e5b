//! What is appended is what is read, through crashes and from many writers at once.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs;

use agentd_engine::rollout::{RolloutLine, TextChannel};
use agentd_protocol::item::ThreadItem;
use agentd_protocol::turn::{ItemsView, TurnStatus};
use agentd_store::{FILE_NAME, Store, StoreError};
use common::*;
use tempfile::tempdir;

async fn open_with(lines: Vec<RolloutLine>) -> (tempfile::TempDir, Store) {
    let dir = tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store.append("t", beginning("t", 1_000)).await.unwrap();
    store.append("t", lines).await.unwrap();
    (dir, store)
}

#[tokio::test]
async fn lines_come_back_in_order_and_byte_for_byte() {
    let raw = r#"{"type":"message", "b":1.0,  "a":[ "\u00e9" ]}"#;
    let lines = vec![turn_started("t1", 2_000), response_item("t1", raw), named(Some("n"))];
    let (_dir, store) = open_with(lines.clone()).await;
    let expected = [beginning("t", 1_000), lines].concat();
    let read = store.rollout("t").unwrap();
    assert_eq!(printed(&read), printed(&expected));
    assert!(matches!(&read[3], RolloutLine::ResponseItem(l) if l.item.get() == raw));
}

#[tokio::test]
async fn the_row_and_the_turn_follow_the_lines() {
    let (_dir, store) = open_with(small_turn("t1", 2_000, &"é".repeat(600), "answer")).await;
    let row = store.thread("t").unwrap().unwrap();
    assert_eq!(row.preview, "é".repeat(500));
    assert_eq!((row.recency_at_ms, row.updated_at_ms), (2_000, 3_500));
    assert_eq!(row.last_turn_status, Some(TurnStatus::Completed));
    assert_eq!(row.usage.unwrap().total.total_tokens, 10);
    let turn = &store.turns("t").unwrap()[0];
    assert_eq!(
        (turn.started_at, turn.completed_at, turn.duration_ms),
        (Some(2), Some(3), Some(1500))
    );
    assert_eq!((turn.items_view, turn.root_turn_id.as_str()), (ItemsView::Full, "t1"));
    assert_eq!(turn.items[1], agent("t1-a", "answer"));
    assert!(store.unfinished_threads().unwrap().is_empty());
}

#[tokio::test]
async fn one_call_id_twice_gives_two_items() {
    let (_dir, store) = open_with(vec![
        turn_started("t1", 2_000),
        started("t1", command("call", "one")),
        started("t1", command("call", "two")),
        completed("t1", command("call", "two done")),
        completed("t1", command("call", "one done")),
        completed("t1", command("call", "three")),
    ])
    .await;
    let turns = store.turns("t").unwrap();
    let commands: Vec<_> = turns[0]
        .items
        .iter()
        .map(|i| match i {
            ThreadItem::CommandExecution(c) => c.command.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(commands, ["one done", "two done", "three"]);
}

#[tokio::test]
async fn text_of_open_items_is_shown_and_goes_when_they_end() {
    let (_dir, store) = open_with(vec![
        turn_started("t1", 2_000),
        started("t1", reasoning("r")),
        started("t1", agent("a", "He")),
        text("t1", "a", TextChannel::Message, 0, "ll"),
        text("t1", "r", TextChannel::ReasoningSummary, 1, "think"),
    ])
    .await;
    store
        .append("t", vec![text("t1", "a", TextChannel::Message, 0, "o")])
        .await
        .unwrap();
    let items = store.turns("t").unwrap().remove(0).items;
    assert!(matches!(&items[0], ThreadItem::Reasoning(r) if r.summary == ["", "think"]));
    assert_eq!(items[1], agent("a", "Hello"));
    let kinds = |store: &Store| {
        store
            .rollout("t")
            .unwrap()
            .iter()
            .map(RolloutLine::kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&store)[5..], ["item_text", "item_text", "item_text"]);
    store
        .append("t", vec![completed("t1", agent("a", "Hello!"))])
        .await
        .unwrap();
    assert_eq!(kinds(&store)[5..], ["item_completed", "item_text"]);
    store
        .append("t", vec![turn_completed("t1", TurnStatus::Interrupted, 3_000)])
        .await
        .unwrap();
    assert_eq!(kinds(&store)[5..], ["item_completed", "turn_completed"]);
    // The reasoning item was never completed: the daemon has to see that.
    assert_eq!(store.unfinished_threads().unwrap(), ["t"]);
    store.append("t", vec![completed("t1", reasoning("r"))]).await.unwrap();
    assert!(store.unfinished_threads().unwrap().is_empty());
}

#[tokio::test]
async fn threads_begin_once_and_properly() {
    let (_dir, store) = open_with(vec![named(None)]).await;
    let result = store.append("t", beginning("t", 1)).await;
    assert!(matches!(result, Err(StoreError::ThreadExists(_))));
    let result = store.append("u", beginning("u", 1)[..1].to_vec()).await;
    assert!(matches!(result, Err(StoreError::IncompleteThread(_))));
    let result = store.append("u", vec![named(None)]).await;
    assert!(matches!(result, Err(StoreError::UnknownThread(_))));
    assert!(matches!(store.turns("u"), Err(StoreError::UnknownThread(_))));
    assert_eq!(store.thread("u").unwrap(), None);
    assert_eq!(store.rollout("t").unwrap().len(), 3);
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_crash() {
    let lines = vec![
        turn_started("t1", 2_000),
        started("t1", command("call", "make")),
        text("t1", "call", TextChannel::CommandOutput, 0, "cc"),
    ];
    let (dir, store) = open_with(lines).await;
    // What a killed process leaves behind: the files as they are now, without any goodbye.
    let after = tempdir().unwrap();
    for suffix in ["", "-wal"] {
        let name = format!("{FILE_NAME}{suffix}");
        fs::copy(dir.path().join(&name), after.path().join(&name)).unwrap();
    }
    let reopened = Store::open(after.path()).unwrap();
    assert_eq!(
        printed(&reopened.rollout("t").unwrap()),
        printed(&store.rollout("t").unwrap())
    );
    assert_eq!(reopened.unfinished_threads().unwrap(), ["t"]);
    let turn = &reopened.turns("t").unwrap()[0];
    assert_eq!(turn.status, TurnStatus::InProgress);
    assert!(matches!(&turn.items[0], ThreadItem::CommandExecution(c) if c.aggregated_output.as_deref() == Some("cc")));
    // The next daemon repairs by appending.
    let repair = vec![
        completed("t1", command("call", "make")),
        turn_completed("t1", TurnStatus::Interrupted, 3_000),
    ];
    reopened.append("t", repair).await.unwrap();
    assert_eq!(reopened.turns("t").unwrap()[0].items.len(), 1);
    assert!(reopened.unfinished_threads().unwrap().is_empty());
}

#[tokio::test]
async fn a_log_cut_in_the_middle_loses_whole_appends_only() {
    let (dir, store) = open_with(small_turn("t0", 2_000, "q", "a")).await;
    for n in 1..20 {
        store
            .append("t", small_turn(&format!("t{n}"), 2_000 + n, "q", "a"))
            .await
            .unwrap();
    }
    let wal = fs::read(dir.path().join(format!("{FILE_NAME}-wal"))).unwrap();
    for part in [3, 5, 7] {
        let after = tempdir().unwrap();
        fs::copy(dir.path().join(FILE_NAME), after.path().join(FILE_NAME)).unwrap();
        fs::write(
            after.path().join(format!("{FILE_NAME}-wal")),
            &wal[..wal.len() * part / 8],
        )
        .unwrap();
        let reopened = Store::open(after.path()).unwrap();
        let lines = reopened.rollout("t").unwrap().len();
        let turns = reopened.turns("t").unwrap();
        assert_eq!(lines, 2 + 6 * turns.len());
        assert!(
            turns
                .iter()
                .all(|t| t.status == TurnStatus::Completed && t.items.len() == 2)
        );
        assert!(lines < 122);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_writers_at_once_while_others_read() {
    let dir = tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut tasks = Vec::new();
    for n in 0..50 {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            let id = format!("t{n}");
            store.append(&id, beginning(&id, n)).await.unwrap();
            for turn in 0..5 {
                store
                    .append(&id, small_turn(&format!("{turn}"), 10, "q", "a"))
                    .await
                    .unwrap();
                let reader = store.clone();
                let thread = id.clone();
                let seen = tokio::task::spawn_blocking(move || reader.turns(&thread))
                    .await
                    .unwrap()
                    .unwrap();
                assert_eq!(seen.len(), turn + 1);
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    for n in 0..50 {
        assert_eq!(store.rollout(&format!("t{n}")).unwrap().len(), 2 + 5 * 6);
    }
}
