//! Ending a daemon: SIGTERM to the process that the home's lock file names, then a bounded wait. Starting is the client
//! crate's part.

use std::time::{Duration, Instant};

use agentd_client::{Home, Owner};
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a killed process may take to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// What [`stop`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It ended within this time.
    Ended { pid: i32, after: Duration },
    /// None ran.
    WasNotRunning,
}

/// Asks the daemon of `home` to end and waits. With `force` it is killed when the time is over; without, that is an error.
pub(crate) fn stop(home: &Home, limit: Duration, force: bool) -> anyhow::Result<Stopped> {
    match Owner::of(home) {
        Some(owner) => end(owner, limit, force),
        None => Ok(Stopped::WasNotRunning),
    }
}

/// Ends this very process: SIGTERM, and when the time is over SIGKILL or an error.
pub(crate) fn end(owner: Owner, limit: Duration, force: bool) -> anyhow::Result<Stopped> {
    let began = Instant::now();
    signal(owner.pid, Signal::TERM)?;
    if wait_gone(owner, limit) {
        return Ok(Stopped::Ended {
            pid: owner.pid,
            after: began.elapsed(),
        });
    }
    if !force {
        bail!(
            "agentd (pid {}) still runs after {} s; a turn may be finishing: wait longer (--timeout) or use --force",
            owner.pid,
            limit.as_secs()
        );
    }
    signal(owner.pid, Signal::KILL)?;
    if !wait_gone(owner, KILL_LIMIT) {
        bail!("agentd (pid {}) does not end even when it is killed", owner.pid);
    }
    Ok(Stopped::Ended {
        pid: owner.pid,
        after: began.elapsed(),
    })
}

/// Waits until this process is gone; `false` when the time is over.
fn wait_gone(owner: Owner, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while owner.lives() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    true
}

fn signal(pid: i32, signal: Signal) -> anyhow::Result<()> {
    let target = Pid::from_raw(pid).with_context(|| format!("{pid} is not a process id"))?;
    match kill_process(target, signal) {
        // It ended between the look and the signal: what we wanted.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("signal agentd (pid {pid})")),
    }
}
