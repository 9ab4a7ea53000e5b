//! What becomes of a run whose helper cannot do its work.

use std::path::Path;
use std::time::{Duration, Instant};

use agentd_engine::input::ExecExit;
use agentd_tools::exec::ExecSpec;
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use crate::harness::Test;
use crate::runs::{Told, alive, block_on, observe, spec, told, wait_for_file, wait_until_gone};

pub(crate) const TESTS: &[Test] = &[
    (
        "helpers::killed_helper_leaves_nobody_behind",
        killed_helper_leaves_nobody_behind,
    ),
    (
        "helpers::killed_helpers_do_not_disturb_other_runs",
        killed_helpers_do_not_disturb_other_runs,
    ),
    (
        "helpers::stopped_helper_does_not_hold_the_run",
        stopped_helper_does_not_hold_the_run,
    ),
    (
        "helpers::stopped_helper_still_stops_gently",
        stopped_helper_still_stops_gently,
    ),
    (
        "helpers::stubborn_helpers_are_ended_together",
        stubborn_helpers_are_ended_together,
    ),
];

/// Prints the ids of processes in sessions of their own, which a signal to the command or its group cannot reach.
const RUNAWAYS: &str = "for i in 1 2 3; do setsid bash -c 'trap \"\" TERM HUP; echo $$ >> part; exec >&- 2>&-; sleep 120; :' & done; \
     ( ( setsid bash -c 'echo $$ >> part; sleep 120; :' & ) & ); \
     while [ \"$(wc -l < part)\" -lt 4 ]; do sleep 0.01; done 2>/dev/null; mv part pid;";

fn in_dir(dir: &Path, script: &str) -> ExecSpec {
    ExecSpec {
        cwd: dir.to_owned(),
        ..spec(script)
    }
}

/// Whether there is an entry at all, also that of a zombie.
fn listed(pid: &str) -> bool {
    Path::new("/proc").join(pid.trim()).exists()
}

fn killed_helper_leaves_nobody_behind() {
    // A command that kills its helper, a tree that keeps forking, and a helper that dies when the command is over.
    for script in [
        format!("{RUNAWAYS} kill -9 $PPID; sleep 100"),
        format!(
            "{RUNAWAYS} f() {{ sleep 0.02; setsid bash -c \"$(declare -f f); f\" & }}; export -f f; f & f & sleep 0.1; kill -9 $PPID; sleep 100"
        ),
        format!("{RUNAWAYS} setsid bash -c \"sleep 0.03; kill -9 $PPID\" & exit 0"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let told: Told = told(in_dir(dir.path(), &script));
        let pids = std::fs::read_to_string(dir.path().join("pid")).unwrap();
        assert_eq!(pids.lines().count(), 4, "{script}");
        assert!(!pids.lines().any(listed), "{script}: {pids}");
        assert!(told.took < Duration::from_secs(8), "{script}: {:?}", told.took);
    }
}

fn killed_helpers_do_not_disturb_other_runs() {
    let dir = tempfile::tempdir().unwrap();
    let helper_of = |number: usize| dir.path().join(format!("helper{number}"));
    block_on(async {
        let mut killed = tokio::task::JoinSet::new();
        for number in 0..6 {
            let script = format!(
                "setsid sleep 120 & echo $! > part{number}; echo $PPID >> part{number}; mv part{number} helper{number}; sleep 120"
            );
            killed.spawn(observe(in_dir(dir.path(), &script), |_| async {}));
        }
        let calm = async {
            let told = observe(in_dir(dir.path(), "setsid sleep 0.7 & wait $!; echo $?"), |_| async {}).await;
            assert_eq!((told.exit, told.output.as_str()), (ExecExit::Code(0), "0\n"));
        };
        let meddle = async {
            for number in 0..6 {
                let pids = wait_for_file(&helper_of(number)).await;
                let helper = pids.lines().nth(1).unwrap().parse().unwrap();
                kill_process(Pid::from_raw(helper).unwrap(), Signal::KILL).unwrap();
            }
            while let Some(told) = killed.join_next().await {
                assert_eq!(told.unwrap().exit, ExecExit::Signal(9));
            }
            for number in 0..6 {
                let pids = std::fs::read_to_string(helper_of(number)).unwrap();
                assert!(!pids.lines().any(alive), "{pids}");
                wait_until_gone(&pids, Duration::ZERO).await;
            }
        };
        tokio::join!(calm, meddle);
    });
}

fn stopped_helper_does_not_hold_the_run() {
    let dir = tempfile::tempdir().unwrap();
    // The second one leaves a process behind that keeps the output open.
    for (script, code) in [
        ("kill -STOP $PPID; echo hi; exit 3", 3),
        ("setsid sleep 120 & echo $! > pid; kill -STOP $PPID; echo hi; exit 4", 4),
    ] {
        let told = told(in_dir(dir.path(), script));
        assert_eq!((told.exit, told.output.as_str()), (ExecExit::Code(code), "hi\n"));
        assert!(told.took < Duration::from_secs(1), "{script}: {:?}", told.took);
    }
    assert!(!alive(&std::fs::read_to_string(dir.path().join("pid")).unwrap()));
}

fn stopped_helper_still_stops_gently() {
    let dir = tempfile::tempdir().unwrap();
    let script =
        "trap 'echo bye; exit 0' TERM; kill -STOP $PPID; echo $$ > part; mv part pid; while :; do sleep 0.02; done";
    block_on(async {
        let file = dir.path().join("pid");
        let told = observe(in_dir(dir.path(), script), |cancel| async move {
            wait_for_file(&file).await;
            cancel.cancel();
        })
        .await;
        assert_eq!(told.exit, ExecExit::Cancelled);
        assert!(told.output.ends_with("bye\n"), "{}", told.output);
        assert!(told.took < Duration::from_secs(1), "{:?}", told.took);
    });
}

/// Helpers that do not follow an order, because they are stopped as soon as they are woken.
fn stubborn_helpers_are_ended_together() {
    const RUNS: usize = 12;
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; setsid sleep 120 & h=$PPID; echo $$ > $N.part; echo $! >> $N.part; mv $N.part $N.pid; \
                  while :; do kill -STOP $h; sleep 0.02; done";
    block_on(async {
        let cancel = CancellationToken::new();
        let mut runs = tokio::task::JoinSet::new();
        for number in 0..RUNS {
            let mut spec = in_dir(dir.path(), script);
            spec.env.push(("N".to_owned(), number.to_string()));
            let cancel = cancel.clone();
            runs.spawn(observe(spec, |own| async move {
                cancel.cancelled().await;
                own.cancel();
            }));
        }
        let mut pids = String::new();
        for number in 0..RUNS {
            pids.push_str(&wait_for_file(&dir.path().join(format!("{number}.pid"))).await);
        }
        cancel.cancel();
        let began = Instant::now();
        while let Some(told) = runs.join_next().await {
            assert_eq!(told.unwrap().exit, ExecExit::Cancelled);
        }
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        assert!(!pids.lines().any(alive));
    });
}
