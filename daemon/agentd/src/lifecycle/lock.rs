//! The kernel lock that makes a process the one server of its home. Held for life; the kernel gives it back whatever ends
//! the process. The text in the file is for messages only: nothing is decided by it.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

/// Name of the lock file in the home.
const FILE_NAME: &str = "agentd.lock";

/// How often and how far apart the text of a holder is looked for that has not written it yet.
const TEXT_TRIES: u32 = 20;
const TEXT_PAUSE: Duration = Duration::from_millis(5);

/// The lock.
#[derive(Debug)]
pub struct Lock {
    file: File,
    since: jiff::Timestamp,
}

/// Who has the lock, as the file says.
#[derive(Clone, Debug)]
pub struct Holder(String);

/// What an attempt led to.
#[derive(Debug)]
pub enum Attempt {
    /// It is ours.
    Taken(Lock),
    /// Another process has it.
    Held(Holder),
}

impl Lock {
    /// Tries to take the lock of a home. Does not wait for it; for a holder that has only just taken it and not yet said who
    /// it is, at most a tenth of a second.
    ///
    /// # Errors
    /// The file cannot be opened or locked at all.
    pub fn attempt(home: &Path) -> anyhow::Result<Attempt> {
        let path = home.join(FILE_NAME);
        let doing = || format!("lock {}", path.display());
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .with_context(doing)?;
        match file.try_lock() {
            Ok(()) => {
                let mut lock = Self {
                    file,
                    since: jiff::Timestamp::now(),
                };
                lock.describe("starting")?;
                Ok(Attempt::Taken(lock))
            }
            Err(TryLockError::WouldBlock) => Ok(Attempt::Held(Holder(read_text(&mut file)))),
            Err(TryLockError::Error(error)) => Err(error).with_context(doing),
        }
    }

    /// Says in the file what the holder does: `starting`, `ending`, or where it listens.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn describe(&mut self, doing: &str) -> anyhow::Result<()> {
        let text = format!("pid={} since={:.0} {doing}\n", std::process::id(), self.since);
        let written = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(text.as_bytes()));
        written
            .and_then(|()| self.file.set_len(text.len() as u64))
            .context("write the lock file")
    }
}

/// The text of the file. Without one there is only less to tell.
fn read_text(file: &mut File) -> String {
    let mut text = String::new();
    for _ in 0..TEXT_TRIES {
        let _ = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.read_to_string(&mut text));
        if !text.trim().is_empty() {
            break;
        }
        std::thread::sleep(TEXT_PAUSE);
    }
    text.trim().to_owned()
}

impl Holder {
    /// Whether it says that it listens.
    pub fn is_listening(&self) -> bool {
        self.0.contains(" socket=")
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("it has not said who it is")
        } else {
            f.write_str(&self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_whatever_the_file_says() {
        let home = tempfile::tempdir().expect("tempdir");
        std::fs::write(
            home.path().join(FILE_NAME),
            "pid=1 since=ever socket=/nowhere, and a long text after it\n",
        )
        .expect("written");
        let Attempt::Taken(mut lock) = Lock::attempt(home.path()).expect("attempt") else {
            panic!("stale text blocks")
        };
        lock.describe("socket=/s").expect("described");
        let Attempt::Held(holder) = Lock::attempt(home.path()).expect("attempt") else {
            panic!("two holders")
        };
        assert!(holder.is_listening());
        let shown = holder.to_string();
        assert!(
            shown.starts_with(&format!("pid={} since=", std::process::id())) && shown.ends_with(" socket=/s"),
            "{shown}"
        );
        drop(lock);
        assert!(matches!(
            Lock::attempt(home.path()).expect("attempt"),
            Attempt::Taken(_)
        ));
    }
}
