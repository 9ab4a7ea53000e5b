//! The seccomp part of a confinement: system calls that landlock does not see. A list of denials over default allow; the
//! filters look at register values only, so whatever would need to look behind a pointer is denied as a whole.
//!
//! Never denied: `send`, `sendto`, `shutdown`, `getsockopt` and the like. They act on what is already connected, and
//! programs such as Node need them on their socket pairs.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use thiserror::Error;

use crate::filesystem::TRUNCATE_ABI;

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

/// System calls that no confined command needs, whatever their arguments.
const DENIED: &[c_long] = &[
    // Other processes' memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Kernel interfaces with a long history of holes, or that act in the kernel's name.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    // The view of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    // Memory and messages shared with processes outside (no IPC namespace here).
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// As [`DENIED`], for calls that only this architecture has.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[c_long] = &[libc::SYS_iopl, libc::SYS_ioperm];
#[cfg(target_arch = "aarch64")]
const DENIED_HERE: &[c_long] = &[];

/// `open_tree_attr` (kernel 6.15); numbers this high are the same on all architectures.
const SYS_OPEN_TREE_ATTR: c_long = 467;

/// Namespace flags of `clone`. `CLONE_NEWTIME` shares its bit with the exit signal and exists for `clone3` and `unshare`.
const NAMESPACE_FLAGS: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Why the filters could not be built or installed.
#[derive(Debug, Error)]
pub(crate) enum SyscallsError {
    #[error("build seccomp filter: {0}")]
    Build(#[from] BackendError),
    #[error("install seccomp filter: {0}")]
    Install(#[from] seccompiler::Error),
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Confines the calling thread, for good. The last step before exec: after it little else works.
pub(crate) fn confine(network: bool, landlock_abi: i32) -> Result<(), SyscallsError> {
    for program in programs(network, landlock_abi)? {
        seccompiler::apply_filter(&program)?;
    }
    Ok(())
}

/// The filters, one for each answer: `EPERM` for what is denied, `ENOSYS` for what programs shall do in another way.
fn programs(network: bool, landlock_abi: i32) -> Result<Vec<BpfProgram>, SyscallsError> {
    let mut denied = denied()?;
    deny_sockets(&mut denied, network)?;
    let mut absent = Rules::from([(libc::SYS_clone3, Vec::new())]);
    if landlock_abi < TRUNCATE_ABI {
        deny_truncation(&mut denied)?;
        absent.insert(libc::SYS_openat2, Vec::new());
    }
    let mut programs = vec![filter(denied, libc::EPERM)?, filter(absent, libc::ENOSYS)?];
    programs.extend(foreign_numbers());
    Ok(programs)
}

fn filter(rules: Rules, errno: libc::c_int) -> Result<BpfProgram, SyscallsError> {
    let answer = SeccompAction::Errno(errno.unsigned_abs());
    Ok(BpfProgram::try_from(SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        answer,
        ARCH,
    )?)?)
}

/// The denials that hold for every confined command.
fn denied() -> Result<Rules, BackendError> {
    let mut rules: Rules = DENIED
        .iter()
        .chain(DENIED_HERE)
        .map(|number| (*number, Vec::new()))
        .collect();
    rules.insert(
        libc::SYS_clone,
        NAMESPACE_FLAGS
            .iter()
            .map(|flag| bits(0, *flag, *flag))
            .collect::<Result<_, _>>()?,
    );
    rules.insert(libc::SYS_ioctl, vec![equal(1, TIOCSTI)?, equal(1, TIOCLINUX)?]);
    rules.insert(libc::SYS_mknodat, devices(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, devices(1)?);
    // Limits, priority and placement of other processes. Zero means the caller.
    for number in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
        libc::SYS_migrate_pages,
        libc::SYS_move_pages,
    ] {
        rules.insert(number, vec![differs(0, 0)?]);
    }
    rules.insert(libc::SYS_setpriority, vec![differs(1, 0)?, equal(0, PRIO_USER)?]);
    rules.insert(libc::SYS_ioprio_set, vec![differs(1, 0)?, equal(0, IOPRIO_WHO_USER)?]);
    Ok(rules)
}

const TIOCSTI: libc::c_int = 0x5412;
const TIOCLINUX: libc::c_int = 0x541C;
const PRIO_USER: libc::c_int = 2;
const IOPRIO_WHO_USER: libc::c_int = 3;

/// Character and block devices, where argument `mode` is the file's mode.
fn devices(mode: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let kind = libc::S_IFMT.cast_signed();
    Ok(vec![
        bits(mode, kind, libc::S_IFCHR.cast_signed())?,
        bits(mode, kind, libc::S_IFBLK.cast_signed())?,
    ])
}

/// Without a network namespace the only safe network is none: no `socket` at all (unix sockets on disk lead out as well).
/// Socket pairs stay, but not datagram ones: those can send to any path. The kernel takes `SOCK_RAW` for a datagram.
fn deny_sockets(rules: &mut Rules, network: bool) -> Result<(), BackendError> {
    if network {
        rules.insert(libc::SYS_socket, vec![equal(0, libc::AF_VSOCK)?]);
        return Ok(());
    }
    rules.insert(libc::SYS_socket, Vec::new());
    let kind = 0xf;
    rules.insert(
        libc::SYS_socketpair,
        vec![
            differs(0, libc::AF_UNIX)?,
            bits(1, kind, libc::SOCK_DGRAM)?,
            bits(1, kind, libc::SOCK_RAW)?,
        ],
    );
    Ok(())
}

/// Stands in for landlock's TRUNCATE right: denies the ways to empty a file without write access to it. Access mode 3
/// (neither read nor write) is one, because landlock asks for no right then.
fn deny_truncation(rules: &mut Rules) -> Result<(), BackendError> {
    rules.insert(libc::SYS_truncate, Vec::new());
    let truncating = |flags: u8| -> Result<Vec<SeccompRule>, BackendError> {
        let mask = libc::O_TRUNC | libc::O_ACCMODE;
        Ok(vec![
            bits(flags, mask, libc::O_TRUNC | libc::O_RDONLY)?,
            bits(flags, mask, libc::O_TRUNC | libc::O_ACCMODE)?,
        ])
    };
    rules.insert(libc::SYS_openat, truncating(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, truncating(1)?);
    Ok(())
}

/// x86_64 kernels may take x32 numbers (bit 30 set), which would walk past the other filters: `ENOSYS`.
#[cfg(target_arch = "x86_64")]
fn foreign_numbers() -> Option<BpfProgram> {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let step = |code, jt, jf, k| seccompiler::sock_filter { code, jt, jf, k };
    let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    Some(vec![
        step(LOAD_WORD, 0, 0, 0),
        step(JUMP_IF_AT_LEAST, 0, 1, 0x4000_0000),
        step(RETURN, 0, 0, absent),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

/// Other architectures have one table of numbers only.
#[cfg(target_arch = "aarch64")]
fn foreign_numbers() -> Option<BpfProgram> {
    None
}

/// Matches when the low 32 bits of argument `index` equal `value`: the kernel ignores the rest of an `int`.
fn equal(index: u8, value: libc::c_int) -> Result<SeccompRule, BackendError> {
    rule(index, SeccompCmpOp::Eq, value)
}

fn differs(index: u8, value: libc::c_int) -> Result<SeccompRule, BackendError> {
    rule(index, SeccompCmpOp::Ne, value)
}

/// Matches when the bits of `mask` in argument `index` are those of `value`.
fn bits(index: u8, mask: libc::c_int, value: libc::c_int) -> Result<SeccompRule, BackendError> {
    rule(index, SeccompCmpOp::MaskedEq(u64::from(mask.cast_unsigned())), value)
}

fn rule(index: u8, op: SeccompCmpOp, value: libc::c_int) -> Result<SeccompRule, BackendError> {
    let value = u64::from(value.cast_unsigned());
    SeccompRule::new(vec![SeccompCondition::new(index, SeccompCmpArgLen::Dword, op, value)?])
}

#[cfg(test)]
mod tests {
    use super::programs;

    #[test]
    fn filters_fit_into_what_the_kernel_takes() {
        for (network, abi) in [(false, 2), (false, 7), (true, 2), (true, 7)] {
            for program in programs(network, abi).unwrap() {
                assert!((4..4096).contains(&program.len()), "{} steps", program.len());
            }
        }
    }
}
