//! What becomes of a turn whose output nobody takes: a reader that left, and a device that is full.

#![allow(clippy::expect_used)]

mod story;

use std::process::Stdio;

use serde_json::json;
use story::{Story, THREAD, TURN, Told};

/// A turn that talks and does not end by itself.
fn talkative() -> Story {
    Story::new(|heard, peer| match heard["method"].as_str() {
        Some("turn/start") => {
            for n in 0..50 {
                peer.notify("some/news", json!({ "n": n }));
            }
        }
        Some("turn/interrupt") => peer.reply(heard, json!({})),
        _ => {}
    })
}

#[test]
fn a_reader_that_left_stops_the_turn_without_a_word() {
    let story = talkative();
    let mut child = story.command(&["exec", "--json", "go"]).spawn().expect("spawn");
    drop(child.stdout.take());
    let told = Told::from(child.wait_with_output().expect("wait"));
    assert_eq!((told.code, told.stderr.as_str()), (Some(1), ""));
    let asked = story.server.wait_for("turn/interrupt");
    assert_eq!(asked["params"], json!({"threadId": THREAD, "turnId": TURN}));
}

#[test]
fn a_full_device_stops_the_turn_and_is_reported() {
    let story = talkative();
    let full = std::fs::File::create("/dev/full").expect("open /dev/full");
    let child = story
        .command(&["exec", "--json", "go"])
        .stdout(Stdio::from(full))
        .spawn()
        .expect("spawn");
    let told = Told::from(child.wait_with_output().expect("wait"));
    assert_eq!(told.code, Some(1));
    assert!(
        told.stderr.contains("write to standard output: No space left"),
        "{}",
        told.stderr
    );
    story.server.wait_for("turn/interrupt");
}
