//! What a confined command can and cannot do.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use agentd_sandbox::{Confinement, Exit, SetupKind};
use tempfile::TempDir;

use crate::daemon::{Daemon, Ended, launch, own_binary, run};
use crate::harness::Test;
use crate::payload;

pub(crate) const TESTS: &[Test] = &[
    (
        "confinement::writes_stay_inside_the_roots",
        writes_stay_inside_the_roots,
    ),
    ("confinement::read_only_writes_nothing", read_only_writes_nothing),
    ("confinement::none_confines_nothing", none_confines_nothing),
    (
        "confinement::moves_between_folders_of_a_root_work",
        moves_between_folders_of_a_root_work,
    ),
    (
        "confinement::no_way_around_by_links_or_moves",
        no_way_around_by_links_or_moves,
    ),
    (
        "confinement::network_off_means_no_sockets",
        network_off_means_no_sockets,
    ),
    ("confinement::network_on_connects", network_on_connects),
    (
        "confinement::system_calls_that_are_denied",
        system_calls_that_are_denied,
    ),
    ("confinement::what_programs_need_works", what_programs_need_works),
    (
        "confinement::privileges_and_descriptors_are_gone",
        privileges_and_descriptors_are_gone,
    ),
    (
        "confinement::signals_do_not_reach_outside",
        signals_do_not_reach_outside,
    ),
    (
        "confinement::truncation_is_denied_with_any_abi",
        truncation_is_denied_with_any_abi,
    ),
    (
        "confinement::older_abis_let_programs_work",
        older_abis_let_programs_work,
    ),
    ("confinement::older_kernels_fail_closed", older_kernels_fail_closed),
    ("confinement::symlinked_root_is_refused", symlinked_root_is_refused),
    ("confinement::only_harmless_devices_open", only_harmless_devices_open),
    ("confinement::missing_root_is_skipped", missing_root_is_skipped),
];

/// A workspace and a folder outside it, with a file in each.
struct Place {
    _dir: TempDir,
    inside: PathBuf,
    outside: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        for folder in [&inside, &outside] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("file"), "before").unwrap();
        }
        Self {
            _dir: dir,
            inside,
            outside,
        }
    }

    fn workspace(&self, network: bool) -> Confinement {
        Confinement::WorkspaceWrite {
            writable_roots: vec![self.inside.clone()],
            network,
        }
    }

    fn shell(&self, confinement: Confinement, script: &str) -> Ended {
        run(&["sh", "-c", script], &self.inside, confinement)
    }

    fn payload(&self, confinement: Confinement, words: &[&str]) -> Ended {
        let own = own_binary();
        let argv: Vec<&str> = [own.to_str().unwrap(), payload::ARG]
            .into_iter()
            .chain(words.iter().copied())
            .collect();
        run(&argv, &self.inside, confinement)
    }
}

