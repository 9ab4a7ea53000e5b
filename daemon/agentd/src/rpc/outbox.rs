//! The ordered, bounded queue between everybody who has something to say to a connection and its writer task.
//!
//! Sending never waits. When the queue is full, waiting deltas of one item are merged. If that does not help, it grows for as
//! long as the client reads: the daemon's own bursts cost no client its connection. When the client has read nothing for a
//! while, or far too much waits, the queue is closed, the connection ends, and the client resumes later. Nothing else is ever
//! merged or dropped.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;

use super::outgoing::Outgoing;

/// Bytes and messages that may wait without anything being done about it.
const FULL: Size = Size {
    bytes: 24 * 1024 * 1024,
    messages: 65_536,
};
/// What may wait at all, for clients that read. One message larger than this still passes when nothing else waits.
const MOST: Size = Size {
    bytes: 96 * 1024 * 1024,
    messages: 4 * 65_536,
};
/// How long the writer of a full queue may be at the same batch, and once more for every [`PATIENCE_BYTES`] of it.
const PATIENCE: Duration = Duration::from_secs(2);
/// See [`PATIENCE`].
const PATIENCE_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that the writer takes at once.
const BATCH_BYTES: usize = 256 * 1024;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It waits for the writer.
    Queued,
    /// It did not fit; the queue is closed from now on.
    Overflowed,
    /// The queue was closed before.
    Closed,
}

/// The queue.
pub struct Outbox {
    queue: Mutex<Queue>,
    /// Wakes the writer.
    filled: Notify,
    /// Wakes who waits for room.
    drained: Notify,
    limits: Limits,
}

/// Bytes and messages.
#[derive(Clone, Copy, Debug)]
struct Size {
    bytes: usize,
    messages: usize,
}

#[derive(Clone, Copy)]
struct Limits {
    full: Size,
    most: Size,
    patience: Duration,
}

struct Queue {
    waiting: VecDeque<Outgoing>,
    bytes: usize,
    closed: bool,
    /// Size of the batch that the writer has not written yet; 0 if there is none.
    writing: usize,
    /// Since when the writer has been at that batch, or has had something to take.
    moved: Instant,
    /// Large responses that wait or are being written, and how many of them are in the writer's batch.
    large: usize,
    large_in_batch: usize,
    /// The size from which merging is worth another try.
    merge_at: Size,
}

impl Default for Outbox {
    fn default() -> Self {
        Self::with_limits(Limits {
            full: FULL,
            most: MOST,
            patience: PATIENCE,
        })
    }
}

impl Outbox {
    fn with_limits(limits: Limits) -> Self {
        Self {
            queue: Mutex::new(Queue {
                waiting: VecDeque::new(),
                bytes: 0,
                closed: false,
                writing: 0,
                moved: Instant::now(),
                large: 0,
                large_in_batch: 0,
                merge_at: limits.full,
            }),
            filled: Notify::new(),
            drained: Notify::new(),
            limits,
        }
    }

    /// Puts a message at the end.
    pub fn push(&self, message: Outgoing) -> Pushed {
        let pushed = self.lock().push(message, self.limits);
        if pushed != Pushed::Closed {
            self.filled.notify_one();
        }
        if pushed == Pushed::Overflowed {
            self.drained.notify_waiters();
        }
        pushed
    }

    /// Puts a message at the end once a quarter of the room stays free behind it, or nothing else waits.
    pub async fn push_when_room(&self, message: Outgoing) -> Pushed {
        loop {
            // Before the look, so that a change after it is not missed.
            let drained = self.drained.notified();
            {
                let mut queue = self.lock();
                if queue.has_room_for(message.bytes().len(), self.limits) {
                    let pushed = queue.push(message, self.limits);
                    self.filled.notify_one();
                    return pushed;
                }
            }
            drained.await;
        }
    }

    /// Takes no more messages; what waits is still written.
    pub fn finish(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.drained.notify_waiters();
    }

    /// Waits until a quarter of the room is free, or the queue is closed.
    pub async fn room(&self) {
        loop {
            let drained = self.drained.notified();
            if self.lock().has_room_for(0, self.limits) {
                return;
            }
            drained.await;
        }
    }

    /// Waits until no large response waits or is being written, or the queue is closed.
    pub async fn large_are_written(&self) {
        loop {
            let drained = self.drained.notified();
            {
                let queue = self.lock();
                if queue.large == 0 || queue.closed {
                    return;
                }
            }
            drained.await;
        }
    }

