//! One command run each, judged by its events.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agentd_engine::input::{ExecExit, ToolEvent};
use agentd_protocol::settings::SandboxPolicy;
use agentd_tools::exec::{ExecSpec, base_environment, run};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::harness::Test;

pub(crate) const TESTS: &[Test] = &[
    ("runs::events_come_in_order", events_come_in_order),
    ("runs::both_streams_keep_their_order", both_streams_keep_their_order),
    (
        "runs::left_behind_processes_do_not_hold_the_run",
        left_behind_processes_do_not_hold_the_run,
    ),
    (
        "runs::late_output_of_a_pipeline_is_kept",
        late_output_of_a_pipeline_is_kept,
    ),
    ("runs::big_output_is_capped", big_output_is_capped),
    ("runs::odd_bytes_become_text", odd_bytes_become_text),
    ("runs::exits_are_told", exits_are_told),
    ("runs::failures_to_start_are_told", failures_to_start_are_told),
    ("runs::time_out_stops_the_tree", time_out_stops_the_tree),
    ("runs::cancel_stops_every_tree", cancel_stops_every_tree),
    (
        "runs::cancel_works_while_the_listener_stalls",
        cancel_works_while_the_listener_stalls,
    ),
    ("runs::stalled_listener_loses_nothing", stalled_listener_loses_nothing),
    (
        "runs::gone_listener_does_not_stop_the_run",
        gone_listener_does_not_stop_the_run,
    ),
    ("runs::dropped_run_kills_the_command", dropped_run_kills_the_command),
    ("runs::killed_helper_ends_the_run", killed_helper_ends_the_run),
    ("runs::environment_is_scrubbed", environment_is_scrubbed),
    ("runs::output_may_be_closed_early", output_may_be_closed_early),
];

/// Runs that need landlock and seccomp.
pub(crate) const CONFINED_TESTS: &[Test] = &[
    ("runs::workspace_write_is_confined", workspace_write_is_confined),
    ("runs::many_runs_at_once", many_runs_at_once),
];

pub(crate) fn spec(script: &str) -> ExecSpec {
    ExecSpec {
        argv: vec!["bash".to_owned(), "-c".to_owned(), script.to_owned()],
        cwd: PathBuf::from("/"),
        env: base_environment(std::env::vars(), "none", true),
        policy: SandboxPolicy::DangerFullAccess,
        writable_roots: Vec::new(),
        timeout: Duration::from_secs(30),
        helper: std::env::current_exe().unwrap(),
    }
}

/// What a run told, already checked for order: at most one start, first; exactly one end, last.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) started: bool,
    pub(crate) text: String,
    pub(crate) exit: ExecExit,
    pub(crate) output: String,
    pub(crate) took: Duration,
}

fn fold(events: Vec<ToolEvent>, took: Duration) -> Told {
    let mut told = Told {
        started: false,
        text: String::new(),
        exit: ExecExit::Code(-1),
        output: String::new(),
        took,
    };
    let last = events.len() - 1;
    for (index, event) in events.into_iter().enumerate() {
        match event {
            ToolEvent::ExecStarted { process_id } => {
                assert_eq!(index, 0);
                assert!(process_id.parse::<i32>().unwrap() > 1);
                told.started = true;
            }
            ToolEvent::ExecOutput { text } => {
                assert!(
                    told.started && !text.is_empty() && text.len() <= 8192,
                    "{} bytes",
                    text.len()
                );
                told.text.push_str(&text);
            }
            ToolEvent::ExecEnded { exit, output, .. } => {
                assert_eq!(index, last, "something came after the end");
                (told.exit, told.output) = (exit, output);
            }
            other => panic!("{other:?}"),
        }
        assert!(index < last || told.exit != ExecExit::Code(-1), "no end");
    }
    told
}

async fn collect(mut events: mpsc::Receiver<ToolEvent>) -> Vec<ToolEvent> {
    let mut all = Vec::new();
    while let Some(event) = events.recv().await {
        all.push(event);
    }
    all
}