fn content(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Every word of the payload must have this result; an empty one means any failure.
fn assert_all(ended: &Ended, words: &[&str], result: &str) {
    assert_eq!(ended.exit, Ok(Exit::Code(0)), "{}", ended.output);
    for word in words {
        let name = word.split('=').next().unwrap();
        assert!(
            ended
                .output
                .lines()
                .any(|line| line.starts_with(&format!("{name} {result}"))),
            "{name}: {}",
            ended.output
        );
    }
}

const EPERM: &str = "failed 1";

fn writes_stay_inside_the_roots() {
    let place = Place::new();
    let ended = place.shell(
        place.workspace(false),
        "echo new > made; echo more >> file; mkdir d; rm -r d; cat ../outside/file; echo x > ../outside/made; echo x >> ../outside/file; \
         mkdir ../outside/d; rm ../outside/file; mkfifo fifo && echo made-fifo",
    );
    assert_eq!(ended.exit, Ok(Exit::Code(0)));
    assert!(
        ended.output.contains("before") && ended.output.contains("made-fifo"),
        "{}",
        ended.output
    );
    assert_eq!(content(&place.inside.join("made")), "new\n");
    assert_eq!(content(&place.inside.join("file")), "beforemore\n");
    assert_eq!(content(&place.outside.join("file")), "before");
    assert_eq!(fs::read_dir(&place.outside).unwrap().count(), 1);
}

fn read_only_writes_nothing() {
    let place = Place::new();
    let ended = place.shell(
        Confinement::ReadOnly { network: false },
        "cat file; echo x > made; echo x >> file; rm file; echo x > /dev/null && echo null-works",
    );
    assert!(
        ended.output.contains("before") && ended.output.contains("null-works"),
        "{}",
        ended.output
    );
    assert_eq!(content(&place.inside.join("file")), "before");
    assert_eq!(fs::read_dir(&place.inside).unwrap().count(), 1);
}

fn none_confines_nothing() {
    let place = Place::new();
    let ended = place.shell(Confinement::None, "echo x > ../outside/made && echo wrote");
    assert_eq!(ended.output, "wrote\n");
}

fn moves_between_folders_of_a_root_work() {
    let place = Place::new();
    let ended = place.shell(
        place.workspace(false),
        "mkdir a b && echo x > a/f && mv a/f b/f && ln b/f a/g && ln -s f b/s && cat b/s",
    );
    assert_eq!((ended.exit, ended.output.as_str()), (Ok(Exit::Code(0)), "x\n"));
}

fn no_way_around_by_links_or_moves() {
    let place = Place::new();
    let attempts = [
        "ln -s ../outside/file link; echo x > link",
        "ln -s ../outside dir; echo x > dir/made",
        "ln ../outside/file hard; echo x > hard",
        "mv ../outside/file stolen",
        "mv file ../outside/moved",
        "ln file ../outside/linked",
        "truncate -s 0 ../outside/file",
        "echo x > /proc/self/root$PWD/../outside/file",
        "cp file ../outside/file",
        "touch ../outside/made",
    ];
    for attempt in attempts {
        place.shell(place.workspace(false), attempt);
        assert_eq!(content(&place.outside.join("file")), "before", "{attempt}");
        assert_eq!(fs::read_dir(&place.outside).unwrap().count(), 1, "{attempt}");
    }
}

fn network_off_means_no_sockets() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _unix = UnixListener::bind(place.inside.join("socket")).unwrap();
    let connect = format!("connect={}", listener.local_addr().unwrap());
    let words = [
        &connect,
        "bind",
        "udp",
        "unix-connect=socket",
        "datagram-pair",
        "raw-pair",
    ];
    assert_all(&place.payload(place.workspace(false), &words), &words, EPERM);
    assert_all(
        &place.payload(Confinement::ReadOnly { network: false }, &words),
        &words,
        EPERM,
    );
}

fn network_on_connects() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = format!("connect={}", listener.local_addr().unwrap());
    let words = [&connect, "bind", "udp"];
    assert_all(&place.payload(place.workspace(true), &words), &words, "ok");
    assert_all(
        &place.payload(Confinement::ReadOnly { network: true }, &words),
        &words,
        "ok",
    );
}

fn system_calls_that_are_denied() {
    let place = Place::new();
    let denied = [
        "ptrace",
        "unshare",
        "clone-user",
        "io-uring",
        "keyctl",
        "shmget",
        "sticky-ioctl",
    ];
    let mut absent = vec!["clone3"];
    if cfg!(target_arch = "x86_64") {
        absent.push("x32");
    }
    for network in [false, true] {
        assert_all(&place.payload(place.workspace(network), &denied), &denied, EPERM);
        assert_all(
            &place.payload(place.workspace(network), &absent),
            &absent,
            &format!("failed {}", libc::ENOSYS),
        );
    }
}

fn what_programs_need_works() {
    let place = Place::new();
    let words = ["stream-pair", "thread", "spawn", "write-null"];
    for confinement in [
        place.workspace(false),
        Confinement::ReadOnly { network: false },
        Confinement::None,
    ] {
        assert_all(&place.payload(confinement, &words), &words, "ok");
    }
}

fn privileges_and_descriptors_are_gone() {
    let place = Place::new();
    let ended = place.payload(place.workspace(false), &["new-privileges", "descriptors"]);
    let root = fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .any(|line| line.starts_with("Uid:\t0"));
    let bounding = if root { "bounding 0000000000000000" } else { "bounding" };
    for expected in [
        "nnp 1 caps 0000000000000000 0000000000000000",
        bounding,
        "seccomp 2 core 0",
        "open [0, 1, 2] stdin /dev/null",
    ] {
        assert!(ended.output.contains(expected), "{expected}: {}", ended.output);
    }
}

fn signals_do_not_reach_outside() {
    if agentd_sandbox::probe().landlock_abi < 6 {
        eprintln!("SKIPPED: signals_do_not_reach_outside, landlock has no scopes here");
        return;
    }
    let place = Place::new();
    let word = format!("signal={}", std::process::id());
    assert_all(&place.payload(place.workspace(false), &[&word]), &[&word], EPERM);
    assert_all(&place.payload(Confinement::None, &[&word]), &[&word], "ok");
}

