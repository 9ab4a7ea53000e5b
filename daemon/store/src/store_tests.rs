//! Tests that need to look inside: generated rollouts against rebuild and cold start, faults, the queue.

#[path = "../tests/common/mod.rs"]
mod common;

use agentd_engine::rollout::TextChannel;
use agentd_protocol::turn::TurnStatus;
use common::*;
use proptest::prelude::*;
use tempfile::tempdir;

use super::*;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// Everything a reader can learn of a thread.
fn answers(store: &Store, id: &str) -> String {
    format!(
        "{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}",
        store.thread(id).unwrap(),
        store.turns(id).unwrap(),
        store.approvals(id).unwrap(),
        store.unfinished_threads().unwrap(),
        printed(&store.rollout(id).unwrap()),
    )
}

/// Lines with few ids, so that repetitions, strays and late lines are common.
fn any_line() -> impl Strategy<Value = RolloutLine> {
    let turn = || prop::sample::select(vec!["t0", "t1", "t2"]);
    let id = || prop::sample::select(vec!["a", "b"]);
    let status = prop::sample::select(vec![TurnStatus::Completed, TurnStatus::Failed, TurnStatus::Interrupted]);
    prop_oneof![
        3 => (turn(), 100..900i64).prop_map(|(t, ms)| turn_started(t, ms)),
        2 => (turn(), status, 100..900i64).prop_map(|(t, s, ms)| turn_completed(t, s, ms)),
        3 => (turn(), id()).prop_map(|(t, i)| started(t, command(i, "ls"))),
        4 => (turn(), id()).prop_map(|(t, i)| completed(t, command(i, "ls -l"))),
        2 => (turn(), id()).prop_map(|(t, i)| started(t, agent(i, ""))),
        2 => (turn(), id()).prop_map(|(t, i)| completed(t, user(i, "hello"))),
        3 => (turn(), id()).prop_map(|(t, i)| text(t, i, TextChannel::CommandOutput, 0, "x")),
        1 => (id(), turn()).prop_map(|(i, t)| asked(i, t, "a", 5)),
        1 => id().prop_map(|i| answered(i, "accept", 6)),
        1 => turn().prop_map(|t| usage(t, 7)),
        1 => prop::option::of(Just("name")).prop_map(named),
        1 => Just(RolloutLine::Settings(settings("/other", "local"))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Rebuilding changes no answer, and a writer that starts cold before every append writes what a warm one writes.
    #[test]
    fn rebuild_and_cold_start_agree_with_the_live_writer(
        appends in prop::collection::vec(prop::collection::vec(any_line(), 1..5), 1..8),
    ) {
        let (warm_dir, cold_dir) = (tempdir().unwrap(), tempdir().unwrap());
        let warm = Store::open(warm_dir.path()).unwrap();
        let rt = runtime();
        rt.block_on(async {
            warm.append("t", beginning("t", 50)).await.unwrap();
            Store::open(cold_dir.path()).unwrap().append("t", beginning("t", 50)).await.unwrap();
            for lines in &appends {
                warm.append("t", lines.clone()).await.unwrap();
                Store::open(cold_dir.path()).unwrap().append("t", lines.clone()).await.unwrap();
            }
            let live = answers(&warm, "t");
            assert_eq!(live, answers(&Store::open(cold_dir.path()).unwrap(), "t"));
            warm.rebuild_projections("t").await.unwrap();
            assert_eq!(live, answers(&warm, "t"));
        });
    }
}

#[test]
fn a_full_disk_is_typed_and_stores_nothing_of_the_request() {
    let dir = tempdir().unwrap();
    let store = Store::open_limited(dir.path(), Some(40)).unwrap();
    runtime().block_on(async {
        store.append("t", beginning("t", 1)).await.unwrap();
        let big = format!("{{\"x\":\"{}\"}}", "y".repeat(200_000));
        let error = store
            .append("t", vec![named(Some("n")), response_item("t0", &big)])
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
        assert_eq!(store.thread("t").unwrap().unwrap().name, None);
        store.append("t", vec![named(Some("small"))]).await.unwrap();
    });
    assert_eq!(store.thread("t").unwrap().unwrap().name.as_deref(), Some("small"));
    assert_eq!(store.rollout("t").unwrap().len(), 3);
}

#[test]
fn a_bad_request_does_not_fail_its_neighbours() {
    let dir = tempdir().unwrap();
    let conn = connection::open_writer(dir.path(), None).unwrap();
    // Nobody reads the queue until everything is in it, so all requests are of one batch.
    let mut waits = Vec::new();
    let mut requests = Vec::new();
    for (thread, lines) in [
        ("good", beginning("good", 1)),
        ("bad", vec![named(None)]),
        ("good", vec![named(Some("n"))]),
        ("good", beginning("good", 2)),
        ("also good", beginning("also good", 3)),
    ] {
        let (ack, done) = oneshot::channel();
        let write = Write::Append {
            thread_id: thread.to_owned(),
            lines: rollout_line::encode(lines).unwrap(),
        };
        requests.push(Request { write, ack: Some(ack) });
        waits.push(done);
    }
    writer::write_batch(conn, requests);
    let results: Vec<_> = waits.into_iter().map(|w| w.blocking_recv().unwrap()).collect();
    assert!(matches!(
        results.as_slice(),
        [
            Ok(()),
            Err(StoreError::UnknownThread(_)),
            Ok(()),
            Err(StoreError::ThreadExists(_)),
            Ok(())
        ]
    ));
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.rollout("good").unwrap().len(), 3);
    assert_eq!(store.rollout("also good").unwrap().len(), 2);
}

#[test]
fn forgotten_places_are_loaded_again() {
    let dir = tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    runtime().block_on(async {
        for round in 0..2 {
            for n in 0..300 {
                let id = format!("t{n}");
                let lines = if round == 0 {
                    beginning(&id, 1)
                } else {
                    small_turn("turn", 2, "q", "a")
                };
                store.append(&id, lines).await.unwrap();
            }
        }
    });
    assert_eq!(store.rollout("t0").unwrap().len(), 8);
    assert_eq!(store.turns("t299").unwrap()[0].items.len(), 2);
}

#[test]
fn a_detached_append_is_refused_when_the_queue_is_full() {
    let dir = tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    runtime().block_on(store.append("t", beginning("t", 1))).unwrap();
    // A second connection holds the write lock, so the writer stands still and the queue fills.
    let blocker = connection::open_writer(dir.path(), None).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut taken = 0;
    let refusal = loop {
        match store.append_detached("t", vec![named(None)]) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 10_000, "the queue has no limit");
    };
    blocker.execute_batch("ROLLBACK").unwrap();
    assert!(matches!(refusal, StoreError::Busy));
    store.close();
    assert!(matches!(
        store.append_detached("t", vec![named(None)]),
        Err(StoreError::Closed)
    ));
    assert_eq!(Store::open(dir.path()).unwrap().rollout("t").unwrap().len(), 2 + taken);
}
