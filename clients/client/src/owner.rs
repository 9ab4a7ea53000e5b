//! Who owns a home: the process that the lock file names, checked against `/proc`, because a file outlives its writer and
//! process ids are reused. It reads; it never signals.

use std::fs;
use std::path::Path;

use crate::home::Home;

/// The daemon process of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Process id.
    pub pid: i32,
    /// Kernel start time in clock ticks since boot; together with the pid it names one process for good.
    pub started: u64,
}

impl Owner {
    /// The living daemon that the lock file of `home` names, if there is one.
    pub fn of(home: &Home) -> Option<Self> {
        let text = fs::read_to_string(home.lock_file()).ok()?;
        let pid = parse_pid(&text)?;
        is_agentd(pid).then_some(())?;
        Self::of_pid(pid)
    }

    /// The living process with this id.
    pub fn of_pid(pid: i32) -> Option<Self> {
        let stat = process_stat(pid)?;
        (stat.state != 'Z').then_some(Self {
            pid,
            started: stat.started,
        })
    }

    /// Whether this very process still lives.
    pub fn lives(&self) -> bool {
        Self::of_pid(self.pid) == Some(*self)
    }
}

/// Whether a process with this id exists and has not ended (a zombie has ended).
pub fn is_alive(pid: i32) -> bool {
    Owner::of_pid(pid).is_some()
}

/// Whether this process is a daemon of ours, by the name of its executable or its first argument.
pub fn is_agentd(pid: i32) -> bool {
    let named = |path: &Path| {
        path.file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("agentd"))
    };
    if fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| named(&exe)) {
        return true;
    }
    let Ok(cmdline) = fs::read(format!("/proc/{pid}/cmdline")) else {
        return false;
    };
    let first = cmdline.split(|b| *b == 0).next().unwrap_or_default();
    named(Path::new(&*String::from_utf8_lossy(first)))
}

fn parse_pid(text: &str) -> Option<i32> {
    let word = text
        .lines()
        .next()?
        .split_whitespace()
        .find_map(|w| w.strip_prefix("pid="))?;
    word.parse().ok().filter(|pid| *pid > 1)
}

struct ProcessStat {
    state: char,
    started: u64,
}

fn process_stat(pid: i32) -> Option<ProcessStat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may itself hold spaces and parentheses: count from its end.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let started = fields.nth(18)?.parse().ok()?;
    Some(ProcessStat { state, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_text_names_the_pid_on_its_first_line_only() {
        assert_eq!(parse_pid("pid=4711 started=1\nmore"), Some(4711));
        assert_eq!(parse_pid("version=1 pid=12"), Some(12));
        assert_eq!(parse_pid("\npid=12"), None);
        assert_eq!(parse_pid("pid=1"), None, "never point at init");
        assert_eq!(parse_pid("pid=-5"), None, "never point at a process group");
        assert_eq!(parse_pid(""), None);
    }

    #[test]
    fn this_test_lives_and_is_no_daemon() {
        let pid = i32::try_from(std::process::id()).expect("pid");
        let owner = Owner::of_pid(pid).expect("own process");
        assert!(owner.lives());
        assert!(
            !Owner {
                started: owner.started + 1,
                ..owner
            }
            .lives(),
            "same pid, other process"
        );
    }

    #[test]
    fn a_zombie_does_not_live() {
        let mut child = std::process::Command::new("true").spawn().expect("spawn true");
        let pid = i32::try_from(child.id()).expect("pid");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while is_alive(pid) && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(!is_alive(pid));
        child.wait().expect("wait");
    }
}
