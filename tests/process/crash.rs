//! `kill -9` at any moment: nothing completed is lost, nothing is left running, the thread goes on.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use agentd_tests::daemon::{Home, eventually, is_alive, read_when_there};
use agentd_tests::model::{self, MockModel, Reply, Step};
use agentd_tests::session::{Session, Wreck};
use serde_json::{Value, json};

/// How much shown text may be lost: 4 KiB by contract, the rest is on its way to the disk of a busy machine.
const LOST_BYTES: usize = 4096 + 12 * 1024;
/// Text that was shown this long before the kill must be there: 250 ms by contract, the rest for a busy machine.
const LOST_MS: i64 = 250 + 150;
/// How long processes may outlive the daemon.
const ORPHAN_LIMIT: Duration = Duration::from_secs(1);

/// Small deterministic numbers.
fn random(seed: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03;
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 27)
}

fn last_user_text(body: &Value) -> String {
    let mut texts = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["role"] == "user");
    texts
        .next_back()
        .and_then(|item| item["content"][0]["text"].as_str())
        .unwrap_or("")
        .to_owned()
}

fn last_is_output(body: &Value) -> bool {
    body["input"]
        .as_array()
        .and_then(|input| input.last())
        .is_some_and(|item| item["type"] == "function_call_output")
}

fn text(id: &str, deltas: usize, gap_ms: u64) -> Vec<Step> {
    let words: Vec<String> = (0..deltas).map(|n| format!("{id} word {n} ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    model::message_steps(id, &words, Duration::from_millis(gap_ms))
}

/// A command with a child in the background and one in a session of its own; all write down their ids.
fn busy_command(name: &str) -> Value {
    let cmd = format!(
        "echo $$ >> {name}.pids; (echo $BASHPID >> {name}.pids; exec sleep 300) & kept=$!; setsid bash -c 'echo $$ >> {name}.pids; trap \"\" TERM HUP; sleep 300' & for i in $(seq 40); do echo {name} tick $i; sleep 0.01; done; kill $kept; exit 0"
    );
    json!({"cmd": cmd})
}

/// About a second: a message, two commands side by side with more text, a last message.
fn busy_turn(name: &str, body: &Value) -> Reply {
    if last_is_output(body) {
        return model::stream(text(&format!("msg_{name}_end"), 12, 10));
    }
    let mut steps = text(&format!("msg_{name}_begin"), 20, 10);
    steps.extend(model::call_steps(
        &format!("{name}_a"),
        "exec_command",
        &busy_command(&format!("{name}_a")),
    ));
    steps.extend(model::call_steps(
        &format!("{name}_b"),
        "exec_command",
        &busy_command(&format!("{name}_b")),
    ));
    steps.extend(text(&format!("msg_{name}_more"), 20, 10));
    model::stream(steps)
}

fn script(body: &Value) -> Reply {
    let said = last_user_text(body);
    match said.strip_prefix("crash ") {
        Some(name) => busy_turn(name, body),
        None => model::message(&format!("msg_{}", said.replace(' ', "_")), &format!("answer to {said}")),
    }
}

fn pids_in(dir: &Path) -> Vec<u32> {
    let files = std::fs::read_dir(dir)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "pids"));
    let texts: Vec<String> = files
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap_or_default())
        .collect();
    texts
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.trim().parse().ok())
        .collect()
}

