//! Reading lines from the controlling terminal without being deaf to the rest of the world: the wait looks up ten times a
//! second and asks its owner whether the question still stands.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Read, Write, stderr};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Longest line taken from a person, in bytes.
const MAX_LINE: usize = 64 * 1024;

/// What came of a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line, without its end.
    Line(String),
    /// End of input (Ctrl-D).
    End,
    /// The owner said that the question no longer stands.
    Withdrawn,
}

/// The terminal of the person in front.
pub(crate) struct Tty {
    file: File,
}

impl Tty {
    /// The controlling terminal, if there is one and a person can see our questions.
    pub(crate) fn open() -> Option<Self> {
        if !stderr().is_terminal() && !std::io::stdout().is_terminal() {
            return None;
        }
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        file.is_terminal().then_some(Self { file })
    }

    /// Writes `prompt` and waits for a line for as long as `stands` says that the question stands.
    pub(crate) fn ask(&mut self, prompt: &str, mut stands: impl FnMut() -> bool) -> anyhow::Result<Typed> {
        write!(self.file, "{prompt}")
            .and_then(|()| self.file.flush())
            .context("write to the terminal")?;
        let mut line = Vec::new();
        loop {
            if !stands() {
                let _ = writeln!(self.file);
                return Ok(Typed::Withdrawn);
            }
            if !self.readable()? {
                continue;
            }
            // The terminal hands over whole lines (canonical mode), so one byte at a time does not block inside a line.
            let mut byte = [0];
            match self.file.read(&mut byte) {
                Ok(0) => return Ok(Typed::End),
                Ok(_) if byte == *b"\n" || line.len() >= MAX_LINE => {
                    return Ok(Typed::Line(String::from_utf8_lossy(&line).into_owned()));
                }
                Ok(_) => line.extend_from_slice(&byte),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("read from the terminal"),
            }
        }
    }

    fn readable(&self) -> anyhow::Result<bool> {
        let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
        match poll(&mut fds, Some(&LOOK_EVERY)) {
            Ok(ready) => Ok(ready > 0),
            // Ctrl-C arrives as an interrupted poll; the owner's next `stands` sees the flag.
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error).context("wait for the terminal"),
        }
    }
}