    /// The next messages to write, at least one, in order. `None`: closed, and all is written. Asking for them says that the
    /// ones before are written.
    pub async fn next_batch(&self) -> Option<Vec<Bytes>> {
        if self.lock().batch_is_written() {
            self.drained.notify_waiters();
        }
        loop {
            {
                let mut queue = self.lock();
                if !queue.waiting.is_empty() {
                    let batch = queue.take_batch();
                    self.drained.notify_waiters();
                    return Some(batch);
                }
                if queue.closed {
                    return None;
                }
            }
            self.filled.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, message: Outgoing, limits: Limits) -> Pushed {
        if self.closed {
            return Pushed::Closed;
        }
        if !self.reaches(limits.full) {
            self.merge_at = limits.full;
        } else {
            self.merge_if_worth_it(limits.full);
            if self.reaches(limits.most) || (self.reaches(limits.full) && self.is_stalled(limits.patience)) {
                self.closed = true;
                self.waiting.clear();
                self.bytes = 0;
                self.large = self.large_in_batch;
                return Pushed::Overflowed;
            }
        }
        if self.waiting.is_empty() && self.writing == 0 {
            self.moved = Instant::now();
        }
        self.bytes += message.bytes().len();
        self.large += usize::from(message.is_large_response());
        self.waiting.push_back(message);
        Pushed::Queued
    }

    /// Whether the writer has been at its batch for too long.
    fn is_stalled(&self, patience: Duration) -> bool {
        let times = u32::try_from(1 + self.writing / PATIENCE_BYTES).unwrap_or(u32::MAX);
        self.moved.elapsed() >= patience.saturating_mul(times)
    }

    /// Merging looks at everything that waits, so it runs once per quarter of a full queue and not for every message.
    fn merge_if_worth_it(&mut self, full: Size) {
        if self.reaches(self.merge_at) {
            self.merge_deltas();
            self.merge_at = Size {
                bytes: full.bytes.max(self.bytes.saturating_add(full.bytes / 4)),
                messages: full.messages.max(self.waiting.len() + full.messages / 4),
            };
        }
    }

    fn has_room_for(&self, bytes: usize, limits: Limits) -> bool {
        let Size {
            bytes: most_bytes,
            messages,
        } = limits.full;
        let fits = || self.bytes + bytes < most_bytes / 4 * 3 && self.waiting.len() < messages / 4 * 3;
        self.closed || self.waiting.is_empty() || fits()
    }

    fn reaches(&self, size: Size) -> bool {
        self.bytes >= size.bytes || self.waiting.len() >= size.messages
    }

    /// Whether large responses were in it.
    fn batch_is_written(&mut self) -> bool {
        self.writing = 0;
        self.moved = Instant::now();
        self.large -= self.large_in_batch;
        std::mem::take(&mut self.large_in_batch) > 0
    }

    /// Concatenates waiting deltas of the same item into the first of them. An item's other events keep their place
    /// after its deltas, because its last event comes after all of them. A response may hold a snapshot of the item, so no
    /// delta moves across one.
    fn merge_deltas(&mut self) {
        let mut piles: Vec<Pile> = Vec::with_capacity(self.waiting.len());
        let mut open: HashMap<(u8, String, String, u32), usize> = HashMap::new();
        for message in self.waiting.drain(..) {
            let key = message
                .delta_key()
                .map(|(kind, thread, item, part)| (kind, thread.to_owned(), item.to_owned(), part));
            let Some(key) = key else {
                if message.method().is_none() {
                    open.clear();
                }
                piles.push(Pile::of(message));
                continue;
            };
            match open
                .get(&key)
                .and_then(|&place| piles.get_mut(place))
                .filter(|pile| pile.has_room_for(&message))
            {
                Some(pile) => pile.add(message),
                None => {
                    open.insert(key, piles.len());
                    piles.push(Pile::of(message));
                }
            }
        }
        self.waiting = piles.into_iter().flat_map(Pile::into_messages).collect();
        self.bytes = self.waiting.iter().map(|message| message.bytes().len()).sum();
    }

    fn take_batch(&mut self) -> Vec<Bytes> {
        let mut batch = Vec::new();
        let mut size = 0;
        while size < BATCH_BYTES {
            let Some(message) = self.waiting.pop_front() else { break };
            size += message.bytes().len();
            self.large_in_batch += usize::from(message.is_large_response());
            batch.push(message.bytes().clone());
        }
        self.bytes -= size;
        self.writing = size;
        batch
    }
}

/// Deltas that become one message, serialised once; or one other message.
struct Pile {
    messages: Vec<Outgoing>,
    text: usize,
}

impl Pile {
    fn of(message: Outgoing) -> Self {
        Self {
            text: message.text_len(),
            messages: vec![message],
        }
    }

    fn has_room_for(&self, delta: &Outgoing) -> bool {
        self.text + delta.text_len() <= delta.text_limit()
    }

    fn add(&mut self, delta: Outgoing) {
        self.text += delta.text_len();
        self.messages.push(delta);
    }

    fn into_messages(self) -> Vec<Outgoing> {
        if self.messages.len() < 2 {
            return self.messages;
        }
        Outgoing::joined(&self.messages).map_or(self.messages, |joined| vec![joined])
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
