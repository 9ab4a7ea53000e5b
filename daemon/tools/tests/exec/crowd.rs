//! More runs than the process has places for. In a process of its own: the places are shared by all runs of a process.

use std::path::Path;
use std::time::{Duration, Instant};

use agentd_engine::input::ExecExit;
use agentd_tools::exec::ExecSpec;
use tokio::task::JoinSet;

use crate::harness::Test;
use crate::runs::{block_on, observe, spec, wait_for_file};

/// First argument that turns the binary into the crowd.
pub(crate) const ARG: &str = "crowd";

pub(crate) const TESTS: &[Test] = &[("crowd::runs_wait_for_a_place", runs_wait_for_a_place)];

/// As many as the process runs at once.
const PLACES: usize = 64;

fn runs_wait_for_a_place() {
    let binary = std::env::current_exe().unwrap();
    let ended = std::process::Command::new(binary).arg(ARG).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

pub(crate) fn main() {
    let dir = tempfile::tempdir().unwrap();
    block_on(async {
        waiting_can_be_cancelled_and_costs_no_time(dir.path()).await;
        many_are_stopped_soon(dir.path()).await;
    });
}

/// Fills all places with commands that end when somebody has written to the pipe `go`.
async fn fill(dir: &Path, runs: &mut JoinSet<ExecExit>) {
    let made = std::process::Command::new("mkfifo").arg(dir.join("go")).status();
    assert!(made.unwrap().success());
    for number in 0..PLACES {
        let script = format!("echo > here{number}; read line < go; exit 0");
        let spec = ExecSpec {
            cwd: dir.to_owned(),
            ..spec(&script)
        };
        runs.spawn(async { observe(spec, |_| async {}).await.exit });
    }
    for number in 0..PLACES {
        wait_for_file(&dir.join(format!("here{number}"))).await;
    }
}

async fn waiting_can_be_cancelled_and_costs_no_time(dir: &Path) {
    let mut runs = JoinSet::new();
    fill(dir, &mut runs).await;
    let began = Instant::now();
    let told = observe(spec("echo never"), |cancel| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    })
    .await;
    assert_eq!((told.started, told.exit), (false, ExecExit::Cancelled));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    // It waits longer than its time-out allows it to run.
    let patient = ExecSpec {
        timeout: Duration::from_millis(400),
        ..spec("echo at last")
    };
    let patient = tokio::spawn(observe(patient, |_| async {}));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!patient.is_finished());
    std::fs::write(dir.join("go"), "").unwrap();
    let told = patient.await.unwrap();
    assert_eq!((told.exit, told.output.as_str()), (ExecExit::Code(0), "at last\n"));
    while let Some(exit) = runs.join_next().await {
        assert_eq!(exit.unwrap(), ExecExit::Code(0));
    }
}

/// Five times as many as there are places, all cancelled at once.
async fn many_are_stopped_soon(dir: &Path) {
    let cancel = tokio_util::sync::CancellationToken::new();
    let mut runs = JoinSet::new();
    for _ in 0..5 * PLACES {
        let (spec, cancel) = (spec("sleep 30"), cancel.clone());
        runs.spawn(async move {
            observe(spec, |own| async move {
                cancel.cancelled().await;
                own.cancel();
            })
            .await
            .exit
        });
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let running = std::fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(
        running < 8 * PLACES,
        "{running} descriptors are open in {}",
        dir.display()
    );
    cancel.cancel();
    let began = Instant::now();
    while let Some(exit) = runs.join_next().await {
        assert_eq!(exit.unwrap(), ExecExit::Cancelled);
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
