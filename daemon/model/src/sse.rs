//! Bytes of a `text/event-stream` body to the data of its events.
//!
//! The grammar is eventsource-stream's. Alone it takes quadratic time on large events, panics on a byte order mark,
//! stalls on invalid UTF-8 and buffers without limit; so it is fed whole, repaired, LF-terminated lines, one at a time.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use eventsource_stream::{EventStream, EventStreamError};
use futures_util::{Stream, StreamExt};

/// No event may be larger.
const EVENT_LIMIT: usize = 64 << 20;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Why no further event can be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SseError<E> {
    /// The connection broke.
    #[error(transparent)]
    Transport(E),
    /// A single event is larger than we are ready to hold.
    #[error("an event is larger than {} MB", EVENT_LIMIT >> 20)]
    TooLarge,
    /// Cannot happen with repaired lines; kept so that it would be seen.
    #[error("unreadable event stream: {0}")]
    Grammar(String),
}

/// The data of each event, in order.
pub(crate) fn events<S, E>(body: S) -> impl Stream<Item = Result<String, SseError<E>>> + Unpin
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    EventStream::new(Lines {
        body,
        cutter: Cutter::default(),
        ended: false,
    })
    .map(|event| match event {
        Ok(event) => Ok(event.data),
        Err(EventStreamError::Transport(error)) => Err(error),
        Err(other) => Err(SseError::Grammar(other.to_string())),
    })
}

struct Lines<S> {
    body: S,
    cutter: Cutter,
    ended: bool,
}

impl<S, E> Stream for Lines<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    type Item = Result<Bytes, SseError<E>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(line) = self.cutter.next_line() {
                return Poll::Ready(Some(Ok(line)));
            }
            if self.cutter.event_bytes > EVENT_LIMIT {
                return Poll::Ready(Some(Err(SseError::TooLarge)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match ready!(self.body.poll_next_unpin(cx)) {
                Some(Ok(chunk)) => self.cutter.push(chunk),
                Some(Err(error)) => return Poll::Ready(Some(Err(SseError::Transport(error)))),
                // Some servers leave out the blank line after the last event.
                None => {
                    self.ended = true;
                    self.cutter.push(Bytes::from_static(b"\n\n"));
                }
            }
        }
    }
}

/// Cuts chunks into lines. Each byte is looked at once.
#[derive(Default)]
struct Cutter {
    chunk: Bytes,
    /// Beginning of a line whose end has not come yet.
    partial: BytesMut,
    /// A line ended with CR; an LF that follows belongs to it.
    after_cr: bool,
    /// Something other than a byte order mark was seen.
    begun: bool,
    /// Size of the current event so far.
    event_bytes: usize,
}

impl Cutter {
    /// Only called when [`Self::next_line`] has nothing left.
    fn push(&mut self, chunk: Bytes) {
        self.chunk = chunk;
    }

    fn next_line(&mut self) -> Option<Bytes> {
        if self.event_bytes > EVENT_LIMIT {
            return None;
        }
        if self.after_cr && !self.chunk.is_empty() {
            self.after_cr = false;
            if self.chunk[0] == b'\n' {
                self.chunk.advance(1);
            }
        }
        let Some(end) = self.chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.event_bytes += self.chunk.len();
            self.partial.extend_from_slice(&std::mem::take(&mut self.chunk));
            return None;
        };
        self.event_bytes += end;
        let line = self.take_line(end);
        let line = self.without_mark(line);
        if line.len() == 1 {
            self.event_bytes = 0;
        }
        Some(repaired(line))
    }

    /// The line that ends at `end` of the chunk, with a single LF as its end.
    fn take_line(&mut self, end: usize) -> Bytes {
        self.after_cr = self.chunk[end] == b'\r';
        let piece = self.chunk.split_to(end + 1);
        if self.partial.is_empty() && !self.after_cr {
            return piece;
        }
        let mut line = std::mem::take(&mut self.partial);
        line.extend_from_slice(&piece[..end]);
        line.extend_from_slice(b"\n");
        line.freeze()
    }

    fn without_mark(&mut self, mut line: Bytes) -> Bytes {
        while !self.begun && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        self.begun = true;
        line
    }
}

/// Lines are cut at ASCII bytes, so no character is ever cut in two here.
fn repaired(line: Bytes) -> Bytes {
    match String::from_utf8_lossy(&line) {
        std::borrow::Cow::Borrowed(_) => line,
        std::borrow::Cow::Owned(text) => Bytes::from(text),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::{Duration, Instant};

    use super::*;
    use futures_util::stream;

    async fn read(chunks: Vec<Bytes>) -> Vec<String> {
        let body = stream::iter(chunks.into_iter().map(Ok::<_, Infallible>));
        events(body).map(|event| event.unwrap()).collect().await
    }

    fn cut(text: &[u8], at: usize) -> Vec<Bytes> {
        vec![Bytes::copy_from_slice(&text[..at]), Bytes::copy_from_slice(&text[at..])]
    }

    #[tokio::test]
    async fn every_spelling_cut_at_every_byte() {
        let table: [(&[u8], &[&str]); 9] = [
            (b"event: a\ndata: 1\n\ndata: 2\n\n", &["1", "2"]),
            (b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", &["1", "2"]),
            (b"event: a\rdata: 1\r\rdata: 2\r\r", &["1", "2"]),
            (b"\xef\xbb\xbfdata: 1\n\ndata:2\n\n", &["1", "2"]),
            (b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\n", &["1"]),
            (b": hello\n\n:\n\nretry: x\nid: 1\ndata: a\ndata: b\n\n", &["a\nb"]),
            ("data: gr\u{fc}n \u{1f44d}\n\n".as_bytes(), &["gr\u{fc}n \u{1f44d}"]),
            (b"data: \xff\xc3x\n\ndata: 2\n\n", &["\u{fffd}\u{fffd}x", "2"]),
            (b"data: 1\n\ndata: no blank line", &["1", "no blank line"]),
        ];
        for (text, want) in table {
            for at in 0..=text.len() {
                assert_eq!(read(cut(text, at)).await, want, "{} cut at {at}", text.escape_ascii());
            }
            let bytes = text.iter().map(|byte| Bytes::copy_from_slice(&[*byte])).collect();
            assert_eq!(read(bytes).await, want, "{} byte by byte", text.escape_ascii());
        }
    }

    #[tokio::test]
    async fn large_events_take_linear_time() {
        let one_line = format!("data: {}\n\n", "x".repeat(8 << 20));
        let many_lines = format!("{}\n", "data: x\n".repeat(1 << 17));
        for text in [one_line, many_lines] {
            let chunks = text.as_bytes().chunks(1400).map(Bytes::copy_from_slice).collect();
            let begun = Instant::now();
            assert_eq!(read(chunks).await.len(), 1);
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        }
    }

    #[tokio::test]
    async fn an_endless_event_is_refused() {
        let piece = Bytes::from(vec![b'x'; 1 << 20]);
        let body = stream::iter(std::iter::repeat_n(piece, 80).map(Ok::<_, Infallible>));
        let first = events(body).next().await;
        assert!(matches!(first, Some(Err(SseError::TooLarge))), "{first:?}");
    }
}
