//! Forks share what they do not change, page by page, and keep it through a rebuild.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use agentd_engine::rollout::RolloutLine;
use agentd_protocol::turn::{ItemsView, TurnStatus};
use agentd_store::{ForkPoint, PageQuery, SortDirection, Store, StoreError};
use common::*;
use tempfile::tempdir;

fn point(source: &str, last: Option<&str>) -> ForkPoint {
    ForkPoint {
        source_id: source.into(),
        last_turn_id: last.map(str::to_owned),
    }
}

fn ids(store: &Store, thread: &str) -> Vec<String> {
    store.turns(thread).unwrap().into_iter().map(|turn| turn.id).collect()
}

/// `a`: t1 t2 t3; `b`: t1 t2 u1; `c`: t1 t2 u1 v1.
async fn family() -> (tempfile::TempDir, Store) {
    let dir = tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut lines = beginning("a", 1);
    for (n, turn) in ["t1", "t2", "t3"].into_iter().enumerate() {
        lines.extend(small_turn(turn, 10_000 * i64::try_from(n + 1).unwrap(), turn, "answer"));
    }
    lines.insert(2, named(Some("source")));
    store.append("a", lines).await.unwrap();
    store
        .fork("b", point("a", Some("t2")), beginning("b", 50))
        .await
        .unwrap();
    store
        .append("b", small_turn("u1", 60_000, "u1", "answer"))
        .await
        .unwrap();
    store.fork("c", point("b", None), beginning("c", 70)).await.unwrap();
    store
        .append("c", small_turn("v1", 80_000, "v1", "answer"))
        .await
        .unwrap();
    (dir, store)
}

#[tokio::test]
async fn a_fork_of_a_fork_has_one_history() {
    let (_dir, store) = family().await;
    assert_eq!(ids(&store, "a"), ["t1", "t2", "t3"]);
    assert_eq!(ids(&store, "c"), ["t1", "t2", "u1", "v1"]);
    let lines = store.rollout("c").unwrap();
    assert!(matches!(&lines[0], RolloutLine::ThreadStarted(record) if record.id == "c"));
    let kinds: Vec<&str> = lines.iter().map(RolloutLine::kind).collect();
    assert_eq!(kinds[..3], ["thread_started", "settings", "turn_started"]);
    assert_eq!(kinds.iter().filter(|kind| **kind == "turn_completed").count(), 4);
    assert!(!kinds.contains(&"thread_named"));
    let row = store.thread("c").unwrap().unwrap();
    assert_eq!(
        (row.preview.as_str(), row.name, row.recency_at_ms),
        ("t1", None, 80_000)
    );
    // Cut before the place where its source was forked: the oldest owner is asked.
    store
        .fork("d", point("c", Some("t1")), beginning("d", 90))
        .await
        .unwrap();
    assert_eq!(ids(&store, "d"), ["t1"]);
}

#[tokio::test]
async fn a_rebuild_and_a_cold_start_change_nothing() {
    let (dir, store) = family().await;
    let all = |store: &Store| {
        let rows: Vec<String> = ["a", "b", "c"]
            .iter()
            .map(|id| format!("{:?} {:?}", store.thread(id).unwrap(), store.turns(id).unwrap()))
            .collect();
        rows
    };
    let before = all(&store);
    for id in ["c", "b", "a"] {
        store.rebuild_projections(id).await.unwrap();
    }
    assert_eq!(all(&store), before);
    store
        .append("c", small_turn("v2", 90_000, "v2", "answer"))
        .await
        .unwrap();
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    store
        .append("c", small_turn("v3", 95_000, "v3", "answer"))
        .await
        .unwrap();
    assert_eq!(ids(&store, "c"), ["t1", "t2", "u1", "v1", "v2", "v3"]);
}

#[tokio::test]
async fn what_runs_is_not_shared() {
    let (_dir, store) = family().await;
    store
        .append(
            "c",
            vec![
                turn_started("v2", 90_000),
                completed("v2", user("x", "running")),
                asked("p", "v2", "x", 1),
            ],
        )
        .await
        .unwrap();
    store.fork("d", point("c", None), beginning("d", 95)).await.unwrap();
    assert_eq!(ids(&store, "d"), ["t1", "t2", "u1", "v1"]);
    assert!(store.unfinished_threads().unwrap() == ["c"]);
    for last in ["v2", "nope"] {
        let refused = store.fork("e", point("c", Some(last)), beginning("e", 96)).await;
        assert!(matches!(refused, Err(StoreError::UnknownTurn(id)) if id == last));
    }
    assert!(store.thread("e").unwrap().is_none(), "nothing was stored");
    let refused = store.fork("d", point("c", None), beginning("d", 97)).await;
    assert!(matches!(refused, Err(StoreError::ThreadExists(_))));
    let refused = store.fork("e", point("zzz", None), beginning("e", 98)).await;
    assert!(matches!(refused, Err(StoreError::UnknownThread(_))));
}

#[tokio::test]
async fn approvals_stay_with_the_thread_they_were_given_in() {
    let (_dir, store) = family().await;
    let mut lines = vec![
        turn_started("v2", 90_000),
        asked("p", "v2", "x", 1),
        answered("p", "accept", 2),
    ];
    lines.push(turn_completed("v2", TurnStatus::Completed, 91_000));
    store.append("c", lines).await.unwrap();
    let (shared, turns) = store.shared(&point("c", None)).unwrap();
    assert_eq!(turns.len(), 5);
    assert!(shared.iter().all(|line| !line.kind().starts_with("approval")));
}

#[tokio::test]
async fn pages_cross_from_thread_to_thread() {
    let (_dir, store) = family().await;
    for direction in [SortDirection::Ascending, SortDirection::Descending] {
        for limit in 1..=5 {
            let mut query = PageQuery {
                cursor: None,
                limit,
                direction,
            };
            let mut seen = Vec::new();
            loop {
                let page = store.turns_page("c", &query, ItemsView::Summary).unwrap();
                assert!(page.entries.iter().all(|turn| turn.items.len() == 2));
                seen.extend(page.entries.into_iter().map(|turn| turn.id));
                query.cursor = page.next_cursor;
                if query.cursor.is_none() {
                    break;
                }
            }
            if direction == SortDirection::Descending {
                seen.reverse();
            }
            assert_eq!(seen, ["t1", "t2", "u1", "v1"]);
        }
    }
    let page = store.items_page("c", Some("u1"), &PageQuery::default()).unwrap();
    assert_eq!(page.entries.len(), 2);
    let missing = store.items_page("c", Some("t3"), &PageQuery::default());
    assert!(
        matches!(missing, Err(StoreError::UnknownTurn(_))),
        "t3 is of the source alone"
    );
}