fn assert_nothing_runs(home: &Home, context: &str) {
    let end = Instant::now() + ORPHAN_LIMIT;
    loop {
        let mut left = home.processes();
        left.extend(pids_in(&home.workspace()).into_iter().filter(|pid| is_alive(*pid)));
        if left.is_empty() {
            return;
        }
        let names: Vec<String> = left
            .iter()
            .map(|pid| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default())
            .collect();
        assert!(Instant::now() < end, "{context}: still running {left:?}: {names:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The text of an item that grows while it is open.
fn shown_text(item: &Value) -> String {
    match item["type"].as_str() {
        Some("commandExecution") => item["aggregatedOutput"].as_str().unwrap_or("").to_owned(),
        Some("reasoning") => item["summary"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect(),
        _ => item["text"].as_str().unwrap_or("").to_owned(),
    }
}

/// Compares what a client had seen of a turn with what is stored of it.
fn assert_kept(seen: &Wreck, stored: &Value, context: &str) {
    let items = stored["items"].as_array().unwrap();
    let find = |id: &Value| {
        items
            .iter()
            .find(|item| item["id"] == *id)
            .unwrap_or_else(|| panic!("{context}: item {id} is lost: {stored:#}"))
    };
    let params = |method: &'static str| {
        seen.events
            .iter()
            .filter(move |e| e["method"] == method)
            .map(|e| &e["params"])
    };
    let completed: HashMap<&str, &Value> = params("item/completed")
        .map(|p| (p["item"]["id"].as_str().unwrap(), &p["item"]))
        .collect();
    for (id, item) in &completed {
        assert_eq!(find(&json!(id)), *item, "{context}: a completed item changed");
    }
    let mut deltas: HashMap<&str, Vec<(i64, &str)>> = HashMap::new();
    for event in &seen.events {
        if let Some(delta) = event["params"]["delta"].as_str() {
            let at = event["emittedAtMs"].as_i64().unwrap();
            deltas
                .entry(event["params"]["itemId"].as_str().unwrap())
                .or_default()
                .push((at, delta));
        }
    }
    for (id, deltas) in deltas.iter().filter(|(id, _)| !completed.contains_key(*id)) {
        let all: String = deltas.iter().map(|(_, delta)| *delta).collect();
        let old: String = deltas
            .iter()
            .filter(|(at, _)| seen.killed_at_ms - at >= LOST_MS)
            .map(|(_, delta)| *delta)
            .collect();
        if old.is_empty() && all.len() <= LOST_BYTES && !items.iter().any(|item| item["id"] == **id) {
            continue;
        }
        let kept = shown_text(find(&json!(id)));
        assert!(
            kept.starts_with(&old),
            "{context}: text older than {LOST_MS} ms is lost from {id}:\nkept {kept:?}\nold {old:?}"
        );
        assert!(
            kept.starts_with(&all) || all.starts_with(&kept),
            "{context}: {id} has other text than was shown:\nkept {kept:?}\nshown {all:?}"
        );
        assert!(
            all.len() <= kept.len() + LOST_BYTES,
            "{context}: {} bytes of {id} are lost",
            all.len() - kept.len()
        );
    }
}

fn assert_closed(turn: &Value, context: &str) {
    assert!(
        ["interrupted", "completed"].contains(&turn["status"].as_str().unwrap()),
        "{context}: {turn:#}"
    );
    for item in turn["items"].as_array().unwrap() {
        assert!(!item["completedAtMs"].is_null(), "{context}: an item is open: {item:#}");
        assert_ne!(item["status"], "inProgress", "{context}: an item is open: {item:#}");
    }
}

/// Restarts after a kill: reads, resumes, judges, and has a next turn. Returns the new session.
fn recover(home: &Home, thread: &str, seen: &Wreck, next: &str, context: &str) -> Session {
    assert_nothing_runs(home, context);
    let mut client = home.session();
    let turn_id = seen
        .events
        .iter()
        .find(|e| e["method"] == "turn/started")
        .map(|e| e["params"]["turn"]["id"].clone());
    let turn_of = |thread: &Value| {
        let turns = thread["turns"].as_array().unwrap();
        turns.iter().find(|turn| Some(&turn["id"]) == turn_id.as_ref()).cloned()
    };
    let read = client.read(thread);
    for turn in read["turns"].as_array().unwrap() {
        assert_ne!(turn["status"], "inProgress", "{context}: read before resume: {turn:#}");
    }
    let resumed = client.resume(thread)["thread"].clone();
    resumed["turns"]
        .as_array()
        .unwrap()
        .iter()
        .for_each(|turn| assert_closed(turn, context));
    if turn_id.is_some() {
        let turn = turn_of(&resumed).unwrap_or_else(|| panic!("{context}: a started turn is lost"));
        if let Some(end) = seen.events.iter().find(|e| e["method"] == "turn/completed") {
            assert_eq!(turn["status"], end["params"]["turn"]["status"], "{context}");
        }
        assert_kept(seen, &turn, context);
    }
    let run = client.run_turn(thread, next);
    assert_eq!(
        (run.status(), run.answer()),
        ("completed", format!("answer to {next}").as_str()),
        "{context}: {}",
        run.turn
    );
    client
}

/// One thread that is killed again and again.
fn lane(lane: u64, moments: u64) {
    let model = MockModel::start(|_, body| script(body));
    let home = Home::new(&model);
    let sandbox = if lane.is_multiple_of(2) {
        "workspace-write"
    } else {
        "danger-full-access"
    };
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": sandbox, "approvalPolicy": "never"}));
    for moment in 0..moments {
        let delay = Duration::from_millis(5 + random(lane * 100 + moment) % 900);
        let context = format!("lane {lane} moment {moment}, killed after {delay:?}");
        let begin = Instant::now();
        let request =
            json!({"threadId": thread, "input": [{"type": "text", "text": format!("crash l{lane}m{moment}")}]});
        client.send("turn/start", request);
        std::thread::sleep(delay.saturating_sub(begin.elapsed()));
        let seen = client.kill9();
        client = recover(&home, &thread, &seen, &format!("next {moment}"), &context);
        model.assert_prefix();
    }
    client.finish();
}

#[test]
fn twenty_random_moments_of_a_busy_turn() {
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || lane(number, 5));
        }
    });
}

