//! Start, end and ownership of commands and of everything they start.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use agentd_sandbox::{Confinement, Exit, Order, SetupKind, Status};

use crate::daemon::{Daemon, alive, assert_gone, launch, run};
use crate::harness::Test;

pub(crate) const TESTS: &[Test] = &[
    (
        "lifetime::exit_codes_and_signals_are_told",
        exit_codes_and_signals_are_told,
    ),
    ("lifetime::failures_to_start_have_a_kind", failures_to_start_have_a_kind),
    ("lifetime::environment_is_the_given_one", environment_is_the_given_one),
    (
        "lifetime::signals_are_as_a_fresh_program_expects",
        signals_are_as_a_fresh_program_expects,
    ),
    (
        "lifetime::terminate_ends_every_kind_of_tree",
        terminate_ends_every_kind_of_tree,
    ),
    (
        "lifetime::terminate_lets_a_command_end_by_itself",
        terminate_lets_a_command_end_by_itself,
    ),
    (
        "lifetime::end_of_the_socket_kills_the_tree",
        end_of_the_socket_kills_the_tree,
    ),
    (
        "lifetime::end_of_the_starter_wakes_a_stopped_helper",
        end_of_the_starter_wakes_a_stopped_helper,
    ),
    (
        "lifetime::sigterm_to_the_helper_ends_the_tree",
        sigterm_to_the_helper_ends_the_tree,
    ),
    (
        "lifetime::killed_helper_takes_the_command_along",
        killed_helper_takes_the_command_along,
    ),
    (
        "lifetime::what_is_left_behind_lives_until_finish",
        what_is_left_behind_lives_until_finish,
    ),
    (
        "lifetime::forking_without_end_is_stopped",
        forking_without_end_is_stopped,
    ),
];

fn shell(script: &str) -> Daemon {
    Daemon::start(&launch(&["bash", "-c", script], Path::new("/"), Confinement::None))
}

fn exit_codes_and_signals_are_told() {
    for (script, exit) in [
        ("exit 0", Exit::Code(0)),
        ("exit 7", Exit::Code(7)),
        ("kill -9 $$", Exit::Signal(9)),
        ("kill -TERM $$", Exit::Signal(15)),
    ] {
        assert_eq!(shell(script).finish().exit, Ok(exit), "{script}");
    }
}

fn failures_to_start_have_a_kind() {
    let root = Path::new("/");
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let cases: [(&[&str], &Path, SetupKind); 7] = [
        (&[script.to_str().unwrap()], root, SetupKind::SpawnFailed),
        (&["no-such-program"], root, SetupKind::ProgramNotFound),
        (&["/no/such/program"], root, SetupKind::ProgramNotFound),
        (&[], root, SetupKind::ProgramNotFound),
        (&["/etc/hostname"], root, SetupKind::SpawnFailed),
        (&["true", "nul\0"], root, SetupKind::SpawnFailed),
        (&["true"], Path::new("/no/such/folder"), SetupKind::CwdNotFound),
    ];
    for (argv, cwd, kind) in cases {
        let failure = run(argv, cwd, Confinement::None).exit.unwrap_err();
        assert_eq!(failure.kind, kind, "{argv:?}: {}", failure.message);
    }
}

fn environment_is_the_given_one() {
    let mut launch = launch(&["env"], Path::new("/"), Confinement::None);
    launch.env.push(("A".to_owned(), "b c=d".to_owned()));
    assert_eq!(
        Daemon::start(&launch).finish().output,
        "PATH=/usr/local/bin:/usr/bin:/bin\nA=b c=d\n"
    );
}

