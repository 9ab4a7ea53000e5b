//! What becomes of a command's bytes: valid text, in pieces that fit into an event, of which a bounded amount is kept.

use std::fmt::Write as _;

/// Most bytes of text in one event.
pub(super) const MAX_EVENT_BYTES: usize = 8 * 1024;
/// Most bytes that are kept, with the mark between head and tail.
const MAX_KEPT_BYTES: usize = 1024 * 1024;
/// Of these, the head.
const HEAD_BYTES: usize = MAX_KEPT_BYTES / 2;
/// Of these, the tail; what is missing is room for the mark.
const TAIL_BYTES: usize = MAX_KEPT_BYTES / 2 - 64;

/// Turns bytes into valid text. What is not UTF-8 becomes U+FFFD; a character that is cut by the end of a chunk waits for
/// the next one. Everything else passes unchanged, also NUL and escapes.
#[derive(Debug, Default)]
pub(super) struct Repair {
    /// The beginning of a character, at most three bytes.
    begun: Vec<u8>,
}

impl Repair {
    /// The text of the next chunk.
    pub(super) fn push(&mut self, chunk: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.begun);
        bytes.extend_from_slice(chunk);
        let mut rest = bytes.as_slice();
        let mut text = String::with_capacity(rest.len());
        while let Some(part) = rest.utf8_chunks().next() {
            text.push_str(part.valid());
            let after = rest
                .get(part.valid().len() + part.invalid().len()..)
                .unwrap_or_default();
            let cut =
                after.is_empty() && std::str::from_utf8(part.invalid()).is_err_and(|error| error.error_len().is_none());
            if cut {
                self.begun = part.invalid().to_vec();
            } else if !part.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            rest = after;
        }
        text
    }

    /// What a character that never ended leaves.
    pub(super) fn finish(&mut self) -> String {
        if std::mem::take(&mut self.begun).is_empty() {
            String::new()
        } else {
            char::REPLACEMENT_CHARACTER.to_string()
        }
    }
}

/// The beginning and the end of all text, at most [`MAX_KEPT_BYTES`].
#[derive(Debug, Default)]
pub(super) struct Kept {
    head: String,
    /// Grows to twice its limit before it is cut, so that each byte is moved once on average.
    tail: String,
    /// Bytes cut out between them.
    omitted: usize,
}

impl Kept {
    /// Adds text.
    pub(super) fn push(&mut self, text: &str) {
        let mut rest = text;
        if self.tail.is_empty() && self.omitted == 0 {
            let (head, more) = rest.split_at(rest.floor_char_boundary(HEAD_BYTES - self.head.len()));
            self.head.push_str(head);
            rest = more;
        }
        self.tail.push_str(rest);
        if self.tail.len() > 2 * TAIL_BYTES {
            self.cut_tail();
        }
    }

    fn cut_tail(&mut self) {
        if self.tail.len() > TAIL_BYTES {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - TAIL_BYTES);
            self.tail.drain(..cut);
            self.omitted += cut;
        }
    }

    /// Head, a mark that says how much is missing (if any), and tail.
    pub(super) fn into_text(mut self) -> String {
        self.cut_tail();
        let mut text = self.head;
        if self.omitted > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n... {} bytes omitted ...\n", self.omitted);
        }
        text.push_str(&self.tail);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{Kept, MAX_KEPT_BYTES, Repair};

    #[test]
    fn text_is_the_same_wherever_it_is_cut() {
        let cases: [(&[u8], &str); 6] = [
            ("aä€😀\0\x1b[0m".as_bytes(), "aä€😀\0\x1b[0m"),
            (b"a\xffb", "a\u{fffd}b"),
            (b"\xe2\x82", "\u{fffd}"),
            (b"\xe2\x82x", "\u{fffd}x"),
            (b"\xf0\x9f\x98\xff", "\u{fffd}\u{fffd}"),
            (b"\xc0\x80", "\u{fffd}\u{fffd}"),
        ];
        for (bytes, expected) in cases {
            for size in 1..=bytes.len() {
                let mut repair = Repair::default();
                let mut text: String = bytes.chunks(size).map(|chunk| repair.push(chunk)).collect();
                text.push_str(&repair.finish());
                assert_eq!(text, expected, "chunks of {size}");
            }
        }
    }

    #[test]
    fn little_text_is_kept_whole_and_much_keeps_both_ends() {
        let mut kept = Kept::default();
        kept.push("hello ");
        kept.push("world");
        assert_eq!(kept.into_text(), "hello world");

        let total = 3_000_000;
        let mut kept = Kept::default();
        for line in 0..total / 10 {
            kept.push(&format!("é{line:07}\n"));
        }
        let text = kept.into_text();
        assert!(
            text.len() <= MAX_KEPT_BYTES && text.len() > MAX_KEPT_BYTES - 100,
            "{}",
            text.len()
        );
        assert!(text.starts_with("é0000000\n") && text.ends_with("é0299999\n"));
        let (head, rest) = text.split_once("\n... ").unwrap();
        let (omitted, tail) = rest.split_once(" bytes omitted ...\n").unwrap();
        assert_eq!(head.len() + omitted.parse::<usize>().unwrap() + tail.len(), total);
    }
}
