//! One JSON object per line, over any byte stream.
//!
//! `\r\n` is tolerated, lines of white space are skipped, the last line may lack its end.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{MAX_MESSAGE, Receive, Received, Transmit};

/// Room for one read.
const READ_SIZE: usize = 16 * 1024;
/// A larger buffer is given back once it is empty.
const KEEP_SIZE: usize = 256 * 1024;

/// Reads lines.
pub struct LineReader<R> {
    inner: R,
    buffer: BytesMut,
    /// How far `buffer` is known to hold no line end.
    scanned: usize,
    /// Inside a line that was refused as too large.
    skipping: bool,
    limit: usize,
}

impl<R> LineReader<R> {
    /// Over this stream.
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            buffer: BytesMut::new(),
            scanned: 0,
            skipping: false,
            limit: MAX_MESSAGE,
        }
    }

    /// The next thing that can be told from what is buffered.
    fn next_buffered(&mut self) -> Option<Received> {
        loop {
            let Some(at) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n') else {
                self.scanned = self.buffer.len();
                return self.refuse_if_too_large();
            };
            let line = self.buffer.split_to(self.scanned + at + 1).freeze();
            self.scanned = 0;
            if std::mem::take(&mut self.skipping) || line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if line.len() > self.limit {
                return Some(Received::TooLarge);
            }
            return Some(Received::Message(line));
        }
    }

    fn refuse_if_too_large(&mut self) -> Option<Received> {
        let refused = !self.skipping && self.buffer.len() > self.limit;
        if refused || self.skipping {
            self.skipping = true;
            self.buffer = BytesMut::new();
            self.scanned = 0;
        }
        refused.then_some(Received::TooLarge)
    }

    /// What is left when the stream ended.
    fn last(&mut self) -> Received {
        let line = std::mem::take(&mut self.buffer).freeze();
        self.scanned = 0;
        match self.skipping || line.iter().all(u8::is_ascii_whitespace) {
            true => Received::End,
            false => Received::Message(line),
        }
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Receive for LineReader<R> {
    async fn receive(&mut self) -> io::Result<Received> {
        loop {
            if let Some(received) = self.next_buffered() {
                return Ok(received);
            }
            if self.buffer.is_empty() && self.buffer.capacity() > KEEP_SIZE {
                self.buffer = BytesMut::new();
            }
            self.buffer.reserve(READ_SIZE);
            if self.inner.read_buf(&mut self.buffer).await? == 0 {
                return Ok(self.last());
            }
        }
    }
}

/// Writes lines.
pub struct LineWriter<W> {
    inner: W,
    buffer: Vec<u8>,
}

impl<W> LineWriter<W> {
    /// Over this stream.
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            buffer: Vec::new(),
        }
    }
}

impl<W: AsyncWrite + Unpin + Send + 'static> Transmit for LineWriter<W> {
    async fn transmit(&mut self, batch: Vec<Bytes>) -> io::Result<()> {
        self.buffer.clear();
        for message in &batch {
            if message.len() > KEEP_SIZE {
                // Not worth a copy.
                self.inner.write_all(&self.buffer).await?;
                self.buffer.clear();
                self.inner.write_all(message).await?;
            } else {
                self.buffer.extend_from_slice(message);
            }
            self.buffer.push(b'\n');
        }
        self.inner.write_all(&self.buffer).await?;
        if self.buffer.capacity() > KEEP_SIZE {
            self.buffer = Vec::new();
        }
        self.inner.flush().await
    }

    async fn end(&mut self) {
        // An error means that the client is gone already.
        let _ = self.inner.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields its input in pieces of the given size, as a socket may.
    async fn read_all(input: &[u8], piece: usize, limit: usize) -> Vec<String> {
        let (mut near, far) = tokio::io::duplex(piece);
        let owned = input.to_vec();
        let feeding = tokio::spawn(async move { near.write_all(&owned).await });
        let mut reader = LineReader {
            limit,
            ..LineReader::new(far)
        };
        let mut all = Vec::new();
        loop {
            match reader.receive().await.expect("readable") {
                Received::Message(line) => all.push(String::from_utf8_lossy(&line).trim().to_owned()),
                Received::TooLarge => all.push("TOO LARGE".to_owned()),
                Received::Unreadable(error) => all.push(error.to_string()),
                Received::End => break,
            }
        }
        feeding.await.expect("fed").expect("written");
        all
    }

    #[tokio::test]
    async fn lines_come_whole_however_they_are_cut() {
        for piece in [1, 2, 3, 7, 1024] {
            let lines = read_all(b"{\"a\":1}\n\n  \t\r\n{\"b\":2}\r\n{\"c\":3}", piece, 100).await;
            assert_eq!(lines, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"], "pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn a_line_above_the_limit_is_refused_once_and_the_next_one_is_intact() {
        for piece in [1, 5, 1024] {
            let lines = read_all(b"123456789012345\n{}\nshort\n", piece, 10).await;
            assert_eq!(lines, ["TOO LARGE", "{}", "short"], "pieces of {piece}");
        }
    }
}
