//! System calls that std does not offer, each as a small safe function. All `unsafe` of the project is here. No policy: who
//! calls what in which order is written in `command.rs` and `supervise.rs`.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, c_long, c_ulong};

fn check(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn check_long(result: c_long) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// A `prctl` that takes integers only.
fn prctl(option: c_int, value: c_ulong) -> io::Result<c_int> {
    // SAFETY: all options used in this file take integers; nothing is read or written through a pointer.
    let result = unsafe { libc::prctl(option, value, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong) };
    check(result).map(|()| result)
}

/// Forks. `None` in the child, the child's process id in the parent.
///
/// INVARIANT: only the helper calls this, and it has one thread; so the child may do whatever a process may do.
pub(crate) fn fork() -> io::Result<Option<i32>> {
    // SAFETY: the process has a single thread, so no lock can be held by a thread that the child lacks.
    let pid = unsafe { libc::fork() };
    check(pid).map(|()| (pid != 0).then_some(pid))
}

/// Ends the process at once, without destructors or buffers.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Becomes leader of a new session, without a terminal.
pub(crate) fn new_session() -> io::Result<()> {
    // SAFETY: no arguments.
    check(unsafe { libc::setsid() })
}

/// From now on orphans below this process become its children.
pub(crate) fn become_subreaper() -> io::Result<()> {
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1).map(drop)
}

/// Closes this process's memory and `/proc` entries to others of the same user.
pub(crate) fn become_unreadable() -> io::Result<()> {
    prctl(libc::PR_SET_DUMPABLE, 0).map(drop)
}

/// This process is killed when the thread that forked it ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong).map(drop)
}

/// This process is woken, if it was stopped, when the thread that started it ends.
pub(crate) fn wake_without_parent() -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGCONT as c_ulong).map(drop)
}

/// Set-uid programs and file capabilities give nothing from now on.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map(drop)
}

/// This process's id.
pub(crate) fn own_pid() -> i32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::getpid() }
}

/// The parent's process id.
pub(crate) fn parent_pid() -> i32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::getppid() }
}

/// Closes all descriptors from `first` on.
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    close_range(first, 0)
}

/// Lets exec close all descriptors from `first` on.
pub(crate) fn close_from_on_exec(first: RawFd) -> io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC as c_ulong)
}

fn close_range(first: RawFd, flags: c_ulong) -> io::Result<()> {
    // SAFETY: integers only. The helper closes descriptors before it owns any but 0, 1 and 2, so no owner is left behind.
    check_long(unsafe { libc::syscall(libc::SYS_close_range, first as c_ulong, c_ulong::from(u32::MAX), flags) })
}

/// Makes `target` a copy of `source` that stays open over exec.
pub(crate) fn replace_fd(source: BorrowedFd<'_>, target: RawFd) -> io::Result<()> {
    // SAFETY: `source` is open; whoever held `target` (one of 0, 1, 2) keeps a number that is open.
    check(unsafe { libc::dup2(source.as_raw_fd(), target) })
}

/// Takes over the descriptor `fd`, which this process was started with.
pub(crate) fn inherited_fd(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `fcntl(F_GETFD)` only asks whether the number is open.
    check(unsafe { libc::fcntl(fd, libc::F_GETFD) })?;
    // SAFETY: it is open, and the helper calls this once for a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct CapabilitySet {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// Drops all capabilities and, as far as allowed, the bounding set, so that not even root gets one back by exec. Checks
/// that none is left.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_READ, capability) {
            // Not permitted without CAP_SETPCAP; then no_new_privs alone keeps them away.
            Ok(1) => drop(prctl(libc::PR_CAPBSET_DROP, capability)),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    let mut header = CapabilityHeader {
        version: CAPABILITY_VERSION_3,
        pid: 0,
    };
    let empty = [CapabilitySet::default(); 2];
    // SAFETY: header and two data elements are what version 3 reads; both live over the call.
    check_long(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, empty.as_ptr()) })?;
    let full = CapabilitySet {
        effective: 1,
        permitted: 1,
        inheritable: 1,
    };
    let mut left = [full; 2];
    // SAFETY: as above; the kernel writes two elements into `left`.
    check_long(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, left.as_mut_ptr()) })?;
    if left == empty {
        Ok(())
    } else {
        Err(io::Error::other("capabilities are left after dropping them"))
    }
}

/// No core files.
pub(crate) fn forbid_core_files() -> io::Result<()> {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `none` lives over the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) })
}

