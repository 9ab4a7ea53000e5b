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

/// Kills `root` and everything below it, for good. For the daemon's last resort, when the helper itself does not answer;
/// `root` must be a child that was not waited for yet, so that its number cannot mean somebody else.
pub fn kill_tree(root: i32) {
    // Stop the root first: it must not fork, and orphans must stay below it while we look.
    let _ = sys::kill(root, libc::SIGSTOP);
    kill_below(root);
    let _ = sys::kill(root, libc::SIGKILL);
}

/// Sends SIGTERM to everything below `root` and wakes what was stopped, so that it hears it.
pub(crate) fn terminate_below(root: i32) {
    for pid in below(root) {
        let _ = sys::kill(pid, libc::SIGTERM);
        let _ = sys::kill(pid, libc::SIGCONT);
    }
}

/// One kill pass over everything below `root`: stop all, so that nobody forks away, then kill all. The caller repeats it
/// until nobody is left.
pub(crate) fn kill_below(root: i32) -> Pass {
    let mut seen = HashSet::new();
    for _ in 0..STOP_ROUNDS {
        let fresh: Vec<i32> = below(root).into_iter().filter(|pid| seen.insert(*pid)).collect();
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

/// All processes below `root`, from one look at `/proc`.
fn below(root: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        let next = children.remove(&pid).unwrap_or_default();
        found.extend_from_slice(&next);
        open.extend(next);
    }
    found
}

fn parent_of(pid: i32) -> Option<i32> {
    parse_parent(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The fourth field of a stat line. The second one, the name in parentheses, may hold anything, also parentheses.
fn parse_parent(stat: &[u8]) -> Option<i32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse_parent;

    #[test]
    fn names_cannot_fool_the_parser() {
        assert_eq!(parse_parent(b"12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parse_parent(b"12 (a) R 1 (b) S 7 12 12 0"), Some(7));
        assert_eq!(parse_parent(b"12 (\xff) S 7 12"), Some(7));
        assert_eq!(parse_parent(b"12 (sh"), None);
    }
}
