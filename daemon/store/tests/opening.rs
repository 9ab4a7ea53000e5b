//! Opening and closing: permissions, versions, damage, databases of older versions.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use agentd_protocol::turn::TurnStatus;
use agentd_store::{FILE_NAME, ForkPoint, ListQuery, SCHEMA_VERSION, Store, StoreError};
use common::*;
use tempfile::tempdir;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn files_belong_to_the_owner_alone() {
    let dir = tempdir().unwrap();
    let home = dir.path().join("new/home");
    let store = Store::open(&home).unwrap();
    store.append("t", beginning("t", 1)).await.unwrap();
    assert_eq!(mode(&home), 0o700);
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(&home.join(format!("{FILE_NAME}{suffix}"))), 0o600, "{suffix}");
    }
    drop(store);
    fs::set_permissions(home.join(FILE_NAME), fs::Permissions::from_mode(0o644)).unwrap();
    let _store = Store::open(&home).unwrap();
    assert_eq!(mode(&home.join(FILE_NAME)), 0o600);
}

/// The schema version lies big-endian at byte 60 of the file.
fn set_version(file: &Path, version: u32) {
    let mut bytes = fs::read(file).unwrap();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    let dir = tempdir().unwrap();
    Store::open(dir.path()).unwrap().close();
    let file = dir.path().join(FILE_NAME);
    set_version(&file, 99);
    let before = fs::read(&file).unwrap();
    match Store::open(dir.path()) {
        Err(StoreError::NewerDatabase { found: 99, supported }) => assert_eq!(supported, SCHEMA_VERSION),
        other => panic!("{:?}", other.err()),
    }
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_damaged_file_is_typed() {
    let dir = tempdir().unwrap();
    fs::write(
        dir.path().join(FILE_NAME),
        "this is no database, and it is long enough to have a header".repeat(100),
    )
    .unwrap();
    let error = Store::open(dir.path()).err().unwrap();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn closing_flushes_and_ends() {
    let dir = tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store.append("t", beginning("t", 1)).await.unwrap();
    store.append_detached("t", vec![named(Some("n"))]).unwrap();
    store.close();
    store.close();
    assert!(matches!(
        store.append("t", vec![named(None)]).await,
        Err(StoreError::Closed)
    ));
    assert!(matches!(store.thread("t"), Err(StoreError::Closed)));
    assert!(!dir.path().join(format!("{FILE_NAME}-wal")).exists());
    assert_eq!(
        Store::open(dir.path())
            .unwrap()
            .thread("t")
            .unwrap()
            .unwrap()
            .name
            .as_deref(),
        Some("n")
    );
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/databases").join(name)
}

#[tokio::test]
async fn a_database_of_version_1_loads() {
    let dir = tempdir().unwrap();
    fs::copy(fixture("v1.sqlite"), dir.path().join(FILE_NAME)).unwrap();
    let store = Store::open(dir.path()).unwrap();
    let page = store.list_threads(&ListQuery::default()).unwrap();
    let names: Vec<_> = page
        .threads
        .iter()
        .map(|t| (t.record.id.as_str(), t.name.as_deref()))
        .collect();
    assert_eq!(names, [("thread-2", None), ("thread-1", Some("A name"))]);
    assert_eq!(store.unfinished_threads().unwrap(), ["thread-2"]);
    let turns = store.turns("thread-1").unwrap();
    assert_eq!(
        turns.iter().map(|t| (t.status, t.items.len())).collect::<Vec<_>>(),
        [(TurnStatus::Completed, 2), (TurnStatus::Failed, 1)]
    );
    assert_eq!(turns[1].error.as_ref().unwrap().message, "no");
    let before = format!("{turns:?}");
    store.rebuild_projections("thread-1").await.unwrap();
    assert_eq!(format!("{:?}", store.turns("thread-1").unwrap()), before);
    assert_eq!(
        store.turns("thread-2").unwrap()[0].items,
        [user("u", "Go on"), agent("a", "Half an ans")]
    );
    store
        .append("thread-1", small_turn("new", 9_000, "q", "a"))
        .await
        .unwrap();
    assert_eq!(store.turns("thread-1").unwrap().len(), 3);
}

#[tokio::test]
async fn old_turns_can_be_forked() {
    let dir = tempdir().unwrap();
    fs::copy(fixture("v1.sqlite"), dir.path().join(FILE_NAME)).unwrap();
    let store = Store::open(dir.path()).unwrap();
    let point = ForkPoint {
        source_id: "thread-1".into(),
        last_turn_id: Some("turn-1".into()),
    };
    store.fork("fork", point, beginning("fork", 9_000)).await.unwrap();
    let turns = store.turns("fork").unwrap();
    assert_eq!(turns, store.turns("thread-1").unwrap()[..1]);
    assert_eq!(store.thread("fork").unwrap().unwrap().preview, "What is this?");
}

#[tokio::test]
async fn a_database_of_version_2_loads() {
    let dir = tempdir().unwrap();
    fs::copy(fixture("v2.sqlite"), dir.path().join(FILE_NAME)).unwrap();
    let store = Store::open(dir.path()).unwrap();
    let ids = |id: &str| -> Vec<String> { store.turns(id).unwrap().into_iter().map(|turn| turn.id).collect() };
    assert_eq!(ids("thread-1"), ["turn-1", "turn-2"]);
    assert_eq!(ids("fork-1"), ["turn-1", "turn-4"]);
    assert_eq!(store.unfinished_threads().unwrap(), ["thread-2"]);
    let queued = store.rollout("thread-2").unwrap();
    assert!(queued.iter().any(|line| line.kind() == "input_queued"));
    assert_eq!(
        store.turns("thread-2").unwrap()[0].items.len(),
        2,
        "queued input is not shown yet"
    );
}

/// Writes the fixture of the current version; run once before a release that adds a migration.
#[tokio::test]
#[ignore = "writes tests/databases"]
async fn write_fixture() {
    let dir = tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut lines = beginning("thread-1", 1_000);
    lines.extend(small_turn("turn-1", 2_000, "What is this?", "A fixture."));
    lines.extend([
        turn_started("turn-2", 4_000),
        started("turn-2", command("call", "ls")),
        asked("approval", "turn-2", "call", 4_100),
        answered("approval", "decline", 4_200),
        completed("turn-2", command("call", "ls")),
        turn_completed("turn-2", TurnStatus::Failed, 5_000),
        named(Some("A name")),
    ]);
    store.append("thread-1", lines).await.unwrap();
    let mut lines = beginning("thread-2", 6_000);
    lines.extend([
        turn_started("turn-3", 7_000),
        completed("turn-3", user("u", "Go on")),
        started("turn-3", agent("a", "")),
        text(
            "turn-3",
            "a",
            agentd_engine::rollout::TextChannel::Message,
            0,
            "Half an ans",
        ),
        queued("turn-3", "q", "And this"),
    ]);
    store.append("thread-2", lines).await.unwrap();
    let point = ForkPoint {
        source_id: "thread-1".into(),
        last_turn_id: Some("turn-1".into()),
    };
    store.fork("fork-1", point, beginning("fork-1", 8_000)).await.unwrap();
    store
        .append("fork-1", small_turn("turn-4", 9_000, "In the fork", "Yes."))
        .await
        .unwrap();
    store.close();
    fs::copy(
        dir.path().join(FILE_NAME),
        fixture(&format!("v{SCHEMA_VERSION}.sqlite")),
    )
    .unwrap();
}
