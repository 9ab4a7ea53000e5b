//! A sign of life on standard error while nothing else moves. It draws only on a terminal, only when asked, and takes
//! itself away before anything else is written.

use std::io::{IsTerminal, Write, stderr};
use std::time::Instant;

use super::style::Style;
use super::text::seconds;

const FRAMES: [char; 8] = ['⠋', '⠙', '⠸', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// Quiet for so long before it shows up, in milliseconds; short waits need no sign.
const PATIENCE_MS: u128 = 300;

/// The spinner.
pub(crate) struct Spinner {
    on: bool,
    style: Style,
    since: Instant,
    drawn: bool,
}

impl Spinner {
    pub(crate) fn new() -> Self {
        let on = stderr().is_terminal();
        Self {
            on,
            style: Style::of(on),
            since: Instant::now(),
            drawn: false,
        }
    }

    /// Draws the next frame with what is going on.
    pub(crate) fn tick(&mut self, doing: &str) {
        let quiet = self.since.elapsed().as_millis();
        if !self.on || quiet < PATIENCE_MS {
            return;
        }
        let frame = usize::try_from(quiet / 100)
            .ok()
            .and_then(|n| FRAMES.get(n % FRAMES.len()))
            .copied()
            .unwrap_or('·');
        let elapsed = seconds(i64::try_from(quiet).unwrap_or(i64::MAX));
        let line = format!("{frame} {doing} {elapsed}");
        let _ = write!(stderr(), "\r\x1b[K{}", self.style.dim(&line));
        let _ = stderr().flush();
        self.drawn = true;
    }

    /// Takes it away, because something else is about to be written.
    pub(crate) fn clear(&mut self) {
        if self.drawn {
            let _ = write!(stderr(), "\r\x1b[K");
            let _ = stderr().flush();
            self.drawn = false;
        }
        self.since = Instant::now();
    }
}
