//! What a full outbox does.

use agentd_protocol::notification::ServerNotification;
use futures_util::FutureExt;
use serde_json::Value;

use super::*;

fn delta(item: &str, text: &str) -> Outgoing {
    let (thread_id, turn_id) = ("t".to_owned(), "u".to_owned());
    let notification = ServerNotification::AgentMessageDelta {
        thread_id,
        turn_id,
        item_id: item.to_owned(),
        delta: text.to_owned(),
    };
    Outgoing::notification(&notification, 7)
}

fn limits(full: Size, most: Size, patience: Duration) -> Outbox {
    Outbox::with_limits(Limits { full, most, patience })
}

/// Closes as soon as merging does not help.
fn impatient(bytes: usize, messages: usize) -> Outbox {
    let size = Size { bytes, messages };
    limits(size, size, Duration::ZERO)
}

async fn drain(outbox: &Outbox) -> Vec<Value> {
    outbox.finish();
    let mut all = Vec::new();
    while let Some(batch) = outbox.next_batch().await {
        all.extend(batch.iter().map(|bytes| serde_json::from_slice(bytes).expect("JSON")));
    }
    all
}

#[tokio::test]
async fn a_notification_is_stamped_and_knows_its_method() {
    let outbox = Outbox::default();
    let message = delta("a", "x");
    assert_eq!(message.method(), Some("item/agentMessage/delta"));
    outbox.push(message);
    let all = drain(&outbox).await;
    assert_eq!(all[0]["emittedAtMs"], 7);
    assert_eq!(all[0]["params"]["delta"], "x");
}

#[tokio::test]
async fn with_room_nothing_is_merged() {
    let outbox = Outbox::default();
    outbox.push(delta("a", "1"));
    outbox.push(delta("a", "2"));
    assert_eq!(drain(&outbox).await.len(), 2);
}

