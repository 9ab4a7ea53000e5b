//! What the daemon does when its sandbox helpers are killed or stopped: every process of a turn still has an owner.

use std::time::{Duration, Instant};

use agentd_tests::daemon::{Home, eventually, is_alive, read_when_there};
use agentd_tests::model::{self, MockModel};
use agentd_tests::session::Session;
use serde_json::{Value, json};

/// A process in a session of its own, deaf to polite signals, whose id is in `pid`.
const RUNAWAY: &str = "setsid bash -c 'trap \"\" TERM HUP; echo $$ > part; mv part pid; exec sleep 300' > /dev/null 2>&1 & \
                       until [ -e pid ]; do sleep 0.01; done;";

/// A model that runs one command and then answers.
fn runs(command: &str) -> MockModel {
    let command = format!("{RUNAWAY} {command}");
    MockModel::start(move |number, body| {
        let ran = body["input"]
            .as_array()
            .and_then(|input| input.last())
            .is_some_and(|item| item["type"] == "function_call_output");
        if ran {
            model::message(&format!("msg_{number}"), "done")
        } else {
            model::exec(&format!("call_{number}"), &command)
        }
    })
}

fn start(home: &Home, sandbox: &str) -> (Session, String) {
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": sandbox, "approvalPolicy": "never"}));
    (client, thread)
}

fn runaway(home: &Home) -> u32 {
    read_when_there(&home.workspace().join("pid")).trim().parse().unwrap()
}

/// All children of a process, zombies too.
fn children(parent: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(1) == Some(&parent.to_string())
    })
    .collect()
}

fn signal(name: &str, pid: u32) {
    let status = std::process::Command::new("kill")
        .args([name, &pid.to_string()])
        .status();
    assert!(status.unwrap().success(), "kill {name} {pid}");
}

fn exit_code(run: &agentd_tests::session::TurnRun) -> Value {
    run.completed("commandExecution")[0]["exitCode"].clone()
}

#[test]
fn a_killed_helper_leaves_nobody_behind() {
    for sandbox in ["read-only", "workspace-write", "danger-full-access"] {
        // Read-only commands cannot write down their ids, so these are found by their parents.
        let model = if sandbox == "read-only" {
            MockModel::replies(vec![
                model::exec("call_1", "setsid sleep 301 > /dev/null 2>&1 & sleep 300; true"),
                model::message("msg_1", "done"),
            ])
        } else {
            runs("sleep 300")
        };
        let home = Home::new(&model);
        let (mut client, thread) = start(&home, sandbox);
        let daemon = client.daemon.as_ref().unwrap().pid();
        let turn = client.start_turn(&thread, "go");
        let mut left = Vec::new();
        eventually("the command has begun", Duration::from_secs(10), || {
            let helper = children(daemon);
            left = helper.iter().flat_map(|pid| children(*pid)).collect();
            let below: Vec<u32> = left.iter().flat_map(|pid| children(*pid)).collect();
            left.extend(below);
            left.len() >= 2
        });
        if sandbox != "read-only" {
            left.push(runaway(&home));
        }
        for helper in children(daemon) {
            signal("-KILL", helper);
        }
        let began = Instant::now();
        let run = client.finish_turn(&turn);
        assert_eq!(run.status(), "completed", "{sandbox}");
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert!(!left.iter().any(|pid| is_alive(*pid)), "{sandbox}: {left:?}");
        assert_eq!(children(daemon), Vec::<u32>::new(), "{sandbox}: zombies");
        client.finish();
    }
}

#[test]
fn a_command_that_kills_its_helper_leaves_nobody_behind() {
    let model = runs("kill -9 $PPID; sleep 300");
    let home = Home::new(&model);
    let (mut client, thread) = start(&home, "danger-full-access");
    let run = client.run_turn(&thread, "go");
    assert_eq!(run.status(), "completed");
    assert!(!is_alive(runaway(&home)));
    client.finish();
}

#[test]
fn a_command_that_stops_its_helper_ends_all_the_same() {
    let model = runs("kill -STOP $PPID; exit 3");
    let home = Home::new(&model);
    let (mut client, thread) = start(&home, "danger-full-access");
    let began = Instant::now();
    let run = client.run_turn(&thread, "go");
    assert_eq!((run.status(), exit_code(&run)), ("completed", json!(3)));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert!(!is_alive(runaway(&home)));
    client.finish();
}

#[test]
fn a_killed_daemon_wakes_the_helpers_that_were_stopped() {
    let model = runs("kill -STOP $PPID; sleep 300");
    let home = Home::new(&model);
    let (mut client, thread) = start(&home, "danger-full-access");
    client.start_turn(&thread, "go");
    let runaway = runaway(&home);
    let daemon = client.daemon.as_ref().unwrap().pid();
    eventually("the helper is stopped", Duration::from_secs(10), || {
        children(daemon).iter().any(|helper| {
            let stat = std::fs::read_to_string(format!("/proc/{helper}/stat")).unwrap_or_default();
            stat.rsplit(')')
                .next()
                .unwrap_or_default()
                .trim_start()
                .starts_with('T')
        })
    });
    client.kill9();
    eventually("nobody is left", Duration::from_secs(1), || !is_alive(runaway));
}
