//! The processes below the daemon, found through `/proc`, each named by pid and start time so that a reused pid is not
//! mistaken for a survivor.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use agentd_client::Owner;

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// All living descendants of a process.
pub(super) fn descendants(pid: u32) -> Vec<Owner> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(child) {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![i32::try_from(pid).unwrap_or_default()];
    while let Some(parent) = open.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        found.extend(below.iter().filter_map(|pid| Owner::of_pid(*pid)));
        open.extend(below);
    }
    found
}

/// Waits until all of them are gone; gives the pids of those that are not.
pub(super) fn wait_gone(processes: &[Owner], limit: Duration) -> Vec<i32> {
    let deadline = Instant::now() + limit;
    loop {
        let left: Vec<i32> = processes.iter().filter(|p| p.lives()).map(|p| p.pid).collect();
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.get(stat.rfind(')')? + 1..)?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grandchildren_are_found_and_their_end_is_seen() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 30; true"])
            .spawn()
            .expect("spawn sh");
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut found = descendants(child.id());
        while found.is_empty() && Instant::now() < deadline {
            std::thread::sleep(LOOK_EVERY);
            found = descendants(child.id());
        }
        let [sleeper] = found.as_slice() else {
            panic!("expected the sleep, got {found:?}")
        };
        assert_eq!(wait_gone(&found, Duration::ZERO), [sleeper.pid]);
        let pid = rustix::process::Pid::from_raw(sleeper.pid).expect("pid");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("kill the sleep");
        assert!(wait_gone(&found, Duration::from_secs(5)).is_empty());
        child.wait().expect("wait");
    }
}