fn truncation_is_denied_with_any_abi() {
    let place = Place::new();
    let file = place.outside.join("file");
    let words = [
        format!("truncate={}", file.display()),
        format!("open-truncate={}", file.display()),
        format!("open-truncate-3={}", file.display()),
    ];
    for abi in [2, 3, 4, 5, 6, 7] {
        if abi > agentd_sandbox::probe().landlock_abi {
            eprintln!("SKIPPED: landlock ABI {abi}, this kernel is older");
            continue;
        }
        let own = own_binary();
        let argv: Vec<&str> = [own.to_str().unwrap(), payload::ARG]
            .into_iter()
            .chain(words.iter().map(String::as_str))
            .collect();
        let mut launch = launch(&argv, &place.inside, place.workspace(false));
        launch.assume_landlock_abi = Some(abi);
        let ended = Daemon::start(&launch).finish();
        assert_all(&ended, &words.each_ref().map(String::as_str), "failed");
        assert_eq!(content(&file), "before", "ABI {abi}: {}", ended.output);
    }
}

fn older_abis_let_programs_work() {
    let own = own_binary();
    let script = format!(
        "echo a > f; echo b > f; mkdir d && mv f d/f && ln d/f g && cat g; echo x > ../outside/file; '{}' {} openat2",
        own.display(),
        payload::ARG
    );
    for abi in 2..=agentd_sandbox::probe().landlock_abi {
        let place = Place::new();
        let mut launch = launch(&["sh", "-c", &script], &place.inside, place.workspace(false));
        launch.assume_landlock_abi = Some(abi);
        let ended = Daemon::start(&launch).finish();
        // Not there at all, so that programs open files in another way; otherwise our null arguments are wrong.
        let answer = if abi < 3 { libc::ENOSYS } else { libc::EINVAL };
        assert!(ended.output.starts_with("b\n"), "ABI {abi}: {}", ended.output);
        assert!(
            ended.output.contains(&format!("openat2 failed {answer}")),
            "ABI {abi}: {}",
            ended.output
        );
        assert_eq!(content(&place.outside.join("file")), "before", "ABI {abi}");
    }
}

fn older_kernels_fail_closed() {
    let place = Place::new();
    for confinement in [Confinement::ReadOnly { network: true }, place.workspace(true)] {
        for abi in [0, 1] {
            let mut launch = launch(&["sh", "-c", "echo x > made"], &place.inside, confinement.clone());
            launch.assume_landlock_abi = Some(abi);
            let failure = Daemon::start(&launch).finish().exit.unwrap_err();
            assert_eq!(failure.kind, SetupKind::SandboxUnavailable);
            assert!(failure.message.contains("landlock ABI 2"), "{}", failure.message);
            assert!(!place.inside.join("made").exists());
        }
    }
}

fn symlinked_root_is_refused() {
    let place = Place::new();
    std::os::unix::fs::symlink(&place.outside, place.inside.join("link")).unwrap();
    fs::create_dir(place.outside.join("deep")).unwrap();
    for root in ["link", "link/deep"] {
        let confinement = Confinement::WorkspaceWrite {
            writable_roots: vec![place.inside.join(root)],
            network: false,
        };
        let failure = place.shell(confinement, "echo x > ../outside/made").exit.unwrap_err();
        assert_eq!(failure.kind, SetupKind::SandboxUnavailable);
        assert!(!place.outside.join("made").exists());
    }
}

fn missing_root_is_skipped() {
    let place = Place::new();
    let roots = vec![place.inside.clone(), place.inside.join("missing")];
    let ended = place.shell(
        Confinement::WorkspaceWrite {
            writable_roots: roots,
            network: false,
        },
        "echo x > made && cat made",
    );
    assert_eq!(ended.output, "x\n");
}

fn only_harmless_devices_open() {
    let place = Place::new();
    // Devices that most machines have and that our user may open when not confined.
    let others: Vec<PathBuf> = fs::read_dir("/dev")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            ["kvm", "fuse", "loop-control", "vsock", "kmsg", "mem"]
                .iter()
                .any(|name| path.ends_with(name))
        })
        .filter(|path| fs::File::open(path).is_ok())
        .collect();
    if others.is_empty() {
        eprintln!("SKIPPED: part of only_harmless_devices_open, no other device can be opened here");
    }
    let mut script =
        "for d in zero full random urandom; do head -c 1 /dev/$d >/dev/null || echo no $d; done; echo works".to_owned();
    for device in &others {
        script.push_str(&format!("; (: < {0}) 2>/dev/null && echo opened {0}", device.display()));
    }
    for confinement in [place.workspace(false), Confinement::ReadOnly { network: true }] {
        assert_eq!(place.shell(confinement, &script).output, "works\n");
    }
}
