//! Who is on the other side of the Unix socket: a client, or a command that the daemon itself runs.
//!
//! A command whose network is on can reach the daemon's socket, and could start a thread with more rights than its own. So
//! processes that descend from the daemon are no clients.

/// Longest chain of parents that is followed.
const MAX_DEPTH: usize = 64;

/// Whether a process descends from this daemon, as all its commands do: their supervisors adopt what they leave behind.
pub fn is_own_command(pid: i32) -> bool {
    descends_from(pid, std::process::id())
}

fn descends_from(pid: i32, ancestor: u32) -> bool {
    let mut current = u32::try_from(pid).ok();
    for _ in 0..MAX_DEPTH {
        current = current.and_then(parent);
        match current {
            Some(parent) if parent == ancestor => return true,
            Some(parent) if parent > 1 => {}
            _ => return false,
        }
    }
    false
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold spaces and parentheses.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_descend_and_others_do_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("10")
            .spawn()
            .expect("sleep runs");
        let pid = i32::try_from(child.id()).expect("a pid");
        assert!(is_own_command(pid));
        assert!(!descends_from(1, std::process::id()));
        assert!(
            !is_own_command(i32::try_from(std::process::id()).expect("a pid")),
            "the daemon itself is no command"
        );
        child.kill().expect("sleep ends");
        child.wait().expect("sleep is reaped");
    }
}
