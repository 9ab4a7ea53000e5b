//! Finds and kills the processes below one process, wherever they went: other sessions, other groups, double forks. Works
//! because the helper is a child subreaper, so that orphans become its children instead of init's.

use std::collections::{HashMap, HashSet};
use std::fs;

use crate::sys;

/// How often a kill pass looks for processes that were born while it stopped the others.
const STOP_ROUNDS: usize = 16;

/// What one pass of signals met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pass {
    /// Processes that took the signal.
    pub(crate) signalled: u32,
    /// Processes of other users, which may not be signalled.
    pub(crate) refused: u32,
}

/// A process, as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// It ended and was not waited for.
    pub(crate) ended: bool,
}

/// Kills these roots and everything below them, for good. A root must be a child that was not waited for yet, so that its
/// number cannot mean somebody else.
pub(crate) fn kill_trees(roots: &[i32]) {
    if roots.is_empty() {
        return;
    }
    // Stop the roots first: they must not fork, and orphans must stay below them while we look.
    for root in roots {
        let _ = sys::kill(*root, libc::SIGSTOP);
    }
    kill_rounds(|| below(roots));
    for root in roots {
        let _ = sys::kill(*root, libc::SIGKILL);
    }
}

/// Sends SIGTERM to everything below `root` and wakes what was stopped, so that it hears it.
pub(crate) fn terminate_below(root: i32) {
    for pid in below(&[root]) {
        let _ = sys::kill(pid, libc::SIGTERM);
        let _ = sys::kill(pid, libc::SIGCONT);
    }
}

/// One kill pass over everything below `root`, see [`kill_rounds`].
pub(crate) fn kill_below(root: i32) -> Pass {
    kill_rounds(|| below(&[root]))
}

/// One kill pass over all processes that `find` finds: stop all, so that nobody forks away, then kill all. The caller
/// repeats it until nobody is left.
pub(crate) fn kill_rounds(find: impl Fn() -> Vec<i32>) -> Pass {
    let mut seen = HashSet::new();
    for _ in 0..STOP_ROUNDS {
        let fresh: Vec<i32> = find().into_iter().filter(|pid| seen.insert(*pid)).collect();
        if fresh.is_empty() {
            break;
        }
        for pid in fresh {
            let _ = sys::kill(pid, libc::SIGSTOP);
        }
    }
    let mut pass = Pass::default();
    for pid in seen {
        match sys::kill(pid, libc::SIGKILL) {
            Ok(()) => pass.signalled += 1,
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => pass.refused += 1,
            // Gone since we looked.
            Err(_) => {}
        }
    }
    pass
}

/// All processes, from one look at `/proc`.
pub(crate) fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(process).collect()
}

/// All processes below the roots, from one look at `/proc`.
pub(crate) fn below(roots: &[i32]) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in processes() {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = Vec::new();
    let mut open = roots.to_vec();
    while let Some(pid) = open.pop() {
        let next = children.remove(&pid).unwrap_or_default();
        found.extend_from_slice(&next);
        open.extend(next);
    }
    found
}

/// The parent of a process that is there.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    process(pid).map(|process| process.parent)
}

fn process(pid: i32) -> Option<Process> {
    parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a stat line: id, name, state, parent, group, session. The name, in parentheses, may hold anything, also
/// parentheses.
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        session,
        ended,
    })
}

#[cfg(test)]
mod tests {
    use super::{Process, parse};

    #[test]
    fn names_cannot_fool_the_parser() {
        let expected = |ended| Process {
            pid: 12,
            parent: 7,
            session: 9,
            ended,
        };
        assert_eq!(parse(12, b"12 (sh) S 7 12 9 0"), Some(expected(false)));
        assert_eq!(parse(12, b"12 (a) R 1 (b) Z 7 12 9 0"), Some(expected(true)));
        assert_eq!(parse(12, b"12 (\xff) S 7 12 9"), Some(expected(false)));
        assert_eq!(parse(12, b"12 (sh"), None);
        assert_eq!(parse(12, b"12 (sh) S 7"), None);
    }
}