/// A set of these signals.
fn signal_set(signals: &[c_int]) -> libc::sigset_t {
    // SAFETY: `sigset_t` is plain data and `sigemptyset` makes it valid; `sigaddset` gets a valid set.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Blocks these signals and opens a descriptor that yields them.
pub(crate) fn receive_signals(signals: &[c_int]) -> io::Result<OwnedFd> {
    let set = signal_set(signals);
    // SAFETY: `set` is valid and lives over both calls; no old set is asked for.
    unsafe {
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()))?;
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        check(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// The next signal from [`receive_signals`], if one is there.
pub(crate) fn next_signal(signals: BorrowedFd<'_>) -> Option<c_int> {
    // SAFETY: `signalfd_siginfo` is plain data; the kernel writes whole records into it.
    unsafe {
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let size = size_of_val(&info);
        let read = libc::read(signals.as_raw_fd(), (&raw mut info).cast(), size);
        (read == size as isize).then_some(info.ssi_signo as c_int)
    }
}

/// All signals as a fresh program expects them: default action, none blocked.
pub(crate) fn reset_signals() {
    // The kernel's `struct sigaction`: all zero is the default action without flags. libc's wrappers refuse the two
    // signals that they keep for themselves, which may have been inherited as ignored.
    let default = [0_u64; 4];
    let none = signal_set(&[]);
    // SAFETY: the kernel reads one `struct sigaction` (at most 32 bytes) and a mask of 8 bytes; for SIGKILL and SIGSTOP
    // the call fails, harmlessly.
    unsafe {
        for signal in 1..=64_i32 {
            let mask_size: libc::size_t = 8;
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                ptr::null_mut::<u64>(),
                mask_size,
            );
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Waits until one of the descriptors can be read (or is closed) or the time is over. `None` in `fds` is skipped. Tells for
/// each whether it is ready. `timeout` in milliseconds, -1: none.
pub(crate) fn wait_readable<const N: usize>(fds: [Option<BorrowedFd<'_>>; N], timeout: c_int) -> io::Result<[bool; N]> {
    let mut polled = fds.map(|fd| libc::pollfd {
        // Negative numbers are ignored by the kernel.
        fd: fd.map_or(-1, |fd| fd.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: the array lives over the call and its length is passed.
    let result = unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, timeout) };
    match check(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(polled.map(|entry| entry.revents != 0)),
    }
}

/// What [`reap`] found.
pub(crate) enum Reaped {
    /// This child ended with this wait status.
    Child(i32, c_int),
    /// There are children, all alive.
    AllAlive,
    /// There are no children.
    NoChildren,
}

/// Takes one ended child, if there is one.
pub(crate) fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: `status` lives over the call.
    match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
        0 => Reaped::AllAlive,
        pid if pid > 0 => Reaped::Child(pid, status),
        _ => Reaped::NoChildren,
    }
}

/// Takes the end of this child, if it ended. The status is of no interest.
pub(crate) fn reap_child(pid: i32) {
    if pid > 1 {
        // SAFETY: no status is asked for, so nothing is written.
        unsafe { libc::waitpid(pid, ptr::null_mut(), libc::WNOHANG) };
    }
}

/// Sends a signal to one process.
pub(crate) fn kill(pid: i32, signal: c_int) -> io::Result<()> {
    if pid <= 1 {
        // 0 and below mean groups, 1 is init: never what is meant here.
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: integers only.
    check(unsafe { libc::kill(pid, signal) })
}

/// The landlock ABI of the kernel, 0 if it has none.
pub(crate) fn landlock_abi() -> i32 {
    const VERSION: c_ulong = 1;
    // SAFETY: with this flag the kernel wants no attributes (null, size 0) and only answers a number.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::null::<libc::c_void>(),
            0 as c_ulong,
            VERSION,
        )
    };
    i32::try_from(abi).unwrap_or(0).max(0)
}

/// Whether seccomp filters that answer with an error number can be installed.
pub(crate) fn seccomp_available() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    let ask = c_ulong::from(libc::SECCOMP_GET_ACTION_AVAIL);
    // SAFETY: the kernel reads one `u32`, which lives over the call.
    unsafe { libc::syscall(libc::SYS_seccomp, ask, 0 as c_ulong, &raw const action) == 0 }
}

/// Replaces this process by a program. Returns only on failure.
pub(crate) fn exec(program: &CStr, argv: &[CString], env: &[CString]) -> io::Error {
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let (argv, env) = (pointers(argv), pointers(env));
    // SAFETY: both arrays end with null and, like the strings they point to, live over the call.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}