fn signals_are_as_a_fresh_program_expects() {
    let ended = run(
        &["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"],
        Path::new("/"),
        Confinement::None,
    );
    assert_eq!(ended.output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

/// Scripts that print the ids of all their processes and then `ready`.
const TREES: [(&str, &str); 6] = [
    ("plain", "echo $$ ready; exec sleep 100"),
    ("deaf", "trap '' TERM; echo $$ ready; while :; do sleep 1; done"),
    (
        "three levels",
        "echo $$; bash -c 'echo $$; bash -c \"echo \\$\\$ ready; sleep 100; :\"; :'; :",
    ),
    (
        "own session",
        "setsid bash -c 'trap \"\" TERM; echo $$; sleep 100; :' & echo $$; sleep 0.3; echo ready; wait",
    ),
    (
        "double fork",
        "( ( setsid bash -c 'echo $$; sleep 100; :' & ) & ); echo $$; sleep 0.3; echo ready; sleep 100",
    ),
    (
        "stopped",
        "sleep 100 & echo $!; kill -STOP $!; echo $$ ready; kill -STOP $$",
    ),
];

fn pids(output: &str) -> Vec<i32> {
    output.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn terminate_ends_every_kind_of_tree() {
    for (name, script) in TREES {
        let mut daemon = shell(script);
        let pids = pids(&daemon.wait_for_output("ready"));
        assert!(
            !pids.is_empty() && pids.iter().all(|pid| alive(*pid)),
            "{name}: {pids:?}"
        );
        let began = Instant::now();
        daemon.order(Order::Terminate);
        while !matches!(daemon.status(), Status::Cleared { left: 0 }) {}
        assert!(
            began.elapsed() < Duration::from_millis(1900),
            "{name}: {:?}",
            began.elapsed()
        );
        assert_gone(&pids, Duration::ZERO);
        daemon.helper.wait().unwrap();
    }
}

fn terminate_lets_a_command_end_by_itself() {
    // Half a second for tidying up is not too much.
    let mut daemon = shell("trap 'sleep 0.5; echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    daemon.wait_for_output("ready");
    daemon.order(Order::Terminate);
    daemon.wait_for_output("bye");
    assert!(matches!(daemon.status(), Status::Started { .. }));
    assert_eq!(daemon.status(), Status::Exited(Exit::Code(3)));
}

fn end_of_the_socket_kills_the_tree() {
    for (name, script) in TREES {
        let mut daemon = shell(script);
        let pids = pids(&daemon.wait_for_output("ready"));
        daemon.socket.shutdown(std::net::Shutdown::Both).unwrap();
        assert_gone(&pids, Duration::from_secs(1));
        assert!(daemon.helper.wait().unwrap().success(), "{name}");
    }
}

fn end_of_the_starter_wakes_a_stopped_helper() {
    // The thread that starts the helper stands for the daemon: the kernel looks at threads.
    let (mut daemon, pids) = std::thread::spawn(|| {
        let mut daemon = shell("kill -STOP $PPID; setsid sleep 100 & echo $! $$ ready; sleep 100");
        let pids = pids(&daemon.wait_for_output("ready"));
        daemon.socket.shutdown(std::net::Shutdown::Both).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(pids.len() == 2 && pids.iter().all(|pid| alive(*pid)));
        (daemon, pids)
    })
    .join()
    .unwrap();
    assert_gone(&pids, Duration::from_secs(1));
    daemon.helper.wait().unwrap();
}

fn sigterm_to_the_helper_ends_the_tree() {
    let mut daemon = shell(TREES[3].1);
    let pids = pids(&daemon.wait_for_output("ready"));
    std::process::Command::new("kill")
        .arg(daemon.helper.id().to_string())
        .status()
        .unwrap();
    assert_gone(&pids, Duration::from_millis(1900));
    daemon.helper.wait().unwrap();
}

fn killed_helper_takes_the_command_along() {
    let mut daemon = shell(TREES[0].1);
    let pids = pids(&daemon.wait_for_output("ready"));
    daemon.helper.kill().unwrap();
    daemon.helper.wait().unwrap();
    assert_gone(&pids, Duration::from_secs(1));
}

fn what_is_left_behind_lives_until_finish() {
    let mut daemon = shell("setsid sleep 100 & echo $! ready");
    let pids = pids(&daemon.wait_for_output("ready"));
    assert!(matches!(daemon.status(), Status::Started { .. }));
    assert_eq!(daemon.status(), Status::Exited(Exit::Code(0)));
    std::thread::sleep(Duration::from_millis(100));
    assert!(alive(pids[0]));
    daemon.order(Order::Finish);
    assert_eq!(daemon.status(), Status::Cleared { left: 0 });
    assert_gone(&pids, Duration::ZERO);
    daemon.helper.wait().unwrap();
}

fn forking_without_end_is_stopped() {
    // Each process lives for a moment only and is followed by the next: whoever lists them is always too late.
    let mut daemon = shell("trap '' TERM; f() { sleep 0.002; f & }; f & f & f & echo ready; wait");
    daemon.wait_for_output("ready");
    let began = Instant::now();
    daemon.order(Order::Terminate);
    while !matches!(daemon.status(), Status::Cleared { left: 0 }) {}
    assert!(began.elapsed() < Duration::from_millis(1900), "{:?}", began.elapsed());
    daemon.helper.wait().unwrap();
}
