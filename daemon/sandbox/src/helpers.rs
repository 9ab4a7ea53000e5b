//! The daemon's side of ownership: which helpers live, and the end of what a dead one left behind.
//!
//! A helper that is killed cannot kill what it owns. So the daemon is a subreaper too ([`adopt_orphans`]): what a dead
//! helper leaves becomes the daemon's child instead of init's. A living helper adopts its own orphans, so every child of
//! the daemon in a foreign session that is no helper belongs to a dead one. Never waits for a helper itself: that is
//! its starter's business. Not covered: helper and daemon killed in one moment, which only namespaces could own.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::sys;
use crate::tree::{self, Pass, Process};

/// Between two looks at what is being killed.
const PAUSE: Duration = Duration::from_millis(5);
/// How long killed processes may take to go; what is still there then hangs in the kernel.
const LIMIT: Duration = Duration::from_secs(3);

/// Makes this process the parent of the orphans below it, so that [`Helpers::clear`] can find them. Once, at the start.
///
/// # Errors
/// The kernel refuses it (older than 3.4).
pub fn adopt_orphans() -> io::Result<()> {
    sys::become_subreaper()
}

/// The helpers of this process. One for the process: it tells helpers from orphans among all children.
#[derive(Debug, Default)]
pub struct Helpers {
    live: Mutex<BTreeSet<i32>>,
}

/// What one look at the daemon's children led to.
struct Sweep {
    /// Helpers and orphans that still run.
    alive: usize,
    /// What came of the signals to the orphans.
    pass: Pass,
}

impl Helpers {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            live: Mutex::new(BTreeSet::new()),
        }
    }

    /// Starts a helper. `spawn` starts exactly one process and must not wait for anything else; `pid` reads its id.
    ///
    /// # Errors
    /// Those of `spawn`.
    pub fn start<T>(
        &self,
        spawn: impl FnOnce() -> io::Result<T>,
        pid: impl FnOnce(&T) -> Option<u32>,
    ) -> io::Result<T> {
        // Held over the start: a child that is not known yet must not be taken for an orphan.
        let mut live = self.live();
        let started = spawn()?;
        live.extend(pid(&started).and_then(|pid| i32::try_from(pid).ok()));
        Ok(started)
    }

    /// This helper ended and was waited for.
    pub fn ended(&self, helper: i32) {
        self.live().remove(&helper);
    }

    /// Kills these helpers with everything below them, and all orphans of dead ones; takes the orphans' ends. Blocks for
    /// a few milliseconds, and up to three seconds for processes that hang in the kernel. Returns how many processes are
    /// left: those that hang, or belong to other users.
    pub fn clear(&self, failed: &[i32]) -> usize {
        let failed: Vec<i32> = failed
            .iter()
            .copied()
            .filter(|pid| tree::parent_of(*pid) == Some(sys::own_pid()))
            .collect();
        tree::kill_trees(&failed);
        let began = Instant::now();
        loop {
            let Sweep { alive, pass } = self.sweep(&failed);
            let only_foreign = pass.signalled == 0 && pass.refused > 0;
            if alive == 0 || only_foreign || began.elapsed() > LIMIT {
                return alive;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Kills all orphans that are there now and takes the ends of those that are dead.
    fn sweep(&self, failed: &[i32]) -> Sweep {
        let (dead, orphans, helpers) = self.look(failed);
        for pid in dead {
            sys::reap_child(pid);
        }
        let pass = if orphans.is_empty() {
            Pass::default()
        } else {
            tree::kill_rounds(|| {
                let (_, mut found, _) = self.look(failed);
                found.extend(tree::below(&found));
                found
            })
        };
        Sweep {
            alive: orphans.len() + helpers,
            pass,
        }
    }

    /// Dead orphans, living orphans, and how many of the failed helpers still live.
    fn look(&self, failed: &[i32]) -> (Vec<i32>, Vec<i32>, usize) {
        // Known before or after the look means no orphan: a helper that comes meanwhile is known after it, one that goes
        // was known before it. So nobody has to wait while `/proc` is read.
        let before = self.live().clone();
        let own = sys::own_pid();
        let all = tree::processes();
        let own_session = all.iter().find(|process| process.pid == own).map(|own| own.session);
        let children: Vec<&Process> = all.iter().filter(|process| process.parent == own).collect();
        let mut live = self.live();
        // Those that the runtime waited for after their owner was dropped.
        live.retain(|pid| !before.contains(pid) || children.iter().any(|child| child.pid == *pid));
        let (mut dead, mut orphans, mut helpers) = (Vec::new(), Vec::new(), 0);
        for child in children {
            let known = before.contains(&child.pid) || live.contains(&child.pid);
            if known {
                helpers += usize::from(!child.ended && failed.contains(&child.pid));
            } else if Some(child.session) != own_session {
                if child.ended { &mut dead } else { &mut orphans }.push(child.pid);
            }
        }
        (dead, orphans, helpers)
    }

    fn live(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
