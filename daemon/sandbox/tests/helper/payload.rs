//! What the confined command does in tests that need single system calls. Prints `ok` or the error for each word.
#![allow(unsafe_code)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::ExitCode;

pub(crate) const ARG: &str = "payload";

/// Words are `name` or `name=argument`.
pub(crate) fn main(words: &[String]) -> ExitCode {
    for word in words {
        let (name, argument) = word.split_once('=').unwrap_or((word, ""));
        match act(name, argument) {
            Ok(()) => println!("{name} ok"),
            Err(error) => println!("{name} failed {}", error.raw_os_error().unwrap_or(0)),
        }
    }
    ExitCode::SUCCESS
}

fn act(name: &str, argument: &str) -> std::io::Result<()> {
    match name {
        "connect" => TcpStream::connect(argument).map(drop),
        "bind" => TcpListener::bind("127.0.0.1:0").map(drop),
        "udp" => UdpSocket::bind("127.0.0.1:0").map(drop),
        "unix-connect" => UnixStream::connect(argument).map(drop),
        "stream-pair" => {
            let (mut a, mut b) = UnixStream::pair()?;
            // `send` on a connected socket: what Node does with its children.
            a.write_all(b"x")?;
            let mut byte = [0];
            b.read_exact(&mut byte)?;
            a.shutdown(std::net::Shutdown::Both)
        }
        "datagram-pair" => UnixDatagram::pair().map(drop),
        "raw-pair" => {
            let mut pair = [0; 2];
            // SAFETY: the kernel writes two descriptors into `pair`.
            check(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_RAW, 0, pair.as_mut_ptr()) }.into())
        }
        "thread" => {
            std::thread::spawn(|| {}).join().unwrap();
            Ok(())
        }
        "spawn" => std::process::Command::new("/bin/true").status().map(drop),
        // SAFETY (all below): null or integer arguments; the kernel refuses or ignores them.
        "ptrace" => check(unsafe { libc::syscall(libc::SYS_ptrace, libc::PTRACE_TRACEME, 0, 0, 0) }),
        "unshare" => check(unsafe { libc::syscall(libc::SYS_unshare, libc::CLONE_NEWUSER) }),
        "clone-user" => {
            check(unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD, 0, 0, 0, 0) })
        }
        "clone3" => check(unsafe { libc::syscall(libc::SYS_clone3, 0, 0) }),
        "io-uring" => check(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, 0) }),
        "keyctl" => check(unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 1) }),
        "shmget" => check(unsafe { libc::syscall(libc::SYS_shmget, 0, 4096, 0o600 | libc::IPC_CREAT) }),
        "sticky-ioctl" => check(unsafe { libc::ioctl(0, 0x5412, c"x".as_ptr()) }.into()),
        "truncate" => check(unsafe { libc::truncate(path(argument).as_ptr(), 0) }.into()),
        "open-truncate" => open(argument, libc::O_RDONLY | libc::O_TRUNC),
        "open-truncate-3" => open(argument, libc::O_ACCMODE | libc::O_TRUNC),
        "openat2" => check(unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, c"/".as_ptr(), 0, 0) }),
        #[cfg(target_arch = "x86_64")]
        "x32" => check(unsafe { libc::syscall(0x4000_0000 | libc::SYS_getpid) }),
        "signal" => check(unsafe { libc::kill(argument.parse().unwrap(), 0) }.into()),
        "write-null" => std::fs::write("/dev/null", "x"),
        "new-privileges" => {
            let status = std::fs::read_to_string("/proc/self/status")?;
            let value = |key: &str| {
                status
                    .lines()
                    .find_map(|line| line.strip_prefix(key))
                    .unwrap_or_default()
                    .trim()
                    .to_owned()
            };
            println!(
                "nnp {} caps {} {} bounding {}",
                value("NoNewPrivs:"),
                value("CapEff:"),
                value("CapPrm:"),
                value("CapBnd:")
            );
            println!("seccomp {} core {}", value("Seccomp:"), core_limit());
            Ok(())
        }
        "descriptors" => {
            let mut open: Vec<i32> = (0..1024)
                .filter(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0)
                .collect();
            open.sort_unstable();
            println!(
                "open {open:?} stdin {}",
                std::fs::read_link("/proc/self/fd/0")?.display()
            );
            Ok(())
        }
        other => panic!("unknown payload {other}"),
    }
}

fn core_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 1,
        rlim_max: 1,
    };
    // SAFETY: the kernel writes into `limit`.
    unsafe { libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit) };
    limit.rlim_max
}

fn open(file: &str, flags: i32) -> std::io::Result<()> {
    // SAFETY: the path ends with NUL.
    check(unsafe { libc::open(path(file).as_ptr(), flags) }.into())
}

fn path(text: &str) -> std::ffi::CString {
    std::ffi::CString::new(text).unwrap()
}

fn check(result: libc::c_long) -> std::io::Result<()> {
    if result < 0 {
        Err(std::io::Error::last_os_error())
    } else {
        Ok(())
    }
}
