//! What an append costs. Prints numbers; run with `cargo test -p agentd-store --test cost -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs;
use std::time::Instant;

use agentd_protocol::turn::TurnStatus;
use agentd_store::Store;
use common::*;
use tempfile::tempdir;

/// Bytes this process has handed to the file system.
fn bytes_written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|l| l.strip_prefix("wchar: ")).unwrap();
    line.trim().parse().unwrap()
}

#[tokio::test]
#[ignore = "measures"]
async fn a_turn() {
    const TURNS: u64 = 2_000;
    let dir = tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for n in 0..20 {
        let id = format!("thread-{n}");
        store.append(&id, beginning(&id, n)).await.unwrap();
    }
    let message = format!(
        r#"{{"type":"message","role":"user","content":[{{"text":"{}"}}]}}"#,
        "word ".repeat(60)
    );
    let before = bytes_written();
    let start = Instant::now();
    for n in 0..TURNS {
        let id = format!("thread-{}", n % 20);
        let turn = format!("0190a2b4-0000-7000-8000-{n:012}");
        let at = i64::try_from(n).unwrap() * 1000;
        let beginning = vec![
            turn_started(&turn, at),
            response_item(&turn, &message),
            completed(&turn, user(&turn, &"word ".repeat(60))),
        ];
        store.append(&id, beginning).await.unwrap();
        let end = vec![
            completed(&turn, agent(&turn, &"word ".repeat(60))),
            response_item(&turn, &message),
            usage(&turn, 100),
            turn_completed(&turn, TurnStatus::Completed, at + 500),
        ];
        store.append(&id, end).await.unwrap();
    }
    let elapsed = start.elapsed();
    println!(
        "a turn of 2 appends: {} us, {} KB written",
        elapsed.as_micros() / u128::from(TURNS),
        (bytes_written() - before) / TURNS / 1024
    );

    let start = Instant::now();
    for n in 0..TURNS {
        let line = || response_item("t", r#"{"type":"message"}"#);
        store
            .append(&format!("thread-{}", n % 20), vec![line(), line(), line()])
            .await
            .unwrap();
    }
    println!(
        "an append of 3 small lines: {} us",
        start.elapsed().as_micros() / u128::from(TURNS)
    );
    let start = Instant::now();
    let lines = store.rollout("thread-0").unwrap().len();
    println!("reading {lines} lines: {} us", start.elapsed().as_micros());
}