/// Runs a command; `meddle` acts beside it.
pub(crate) async fn observe<F: Future<Output = ()>>(
    spec: ExecSpec,
    meddle: impl FnOnce(CancellationToken) -> F,
) -> Told {
    let began = Instant::now();
    let (sender, events) = mpsc::channel(4);
    let cancel = CancellationToken::new();
    let ((), events, ()) = tokio::join!(run(spec, sender, cancel.clone()), collect(events), meddle(cancel));
    fold(events, began.elapsed())
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

pub(crate) fn told(spec: ExecSpec) -> Told {
    block_on(observe(spec, |_| async {}))
}

pub(crate) fn alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .starts_with('Z')
    })
}

pub(crate) async fn wait_for_file(path: &Path) -> String {
    for _ in 0..500 {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("{} did not come", path.display());
}

pub(crate) async fn wait_until_gone(pids: &str, limit: Duration) {
    let began = Instant::now();
    while pids.lines().any(alive) {
        assert!(began.elapsed() < limit, "still alive: {pids}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn events_come_in_order() {
    let told = told(spec("echo hi"));
    assert!(told.started);
    assert_eq!(
        (told.text.as_str(), told.output.as_str(), told.exit),
        ("hi\n", "hi\n", ExecExit::Code(0))
    );
    assert!(told.took < Duration::from_secs(1), "{:?}", told.took);
}

fn both_streams_keep_their_order() {
    let told = told(spec("for i in 1 2 3; do echo o$i; echo e$i >&2; done"));
    assert_eq!(told.output, "o1\ne1\no2\ne2\no3\ne3\n");
}

fn left_behind_processes_do_not_hold_the_run() {
    let dir = tempfile::tempdir().unwrap();
    for script in [
        "(sleep 15 & echo $! > pid) ; echo hi",
        "exec > >(tee log) 2>&1; echo hi; sleep 15 & echo $! > pid",
        "setsid sleep 15 & echo $! > pid; echo hi",
        "(while :; do sleep 0.05; echo noise; done) & echo $! > pid; echo hi",
    ] {
        let mut spec = spec(script);
        spec.cwd = dir.path().to_owned();
        let told = told(spec);
        assert!(told.output.contains("hi\n"), "{script}: {:?}", told.output);
        assert_eq!(told.exit, ExecExit::Code(0), "{script}");
        assert!(told.took < Duration::from_secs(2), "{script}: {:?}", told.took);
        assert!(
            !alive(&std::fs::read_to_string(dir.path().join("pid")).unwrap()),
            "{script}"
        );
    }
}

fn late_output_of_a_pipeline_is_kept() {
    let told = told(spec("exec > >(sleep 0.05; cat) 2>&1; echo late"));
    assert_eq!(told.output, "late\n");
}

fn big_output_is_capped() {
    let told = told(spec("yes 0123456789abcde | head -c 10000000; echo end"));
    assert_eq!(told.exit, ExecExit::Code(0));
    assert_eq!(told.text.len(), 10_000_004);
    assert!(told.output.len() <= 1024 * 1024 && told.output.ends_with("end\n"));
    assert!(told.output.contains(" bytes omitted ..."));
}

fn odd_bytes_become_text() {
    let told = told(spec(r"printf 'a\0b\xff\xe2\x82'; sleep 0.1; printf '\xac\xe2'"));
    assert_eq!(told.output, "a\0b\u{fffd}€\u{fffd}");
    assert_eq!(told.text, told.output);
}

fn exits_are_told() {
    for (script, exit) in [
        ("exit 7", ExecExit::Code(7)),
        ("kill -9 $$", ExecExit::Signal(9)),
        ("kill -ABRT $$", ExecExit::Signal(6)),
    ] {
        assert_eq!(told(spec(script)).exit, exit);
    }
}

fn failures_to_start_are_told() {
    let good = spec("true");
    let cases = [
        (
            ExecSpec {
                argv: vec!["no-such-program".to_owned()],
                ..good.clone()
            },
            "programNotFound",
        ),
        (
            ExecSpec {
                cwd: PathBuf::from("/no/such/folder"),
                ..good.clone()
            },
            "cwdNotFound",
        ),
        (
            ExecSpec {
                helper: PathBuf::from("/no/such/helper"),
                ..good.clone()
            },
            "spawnFailed",
        ),
        // A program that ends at once instead of being a helper.
        (
            ExecSpec {
                helper: PathBuf::from("/bin/true"),
                ..good.clone()
            },
            "spawnFailed",
        ),
        (
            ExecSpec {
                argv: vec!["true".to_owned(), "x".repeat(20 << 20)],
                ..good
            },
            "spawnFailed",
        ),
    ];
    for (spec, expected) in cases {
        let told = told(spec);
        assert!(!told.started);
        assert!(
            matches!(&told.exit, ExecExit::NotStarted { kind, .. } if kind == expected),
            "{:?}",
            told.exit
        );
    }
}

fn time_out_stops_the_tree() {
    let spec = ExecSpec {
        timeout: Duration::from_millis(300),
        ..spec("trap '' TERM; echo $$; while :; do sleep 1; done")
    };
    let told = told(spec);
    assert_eq!(told.exit, ExecExit::TimedOut);
    assert!(!told.output.is_empty() && !alive(&told.output));
    assert!(told.took < Duration::from_secs(2), "{:?}", told.took);
}

fn cancel_stops_every_tree() {
    for script in [
        "echo $$ > pid; exec sleep 120",
        "trap '' TERM; echo $$ > pid; while :; do sleep 1; done",
        "bash -c 'bash -c \"echo \\$\\$ > part; echo \\$PPID >> part; mv part pid; sleep 120; :\"; :'; :",
        "( ( setsid bash -c 'trap \"\" TERM; echo $$ > pid; sleep 120; :' & ) & ); sleep 120",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let spec = ExecSpec {
            cwd: dir.path().to_owned(),
            ..spec(script)
        };
        block_on(async {
            let mut cancelled = None;
            let told = observe(spec, |cancel| {
                let cancelled = &mut cancelled;
                let file = &file;
                async move {
                    wait_for_file(file).await;
                    cancel.cancel();
                    *cancelled = Some(Instant::now());
                }
            })
            .await;
            assert_eq!(told.exit, ExecExit::Cancelled, "{script}");
            let took = cancelled.unwrap().elapsed();
            assert!(took < Duration::from_secs(2), "{script}: {took:?}");
            let pids = std::fs::read_to_string(&file).unwrap();
            assert!(!pids.lines().any(alive), "{script}: {pids}");
        });
    }
}

fn cancel_works_while_the_listener_stalls() {
    block_on(async {
        let (sender, events) = mpsc::channel(1);
        let cancel = CancellationToken::new();
        let running = tokio::spawn(run(spec("echo $$; exec yes"), sender, cancel.clone()));
        // Nobody listens: the channel and then the pipe fill up.
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
        tokio::time::sleep(Duration::from_millis(1000)).await;
        let told = fold(collect(events).await, Duration::ZERO);
        running.await.unwrap();
        assert_eq!(told.exit, ExecExit::Cancelled);
        assert!(!alive(told.output.lines().next().unwrap()));
        // The command was held up by its pipe; it did not fill our memory.
        assert!(told.output.len() < 512 * 1024, "{}", told.output.len());
    });
}

fn stalled_listener_loses_nothing() {
    block_on(async {
        let (sender, mut events) = mpsc::channel(1);
        let running = tokio::spawn(run(spec("seq 1 60000"), sender, CancellationToken::new()));
        let mut all = Vec::new();
        while let Some(event) = events.recv().await {
            tokio::time::sleep(Duration::from_millis(if all.len() < 4 { 200 } else { 0 })).await;
            all.push(event);
        }
        running.await.unwrap();
        let told = fold(all, Duration::ZERO);
        let expected: String = (1..=60000).map(|number| format!("{number}\n")).collect();
        assert!(
            told.text == expected && told.output == expected,
            "{} bytes of {}",
            told.text.len(),
            expected.len()
        );
    });
}

fn gone_listener_does_not_stop_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let spec = ExecSpec {
        cwd: dir.path().to_owned(),
        ..spec("echo text; sleep 0.2; echo more; echo done > mark")
    };
    block_on(async {
        let (sender, events) = mpsc::channel(1);
        drop(events);
        run(spec, sender, CancellationToken::new()).await;
    });
    assert!(dir.path().join("mark").exists());
}

fn dropped_run_kills_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let spec = ExecSpec {
        cwd: dir.path().to_owned(),
        ..spec("")
    };
    for stop in ["", "kill -STOP $PPID; "] {
        let file = dir.path().join("pid");
        let _ = std::fs::remove_file(&file);
        let script = format!("{stop}setsid sleep 120 & echo $! > part; echo $$ >> part; mv part pid; sleep 120");
        let spec = ExecSpec {
            argv: vec!["bash".to_owned(), "-c".to_owned(), script],
            ..spec.clone()
        };
        block_on(async {
            let (sender, _events) = mpsc::channel(8);
            let running = tokio::spawn(run(spec, sender, CancellationToken::new()));
            let pids = wait_for_file(&file).await;
            running.abort();
            let _ = running.await;
            wait_until_gone(&pids, Duration::from_secs(1)).await;
        });
    }
}

fn killed_helper_ends_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let spec = ExecSpec {
        cwd: dir.path().to_owned(),
        ..spec("echo $$ > part; echo $PPID >> part; mv part pid; sleep 120")
    };
    block_on(async {
        let file = dir.path().join("pid");
        let told = observe(spec, |_| async {
            let pids = wait_for_file(&file).await;
            let helper = pids.lines().nth(1).unwrap().parse().unwrap();
            rustix::process::kill_process(
                rustix::process::Pid::from_raw(helper).unwrap(),
                rustix::process::Signal::KILL,
            )
            .unwrap();
            wait_until_gone(&pids, Duration::from_secs(1)).await;
        })
        .await;
        assert_eq!(told.exit, ExecExit::Signal(9));
        assert!(told.took < Duration::from_secs(2));
    });
}

