//! The daemon's end of one sandbox helper: its process, its socket and the pipe with the command's output. No decisions.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use agentd_sandbox::{HELPER_ARG, Launch, Order, Status};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::clearing::{self, HELPERS};

/// Bytes read from the command's output at once.
const CHUNK: usize = 8 * 1024;
/// How long the helper may take to read its launch, or to end after its last word.
const HELPER_LIMIT: Duration = Duration::from_secs(2);

/// A started helper. Dropping it closes the socket, at which the helper kills the command and ends.
pub(super) struct Link {
    child: Child,
    statuses: Lines<BufReader<OwnedReadHalf>>,
    orders: OwnedWriteHalf,
}

/// The daemon's end of the pipe that a command writes to.
pub(super) struct OutputPipe {
    receiver: Receiver,
    ended: bool,
}

impl Link {
    /// Starts the helper and hands it the launch. The error is for people.
    pub(super) async fn open(helper: &Path, launch: &Launch) -> Result<(Self, OutputPipe), String> {
        let frame = launch
            .to_frame()
            .map_err(|error| format!("encode the command: {error}"))?;
        let (mut link, output) =
            Self::spawn(helper).map_err(|error| format!("start the sandbox helper {}: {error}", helper.display()))?;
        match timeout(HELPER_LIMIT, link.orders.write_all(&frame)).await {
            Ok(Ok(())) => Ok((link, output)),
            Ok(Err(error)) => Err(link.give_up(&error.to_string()).await),
            Err(_) => Err(link.give_up("it did not read it in time").await),
        }
    }

    fn spawn(helper: &Path) -> io::Result<(Self, OutputPipe)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        // One pipe for both streams keeps them in the order in which they were written.
        let (reader, writer) = io::pipe()?;
        let output = OutputPipe {
            receiver: Receiver::from_owned_fd(OwnedFd::from(reader))?,
            ended: false,
        };
        let (statuses, orders) = UnixStream::from_std(ours)?.into_split();
        // All that can fail comes before this: a started helper always has its link.
        let mut command = Command::new(helper);
        command
            .arg(HELPER_ARG)
            // What the loader or the helper could read from the daemon's environment decides about the sandbox: nothing.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(writer.try_clone()?))
            .stderr(Stdio::from(writer))
            // The socket is the link of life: a killed helper could not kill what it owns.
            .kill_on_drop(false);
        let child = HELPERS.start(|| command.spawn(), Child::id)?;
        // It holds our copies of the descriptors that the helper alone may hold.
        drop(command);
        let link = Self {
            child,
            statuses: BufReader::new(statuses).lines(),
            orders,
        };
        Ok((link, output))
    }

    async fn give_up(mut self, reason: &str) -> String {
        self.clear().await;
        self.close().await;
        format!("hand the command to the sandbox helper: {reason}")
    }

    /// The helper's process id, while it was not waited for.
    pub(super) fn helper_pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// The next word of the helper; `None` when it is gone or makes no sense. Loses nothing when dropped.
    pub(super) async fn status(&mut self) -> Option<Status> {
        let line = self.statuses.next_line().await.ok()??;
        serde_json::from_str(&line)
            .inspect_err(|error| tracing::warn!(%error, line, "unknown word of the sandbox helper"))
            .ok()
    }

    /// Wakes a helper that was stopped; others do not notice.
    pub(super) fn wake(&self) {
        if let Some(pid) = self.child_pid().and_then(Pid::from_raw) {
            // It is our child, so this cannot fail before it was waited for.
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    /// Sends an order, and sees to it that it is heard.
    pub(super) async fn order(&mut self, order: Order) -> io::Result<()> {
        self.wake();
        // A few bytes into an empty socket: this does not wait.
        self.orders.write_all(order.as_line()).await
    }

    /// Kills the helper and everything below it, also what a helper that is dead already left behind.
    pub(super) async fn clear(&mut self) {
        if let Some(pid) = self.child_pid() {
            clearing::clear(pid).await;
        }
    }

    /// There only while the child was not waited for, so the number is still its own.
    fn child_pid(&self) -> Option<i32> {
        self.child.id().and_then(|pid| i32::try_from(pid).ok())
    }

    /// Waits for the helper's end, so that no zombie stays.
    pub(super) async fn close(&mut self) {
        let Some(pid) = self.child_pid() else { return };
        let mut ended = timeout(HELPER_LIMIT, self.child.wait()).await.is_ok();
        if !ended {
            tracing::warn!(helper = pid, "the sandbox helper did not end; killing it");
            self.clear().await;
            // If even that hangs in the kernel, the runtime's orphan queue takes it when it ends.
            ended = timeout(HELPER_LIMIT, self.child.wait()).await.is_ok();
        }
        if ended {
            HELPERS.ended(pid);
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The socket closes now; a helper that was stopped must see it.
        self.wake();
    }
}

impl OutputPipe {
    /// Whether all writers of the output are gone.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// The next output; `None` at its end. Loses nothing when dropped.
    pub(super) async fn read(&mut self) -> Option<Vec<u8>> {
        let mut chunk = vec![0; CHUNK];
        match self.receiver.read(&mut chunk).await {
            Ok(length) if length > 0 => {
                chunk.truncate(length);
                Some(chunk)
            }
            _ => {
                self.ended = true;
                None
            }
        }
    }

    /// The next output that is already there.
    pub(super) fn read_now(&mut self) -> Option<Vec<u8>> {
        let mut chunk = vec![0; CHUNK];
        let length = self.receiver.try_read(&mut chunk).ok().filter(|length| *length > 0)?;
        chunk.truncate(length);
        Some(chunk)
    }
}
