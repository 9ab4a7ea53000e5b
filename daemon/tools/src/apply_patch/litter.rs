//! Temporary names beside the files of a patch: how they are made, and how those of a killed process are removed.
//!
//! Never removes what may be the only copy of a file: an original that was taken away has a name of its own kind.

use std::collections::HashSet;
use std::ffi::{CStr, OsString};
use std::os::fd::OwnedFd;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};

use super::plan::{Change, Step};

/// Begins every temporary name.
const PREFIX: &str = ".agentd-patch-";

/// A name for new content, and for what it replaces once it is in place. Unique in this process.
pub(super) fn staged_name() -> OsString {
    format!("{PREFIX}{}", unique()).into()
}

/// A name for an original that is taken away. Stays if the process is killed: there may be no other copy.
pub(super) fn original_name() -> OsString {
    format!("{PREFIX}original-{}", unique()).into()
}

fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Removes what killed processes staged in the folders of these steps. What cannot be removed is only litter, so no error.
pub(super) fn sweep(steps: &[Step]) {
    let mut seen = HashSet::new();
    for step in steps {
        let moved = match &step.change {
            Change::Move { to, .. } => Some(to),
            Change::Add { .. } | Change::Update { .. } | Change::Delete { .. } | Change::Keep { .. } => None,
        };
        for target in [Some(&step.target), moved].into_iter().flatten() {
            let dir = &target.place.dir;
            if fstat(dir).is_ok_and(|stat| seen.insert((stat.st_dev, stat.st_ino))) {
                sweep_folder(dir);
            }
        }
    }
}

fn sweep_folder(dir: &OwnedFd) {
    // The folder is open as a place only; to be read it is opened once more.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(entries) = openat(dir, c".", flags, Mode::empty()).and_then(Dir::new) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_ok_and(is_stale) && is_own_file(dir, name) {
            let _ = unlinkat(dir, name, AtFlags::empty());
        }
    }
}

fn is_own_file(dir: &OwnedFd, name: &CStr) -> bool {
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_uid == geteuid().as_raw()
    })
}

/// Whether this is a staged name whose process is gone.
fn is_stale(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    let Some((pid, number)) = parts else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let pid = digits(pid).then(|| pid.parse().ok()).flatten().and_then(Pid::from_raw);
    digits(number) && pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}
