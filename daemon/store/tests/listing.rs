//! The thread list: order, filters, pages in both directions.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use agentd_engine::rollout::RolloutLine;
use agentd_store::{ListPage, ListQuery, SortDirection, SortKey, Store, StoreError};
use common::*;
use tempfile::tempdir;

/// Five threads; `t4` was created last, `t0` was used last, `t1` and `t2` are equally recent.
async fn store() -> (tempfile::TempDir, Store) {
    let dir = tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for (n, used) in [(0, 900), (1, 200), (2, 200), (3, 400), (4, 500)] {
        let id = format!("t{n}");
        let mut lines = vec![
            RolloutLine::ThreadStarted(record(&id, 10 + n)),
            RolloutLine::Settings(settings(
                &format!("/w{}", n % 2),
                if n == 3 { "local" } else { "openai" },
            )),
        ];
        lines.extend(small_turn("turn", used, &format!("Question 100%_{n}"), "a"));
        store.append(&id, lines).await.unwrap();
    }
    store.append("t2", vec![named(Some("Second Thoughts"))]).await.unwrap();
    (dir, store)
}

fn ids(page: &ListPage) -> Vec<&str> {
    page.threads.iter().map(|t| t.record.id.as_str()).collect()
}

#[tokio::test]
async fn sorts_by_every_key() {
    let (_dir, store) = store().await;
    let list = |sort_key, direction| {
        let page = store
            .list_threads(&ListQuery {
                sort_key,
                direction,
                ..ListQuery::default()
            })
            .unwrap();
        ids(&page).join(" ")
    };
    assert_eq!(list(SortKey::Recency, SortDirection::Descending), "t0 t4 t3 t2 t1");
    assert_eq!(list(SortKey::UpdatedAt, SortDirection::Ascending), "t1 t2 t3 t4 t0");
    assert_eq!(list(SortKey::CreatedAt, SortDirection::Descending), "t4 t3 t2 t1 t0");
}

#[tokio::test]
async fn pages_forwards_and_back_over_equal_times() {
    let (_dir, store) = store().await;
    let page = |cursor: Option<String>, direction| {
        store
            .list_threads(&ListQuery {
                cursor,
                limit: 2,
                direction,
                ..ListQuery::default()
            })
            .unwrap()
    };
    let first = page(None, SortDirection::Descending);
    let second = page(first.next_cursor.clone(), SortDirection::Descending);
    let third = page(second.next_cursor.clone(), SortDirection::Descending);
    assert_eq!(
        [ids(&first), ids(&second), ids(&third)],
        [vec!["t0", "t4"], vec!["t3", "t2"], vec!["t1"]]
    );
    assert_eq!(third.next_cursor, None);
    let back = page(second.backwards_cursor, SortDirection::Ascending);
    assert_eq!(ids(&back), ["t3", "t4"]);
    assert_eq!(
        ids(&page(third.backwards_cursor, SortDirection::Ascending)),
        ["t1", "t2"]
    );
}

#[tokio::test]
async fn filters() {
    let (_dir, store) = store().await;
    let all = ListQuery::default;
    let strings = |s: &str| vec![s.to_owned()];
    let cases = [
        (
            ListQuery {
                cwds: strings("/w1"),
                ..all()
            },
            vec!["t3", "t1"],
        ),
        (
            ListQuery {
                cwds: vec!["/w1".to_owned(), "/w0".to_owned()],
                limit: 1,
                ..all()
            },
            vec!["t0"],
        ),
        (
            ListQuery {
                model_providers: strings("local"),
                ..all()
            },
            vec!["t3"],
        ),
        (
            ListQuery {
                sources: strings("cli"),
                ..all()
            },
            vec![],
        ),
        (
            ListQuery {
                search_term: Some("second".to_owned()),
                ..all()
            },
            vec!["t2"],
        ),
        (
            ListQuery {
                search_term: Some("100%_4".to_owned()),
                ..all()
            },
            vec!["t4"],
        ),
        (
            ListQuery {
                search_term: Some("100_".to_owned()),
                ..all()
            },
            vec![],
        ),
        (
            ListQuery {
                archived: true,
                ..all()
            },
            vec![],
        ),
    ];
    for (query, expected) in cases {
        assert_eq!(ids(&store.list_threads(&query).unwrap()), expected, "{query:?}");
    }
}

#[tokio::test]
async fn archived_threads_are_listed_apart_and_a_rebuild_keeps_the_mark() {
    let (_dir, store) = store().await;
    store.set_archived("t3", true).await.unwrap();
    store.rebuild_projections("t3").await.unwrap();
    let archived = ListQuery {
        archived: true,
        ..ListQuery::default()
    };
    assert_eq!(ids(&store.list_threads(&archived).unwrap()), ["t3"]);
    assert_eq!(
        ids(&store.list_threads(&ListQuery::default()).unwrap()),
        ["t0", "t4", "t2", "t1"]
    );
    store.set_archived("t3", false).await.unwrap();
    assert!(!store.thread("t3").unwrap().unwrap().archived);
    assert!(matches!(
        store.set_archived("nope", true).await,
        Err(StoreError::UnknownThread(_))
    ));
}

#[tokio::test]
async fn strange_cursors_are_named() {
    let (_dir, store) = store().await;
    let created = ListQuery {
        sort_key: SortKey::CreatedAt,
        limit: 1,
        ..ListQuery::default()
    };
    let foreign = store.list_threads(&created).unwrap().next_cursor.unwrap();
    for cursor in ["zzz", "", "r1", "r1.x", &foreign] {
        let query = ListQuery {
            cursor: Some(cursor.to_owned()),
            ..ListQuery::default()
        };
        assert_eq!(
            store.list_threads(&query).unwrap_err().to_string(),
            format!("invalid cursor: {cursor}")
        );
    }
}