#[tokio::test]
async fn a_full_outbox_merges_deltas_per_item_and_keeps_everything_else() {
    let outbox = impatient(usize::MAX, 8);
    outbox.push(Outgoing::plain(r#"{"id":1}"#));
    for n in 0..3 {
        outbox.push(delta("a", &format!("a{n}")));
        outbox.push(delta("b", &format!("b{n}")));
    }
    outbox.push(Outgoing::plain(r#"{"id":2}"#));
    assert_eq!(outbox.push(Outgoing::plain(r#"{"id":3}"#)), Pushed::Queued);
    let all = drain(&outbox).await;
    let shown: Vec<String> = all
        .iter()
        .map(|m| m["params"]["delta"].as_str().map_or(m["id"].to_string(), str::to_owned))
        .collect();
    assert_eq!(shown, ["1", "a0a1a2", "b0b1b2", "2", "3"]);
}

#[tokio::test]
async fn an_outbox_that_stays_full_closes_for_good() {
    let outbox = impatient(usize::MAX, 4);
    for n in 0..4 {
        assert_eq!(outbox.push(Outgoing::plain(format!(r#"{{"id":{n}}}"#))), Pushed::Queued);
    }
    assert_eq!(outbox.push(delta("a", "x")), Pushed::Overflowed);
    assert_eq!(outbox.push(delta("a", "y")), Pushed::Closed);
    assert!(drain(&outbox).await.is_empty());
}

#[tokio::test]
async fn one_message_above_the_limit_passes_alone() {
    let outbox = impatient(10, 100);
    assert_eq!(
        outbox.push(Outgoing::plain(format!(r#""{}""#, "x".repeat(100)))),
        Pushed::Queued
    );
    assert_eq!(outbox.push(Outgoing::plain("1")), Pushed::Overflowed);
}

#[tokio::test]
async fn merging_stops_at_the_longest_text_of_a_delta() {
    let outbox = impatient(usize::MAX, 4);
    for text in ["1", &"x".repeat(40_000), &"y".repeat(40_000), "2"] {
        outbox.push(delta("a", text));
    }
    outbox.push(delta("b", "3"));
    let all = drain(&outbox).await;
    let lengths: Vec<usize> = all
        .iter()
        .map(|m| m["params"]["delta"].as_str().expect("delta").len())
        .collect();
    assert_eq!(lengths, [40_001, 40_001, 1]);
}

/// The response to a second `thread/resume` holds the text so far: what came after it must stay after it.
#[tokio::test]
async fn no_delta_moves_across_a_response() {
    let outbox = impatient(usize::MAX, 8);
    for text in ["1", "2", "3"] {
        outbox.push(delta("a", text));
    }
    outbox.push(Outgoing::plain(r#"{"id":1}"#));
    for text in ["4", "5", "6", "7"] {
        outbox.push(delta("a", text));
    }
    outbox.push(Outgoing::plain(r#"{"id":2}"#));
    let all = drain(&outbox).await;
    let shown: Vec<String> = all
        .iter()
        .map(|m| m["params"]["delta"].as_str().map_or(m["id"].to_string(), str::to_owned))
        .collect();
    assert_eq!(shown, ["123", "1", "4567", "2"]);
}

#[tokio::test]
async fn room_comes_with_reading_and_with_the_end() {
    let outbox = impatient(100, 8);
    let large = || Outgoing::plain("x".repeat(90));
    assert_eq!(
        outbox.push_when_room(large()).await,
        Pushed::Queued,
        "nothing else waits"
    );
    let mut waiting = Box::pin(outbox.push_when_room(large()));
    let mut reader = Box::pin(outbox.room());
    assert!((&mut waiting).now_or_never().is_none() && (&mut reader).now_or_never().is_none());
    assert_eq!(outbox.next_batch().await.expect("a batch").len(), 1);
    assert_eq!(waiting.await, Pushed::Queued);
    assert!((&mut reader).now_or_never().is_none(), "the room is taken again");
    let mut waiting = Box::pin(outbox.push_when_room(large()));
    assert!((&mut waiting).now_or_never().is_none());
    outbox.finish();
    assert_eq!(waiting.await, Pushed::Closed);
    reader.await;
}

/// The same burst into a queue for 100 bytes, with room for 1000 at most.
fn burst(outbox: &Outbox, count: usize) -> Vec<Pushed> {
    (0..count)
        .map(|_| outbox.push(Outgoing::plain("x".repeat(90))))
        .collect()
}

const SMALL: Size = Size {
    bytes: 100,
    messages: 1000,
};
const TEN_TIMES: Size = Size {
    bytes: 1000,
    messages: 1000,
};

#[tokio::test]
async fn a_burst_closes_no_queue_whose_writer_moves() {
    let outbox = limits(SMALL, TEN_TIMES, Duration::from_secs(3600));
    assert_eq!(burst(&outbox, 10), [Pushed::Queued; 10]);
    assert_eq!(outbox.next_batch().await.map(|batch| batch.len()), Some(10));
    assert_eq!(
        burst(&outbox, 10),
        [Pushed::Queued; 10],
        "the writer is at its first batch"
    );
}

#[tokio::test]
async fn whoever_reads_nothing_is_closed_by_time_or_by_size() {
    let outbox = limits(SMALL, TEN_TIMES, Duration::from_millis(20));
    assert_eq!(burst(&outbox, 3), [Pushed::Queued; 3]);
    std::thread::sleep(Duration::from_millis(25));
    assert_eq!(burst(&outbox, 1), [Pushed::Overflowed], "by time");
    let outbox = limits(SMALL, TEN_TIMES, Duration::from_secs(3600));
    let all = burst(&outbox, 14);
    assert_eq!(
        all[11..],
        [Pushed::Queued, Pushed::Overflowed, Pushed::Closed],
        "by size"
    );
}

#[tokio::test]
async fn time_counts_from_when_there_is_something_to_write() {
    let outbox = limits(SMALL, TEN_TIMES, Duration::from_millis(20));
    std::thread::sleep(Duration::from_millis(25));
    assert_eq!(burst(&outbox, 5), [Pushed::Queued; 5], "it had nothing to write before");
    outbox.next_batch().await.expect("a batch");
    std::thread::sleep(Duration::from_millis(25));
    assert_eq!(burst(&outbox, 3)[2], Pushed::Overflowed, "it is still at that batch");
}

#[tokio::test]
async fn a_large_batch_may_take_longer() {
    let outbox = limits(SMALL, TEN_TIMES, Duration::from_millis(20));
    outbox.push(Outgoing::plain("x".repeat(50 * PATIENCE_BYTES)));
    outbox.next_batch().await.expect("a batch");
    std::thread::sleep(Duration::from_millis(25));
    assert_eq!(burst(&outbox, 5), [Pushed::Queued; 5]);
}
