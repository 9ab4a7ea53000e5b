//! Notices the end of the command's first process without the helper. A helper that was stopped (`kill -STOP $PPID`) tells
//! nothing, and it sleeps until somebody wakes it.

use std::future::pending;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::net::unix::pipe::Receiver;

/// Completes once when a process ends.
pub(super) struct Ending(Option<Receiver>);

impl Ending {
    /// Of no process: never completes.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Of the process with this id. One that is gone already, or a kernel without process descriptors, never completes:
    /// then the helper's word alone counts.
    pub(super) fn of(pid: i32) -> Self {
        let descriptor = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok());
        // A process descriptor can be read from, in this sense, when the process ended; nothing is ever read. The runtime
        // has no safe type for it by name, and the pipe's does no more than wait.
        Self(descriptor.and_then(|fd| Receiver::from_owned_fd_unchecked(fd).ok()))
    }

    /// Waits for the end. Loses nothing when dropped.
    pub(super) async fn wait(&mut self) {
        if let Some(descriptor) = &self.0 {
            // An error would mean that the runtime ends.
            let _ = descriptor.readable().await;
            self.0 = None;
        } else {
            pending().await
        }
    }
}
