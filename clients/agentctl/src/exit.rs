//! The exit codes, in one place, because scripts rely on them. `cli.rs` documents them in `--help`.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All was done.
    Completed,
    /// The turn, the daemon or we failed.
    Failed,
    /// The command line made no sense (clap uses the same code).
    Usage,
    /// It ended, but something was declined or cancelled at an approval, so the work may be incomplete.
    Declined,
    /// Ctrl-C.
    Interrupted,
}

/// Exit code after Ctrl-C, as shells expect it.
pub(crate) const INTERRUPTED: u8 = 130;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Completed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Declined => 3,
            Exit::Interrupted => INTERRUPTED,
        })
    }
}

/// A command line that makes no sense, found after parsing; `main` turns it into [`Exit::Usage`].
#[derive(Debug)]
pub(crate) struct UsageError(String);

impl UsageError {
    /// The error with what to tell the person.
    pub(crate) fn of(text: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self(text.into()))
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Standard output takes no more. `main` says so, unless its reader just went away, which is how `| head` ends a filter.
#[derive(Debug)]
pub(crate) struct OutputLost(pub(crate) io::Error);

impl OutputLost {
    /// Whether the reader went away.
    pub(crate) fn reader_left(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

impl fmt::Display for OutputLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write to standard output")
    }
}

impl std::error::Error for OutputLost {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