/// Much text in little time: what is lost is counted in bytes, for a message and for the output of a command.
#[test]
fn of_fast_text_little_is_lost() {
    let model = MockModel::start(|_, body| match last_user_text(body).as_str() {
        "crash message" => {
            let words: Vec<String> = (0..2000).map(|n| format!("{n:0>199} ")).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            model::stream(model::message_steps("msg_fast", &words, Duration::from_micros(500)))
        }
        "crash command" if !last_is_output(body) => model::exec(
            "fast",
            "for i in $(seq 4500); do printf '%0199d\\n' $i; [ $((i % 20)) -ne 0 ] || sleep 0.002; done; sleep 60",
        ),
        _ => script(body),
    });
    for (round, said) in ["crash message", "crash command"]
        .into_iter()
        .cycle()
        .take(6)
        .enumerate()
    {
        let home = Home::new(&model);
        let mut client = home.session();
        let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
        client.start_turn(&thread, said);
        let events = client.until("item/started", |p| p["item"]["type"] != "userMessage");
        std::thread::sleep(Duration::from_millis(50 + random(round as u64) % 500));
        let seen = client.kill9().after(events);
        recover(&home, &thread, &seen, "next", &format!("{said}, round {round}")).finish();
    }
}

/// The daemon is killed again while it repairs what the first kill left behind.
#[test]
fn a_kill_during_the_repair_changes_nothing() {
    let model = MockModel::start(|_, body| script(body));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write", "approvalPolicy": "never"}));
    for round in 0..4 {
        let request = json!({"threadId": thread, "input": [{"type": "text", "text": format!("crash r{round}")}]});
        client.send("turn/start", request);
        std::thread::sleep(Duration::from_millis(350));
        let seen = client.kill9();
        for again in 0..6 {
            let mut daemon = home.spawn();
            std::thread::sleep(Duration::from_millis(random(round * 10 + again) % 30));
            daemon.kill9();
        }
        client = recover(
            &home,
            &thread,
            &seen,
            &format!("next {round}"),
            &format!("repair, round {round}"),
        );
        model.assert_prefix();
    }
    let turns = client.read(&thread)["turns"].as_array().unwrap().len();
    assert_eq!(turns, 8, "no turn twice, none lost");
    client.finish();
}

fn output_of(model: &MockModel, call_id: &str) -> String {
    let input = model.requests().last().unwrap().input();
    let outputs: Vec<&Value> = input
        .iter()
        .filter(|i| i["type"] == "function_call_output" && i["call_id"] == call_id)
        .collect();
    assert_eq!(outputs.len(), 1, "one output for {call_id}");
    outputs[0]["output"].as_str().unwrap().to_owned()
}

