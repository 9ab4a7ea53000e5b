//! How much of a command's running output is shown live.
//!
//! The first mebibyte is shown byte for byte. A command that goes on writing is shown at the pace that a client can follow:
//! what is left out is counted and said. The finished item has the head and the tail either way.

/// Shown without any limit, in bytes; as much as the finished item keeps.
const FREE: usize = 1 << 20;
/// Shown in one window after that, in bytes.
const PER_WINDOW: usize = 64 * 1024;
/// Length of a window in milliseconds.
const WINDOW_MS: i64 = 100;

/// The live output of one command.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    shown: usize,
    window_began_ms: i64,
    in_window: usize,
    left_out: usize,
}

impl Flow {
    /// What to show for a piece of output, in order; nothing if it is left out.
    pub(crate) fn admit(&mut self, text: String, now_ms: i64) -> Vec<String> {
        if self.shown + text.len() <= FREE {
            self.shown += text.len();
            return vec![text];
        }
        if now_ms - self.window_began_ms >= WINDOW_MS {
            (self.window_began_ms, self.in_window) = (now_ms, 0);
        }
        if self.in_window + text.len() > PER_WINDOW {
            self.left_out += text.len();
            return Vec::new();
        }
        self.in_window += text.len();
        match std::mem::take(&mut self.left_out) {
            0 => vec![text],
            bytes => vec![format!("\n[... {bytes} bytes not shown ...]\n"), text],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mebibyte_is_shown_whole_and_a_flood_at_a_pace() {
        let piece = "x".repeat(8192);
        let mut flow = Flow::default();
        let mut shown = 0;
        for n in 0..100_000 {
            // 800 MB within one second.
            let pieces = flow.admit(piece.clone(), n / 100);
            shown += pieces.iter().map(String::len).sum::<usize>();
            assert!(n >= 128 || pieces.len() == 1, "piece {n} of the first mebibyte");
        }
        assert!((FREE..FREE + 11 * (PER_WINDOW + 64)).contains(&shown), "{shown}");
        let later = flow.admit("end".to_owned(), 10_000);
        assert!(later[0].contains("bytes not shown") && later[1] == "end", "{later:?}");
    }
}
