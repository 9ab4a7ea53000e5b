//! Idle is free: after a turn the process writes nothing and hardly wakes up.

use std::path::Path;
use std::time::Duration;

use agentd_tests::daemon::{Daemon, Home, status_number};
use agentd_tests::model::{self, MockModel};
use serde_json::json;

const WATCHED: Duration = Duration::from_secs(3);

fn written_bytes(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    let number = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok())
            .unwrap()
    };
    // `wchar` counts what was handed to the kernel, `write_bytes` what it has to put on disk.
    number("wchar:") + number("write_bytes:")
}

fn switches(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of = |path: &Path| {
        status_number(path, "voluntary_ctxt_switches") + status_number(path, "nonvoluntary_ctxt_switches")
    };
    tasks.map(|task| of(&task.path().join("status"))).sum()
}

fn assert_idle(daemon: &Daemon) {
    // What follows a turn at once may still be under way.
    std::thread::sleep(Duration::from_millis(1500));
    let (bytes, wakes) = (written_bytes(daemon.pid()), switches(daemon.pid()));
    std::thread::sleep(WATCHED);
    let (bytes, wakes) = (
        written_bytes(daemon.pid()) - bytes,
        switches(daemon.pid()).saturating_sub(wakes),
    );
    assert_eq!(bytes, 0, "bytes written while idle");
    assert!(
        wakes <= 3 * WATCHED.as_secs(),
        "{wakes} context switches in {WATCHED:?}"
    );
}

#[test]
fn after_a_turn_nothing_happens() {
    let model = MockModel::replies(vec![model::exec("c1", "echo hi"), model::message("m", "done")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "go");
    assert_idle(client.daemon.as_ref().unwrap());
    client.finish();
}

#[test]
fn with_clients_that_came_and_went_nothing_happens() {
    let model = MockModel::start(|n, _| model::message(&format!("m{n}"), "ok"));
    let home = Home::new(&model);
    let daemon = home.listen();
    let mut first = home.connect();
    let second = home.connect();
    let thread = first.start_thread(json!({}));
    first.run_turn(&thread, "one");
    second.abandon();
    first.finish();
    assert_idle(&daemon);
}
