//! The exit codes, in one place, because scripts rely on them. `cli.rs` documents them in `--help`.

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