fn environment_is_scrubbed() {
    let parent = [("HOME", "/h"), ("OPENAI_API_KEY", "leak"), ("LD_PRELOAD", "/leak.so")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let spec = ExecSpec {
        argv: vec!["env".to_owned()],
        env: base_environment(parent.into_iter(), "B", false),
        ..spec("")
    };
    let told = told(spec);
    assert_eq!(
        told.output,
        "HOME=/h\nPATH=/usr/local/bin:/usr/bin:/bin\nAGENTD_SANDBOX=B\nAGENTD_SANDBOX_NETWORK=off\n"
    );
}

fn output_may_be_closed_early() {
    let told = told(spec("echo hi; exec >/dev/null 2>&1; sleep 0.3; exit 4"));
    assert_eq!((told.output.as_str(), told.exit), ("hi\n", ExecExit::Code(4)));
    assert!(told.took >= Duration::from_millis(300));
}

fn workspace(dir: &Path) -> ExecSpec {
    ExecSpec {
        cwd: dir.join("inside"),
        policy: SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        },
        writable_roots: vec![dir.join("inside")],
        ..spec("echo x > made; cat made; echo y > ../made; echo $?")
    }
}

fn workspace_write_is_confined() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    std::fs::create_dir(dir.join("inside")).unwrap();
    let told = told(workspace(&dir));
    assert!(
        told.output.starts_with("x\n") && told.output.ends_with("1\n"),
        "{}",
        told.output
    );
    assert!(!dir.join("made").exists());
}

fn many_runs_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    std::fs::create_dir(dir.join("inside")).unwrap();
    block_on(async {
        let mut runs = tokio::task::JoinSet::new();
        for number in 0..30 {
            let spec = ExecSpec { ..workspace(&dir) };
            let argv = vec![
                "bash".to_owned(),
                "-c".to_owned(),
                format!("echo {number}; sleep 0.2; exit {number}"),
            ];
            runs.spawn(observe(ExecSpec { argv, ..spec }, |_| async {}));
        }
        let mut codes = Vec::new();
        while let Some(told) = runs.join_next().await {
            let told = told.unwrap();
            let ExecExit::Code(code) = told.exit else {
                panic!("{told:?}")
            };
            assert_eq!(told.output, format!("{code}\n"));
            codes.push(code);
        }
        codes.sort_unstable();
        assert_eq!(codes, (0..30).collect::<Vec<_>>());
    });
}