#[test]
fn of_two_parallel_calls_the_finished_one_keeps_its_result() {
    let model = MockModel::start(|_, body| {
        if last_user_text(body) != "crash" {
            return script(body);
        }
        let mut steps = model::call_steps("quick", "exec_command", &json!({"cmd": "echo quick done | tee -a log"}));
        steps.extend(model::call_steps(
            "slow",
            "exec_command",
            &json!({"cmd": "echo slow >> log; echo begun; sleep 300"}),
        ));
        model::stream(steps)
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    client.start_turn(&thread, "crash");
    let (mut quick_done, mut slow_shown) = (false, false);
    let mut events = Vec::new();
    while !(quick_done && slow_shown) {
        let event = client.next_event();
        quick_done |= event["method"] == "item/completed" && event["params"]["item"]["id"] == "quick";
        slow_shown |= event["method"] == "item/commandExecution/outputDelta" && event["params"]["itemId"] == "slow";
        events.push(event);
    }
    let seen = client.kill9().after(events);
    let client = recover(&home, &thread, &seen, "next", "parallel");
    assert!(
        output_of(&model, "quick").contains("quick done\n"),
        "{}",
        output_of(&model, "quick")
    );
    assert!(
        output_of(&model, "slow").contains("aborted"),
        "{}",
        output_of(&model, "slow")
    );
    let mut log: Vec<String> = std::fs::read_to_string(home.workspace().join("log"))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    log.sort();
    assert_eq!(log, ["quick done", "slow"], "each ran once");
    client.finish();
}

#[test]
fn an_open_approval_is_withdrawn_and_its_command_never_runs() {
    let model = MockModel::start(|_, body| {
        if last_user_text(body) != "crash" {
            return script(body);
        }
        model::call(
            "c1",
            "exec_command",
            json!({"cmd": "touch f", "sandbox_permissions": "require_escalated", "justification": "May I?"}),
        )
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write", "approvalPolicy": "on-request"}));
    client.start_turn(&thread, "crash");
    let events = client.until("item/commandExecution/requestApproval", |_| true);
    let request = events.last().unwrap().clone();
    let seen = client.kill9().after(events);
    let mut client = recover(&home, &thread, &seen, "next", "approval");
    client.answer(&request, json!({"decision": "accept"}));
    assert_eq!(client.run_turn(&thread, "after").status(), "completed");
    assert!(
        !home.workspace().join("f").exists(),
        "an answer to a question from before the crash runs nothing"
    );
    let read = client.read(&thread);
    assert_eq!(read["status"], json!({"type": "idle"}));
    let asked = read["turns"][0]["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["id"] == "c1")
        .unwrap();
    assert_eq!(asked["exitCode"], Value::Null);
    client.finish();
}

/// A patch of many files: after the kill each file is as before or as after, and the thread goes on.
#[test]
fn a_patch_is_never_half_in_a_file() {
    const FILES: usize = 150;
    let old: String = (0..400).map(|n| format!("old line {n}\n")).collect();
    let patch: String = (0..FILES)
        .map(|n| format!("*** Update File: f{n}.txt\n@@\n-old line 7\n+new line 7\n"))
        .collect();
    let patch = format!("*** Begin Patch\n{patch}*** Add File: added.txt\n+added\n*** End Patch\n");
    let new = old.replace("old line 7\n", "new line 7\n");
    for round in 0..6 {
        let patch = patch.clone();
        let model = MockModel::start(move |_, body| match last_user_text(body).as_str() {
            "crash" if !last_is_output(body) => model::patch("p1", &patch),
            _ => script(body),
        });
        let home = Home::new(&model);
        for n in 0..FILES {
            std::fs::write(home.workspace().join(format!("f{n}.txt")), &old).unwrap();
        }
        let mut client = home.session();
        let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
        client.start_turn(&thread, "crash");
        let events = client.until("item/started", |p| p["item"]["type"] == "fileChange");
        std::thread::sleep(Duration::from_millis(random(round) % 40));
        let seen = client.kill9().after(events);
        for n in 0..FILES {
            let text = std::fs::read_to_string(home.workspace().join(format!("f{n}.txt"))).unwrap();
            assert!(
                text == old || text == new,
                "round {round}: f{n}.txt is neither as before nor as after: {} bytes",
                text.len()
            );
        }
        recover(&home, &thread, &seen, "next", &format!("patch round {round}")).finish();
    }
}

/// The listening daemon leaves its socket and lock behind when it is killed; the next one takes them over.
#[test]
fn a_killed_listener_is_replaced() {
    let model = MockModel::start(|_, body| script(body));
    let home = Home::new(&model);
    let mut daemon = home.listen();
    let mut client = home.connect();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    client.start_turn(&thread, "crash x");
    read_when_there(&home.workspace().join("x_a.pids"));
    daemon.kill9();
    let seen = client.until_closed();
    assert!(!seen.events.iter().any(|e| e["method"] == "turn/completed"));
    eventually("its commands are gone", ORPHAN_LIMIT, || home.processes().is_empty());
    let daemon = home.listen();
    let mut client = home.connect();
    let resumed = client.resume(&thread);
    assert_closed(&resumed["thread"]["turns"][0], "listener");
    assert_eq!(client.run_turn(&thread, "next").status(), "completed");
    client.finish();
    drop(daemon);
}
