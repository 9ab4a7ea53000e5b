//! Several clients of one home: they see the same, share approvals, come and go, and cannot slow each other down.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use agentd_tests::daemon::{Daemon, Home, eventually};
use agentd_tests::model::{self, MockModel, Reply, Step};
use agentd_tests::session::Session;
use serde_json::{Value, json};

/// How two clients reach one daemon.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Two processes on stdio; the second hands its bytes to the first.
    TwoProcesses,
    /// Two connections to the socket.
    TwoConnections,
}

/// Keeps a listening daemon alive, if there is one.
fn two_clients(home: &Home, way: Way) -> (Option<Daemon>, Session, Session) {
    match way {
        Way::TwoProcesses => (None, home.session(), home.session()),
        Way::TwoConnections => (Some(home.listen()), home.connect(), home.connect()),
    }
}

fn escalated(call: &str, cmd: &str) -> Reply {
    model::call(
        call,
        "exec_command",
        json!({"cmd": cmd, "sandbox_permissions": "require_escalated", "justification": "Need it?"}),
    )
}

/// A message that waits for the gate after its first delta.
fn gated(gate: &'static str) -> Reply {
    let mut steps = model::message_steps("msg_gated", &["before ", "after"], Duration::ZERO);
    steps.insert(2, Step::Gate(gate));
    model::stream(steps)
}

/// What a client is told of a thread, status changes of other threads left out.
fn told<'a>(events: &'a [Value], thread: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e["params"]["threadId"] == thread).collect()
}

#[test]
fn both_see_everything_and_the_first_answer_wins() {
    for way in [Way::TwoProcesses, Way::TwoConnections] {
        let model = MockModel::replies(vec![
            model::message("m0", "zero"),
            escalated("c1", "echo x > f"),
            model::message("m1", "one"),
            model::message("m2", "two"),
        ]);
        let home = Home::new(&model);
        let (_daemon, mut first, mut second) = two_clients(&home, way);
        let thread = first.start_thread(json!({"sandbox": "read-only", "approvalPolicy": "on-request"}));
        first.run_turn(&thread, "zero");
        let announced = second.drain(Duration::from_millis(50));
        assert_eq!(
            announced[0]["method"], "thread/started",
            "{way:?}: everybody is told of a new thread"
        );
        second.resume(&thread);
        let turn = first.start_turn(&thread, "go");
        let mut seen_first = first.until("item/commandExecution/requestApproval", |_| true);
        let mut seen_second = second.until("item/commandExecution/requestApproval", |_| true);
        let (asked_first, asked_second) = (seen_first.last().unwrap().clone(), seen_second.last().unwrap().clone());
        assert_eq!(asked_first, asked_second, "{way:?}: the same question with the same id");
        second.answer(&asked_second, json!({"decision": "accept"}));
        seen_first.extend(first.until("serverRequest/resolved", |_| true));
        first.answer(&asked_first, json!({"decision": "cancel"}));
        let rest = first.finish_turn(&turn);
        assert_eq!(
            (rest.status(), rest.answer()),
            ("completed", "one"),
            "{way:?}: the late answer changed something"
        );
        assert_eq!(std::fs::read_to_string(home.workspace().join("f")).unwrap(), "x\n");
        seen_first.extend(rest.events);
        seen_second.extend(second.finish_turn(&turn).events);
        assert_eq!(told(&seen_first, &thread), told(&seen_second, &thread), "{way:?}");
        // Either may start the next turn.
        let turn = second.start_turn(&thread, "again");
        assert_eq!(second.finish_turn(&turn).answer(), "two");
        assert_eq!(first.finish_turn(&turn).answer(), "two");
        second.finish();
        first.finish();
    }
}

#[test]
fn a_turn_goes_on_without_its_client() {
    let model = MockModel::replies(vec![gated("one"), gated("two")]);
    let home = Home::new(&model);
    let daemon = home.listen();
    let mut first = home.connect();
    let thread = first.start_thread(json!({}));
    // The next client comes before the turn ends and sees the rest of it.
    let turn = first.start_turn(&thread, "one");
    first.until("item/agentMessage/delta", |_| true);
    first.abandon();
    let mut second = home.connect();
    let resumed = second.resume(&thread);
    assert_eq!(resumed["thread"]["turns"][0]["items"][1]["text"], "before ");
    model.open("one");
    let run = second.finish_turn(&turn);
    assert_eq!((run.status(), run.answer()), ("completed", "before after"));
    // The next client comes after its end and reads it.
    let turn = second.start_turn(&thread, "two");
    second.until("item/agentMessage/delta", |_| true);
    second.abandon();
    model.open("two");
    let mut third = home.connect();
    eventually("the turn is complete", Duration::from_secs(5), || {
        third.read(&thread)["turns"][1]["status"] == "completed"
    });
    third.drain(Duration::from_millis(50));
    let resumed = third.resume(&thread);
    let turns = resumed["thread"]["turns"].as_array().unwrap();
    assert_eq!(
        (&turns[1]["id"], &turns[1]["items"][1]["text"]),
        (&json!(turn), &json!("before after"))
    );
    third.finish();
    drop(daemon);
}

/// A client that resumes at the very moment a turn ends is told of the end in the right order, whenever that is.
#[test]
fn resuming_while_a_turn_ends_ends_up_right() {
    let model = MockModel::start(|n, _| match n {
        0 => {
            let big = |n: usize| {
                model::call_steps(
                    &format!("c{n}"),
                    "exec_command",
                    &json!({"cmd": "head -c 900000 /dev/zero | tr '\\0' x"}),
                )
            };
            model::stream((0..3).flat_map(big).collect())
        }
        _ => {
            let mut steps = vec![Step::Sleep(Duration::from_millis(5 + n as u64 % 7 * 3))];
            steps.extend(model::message_steps(&format!("m{n}"), &["ok"], Duration::ZERO));
            model::stream(steps)
        }
    });
    let home = Home::new(&model);
    let _daemon = home.listen();
    let mut first = home.connect();
    let thread = first.start_thread(json!({"sandbox": "workspace-write"}));
    first.run_turn(&thread, "big");
    for round in 0..8 {
        let mut second = home.connect();
        let turn = first.start_turn(&thread, &format!("round {round}"));
        second.resume(&thread);
        first.finish_turn(&turn);
        second.drain(Duration::from_millis(60));
        // It compares what it was told with what is.
        second.finish();
    }
    first.finish();
}

/// Nobody is there when the question is asked: whoever resumes is asked, and one answer is enough.
#[test]
fn an_open_question_waits_for_the_next_client() {
    let model = MockModel::replies(vec![escalated("c1", "touch f"), model::message("m", "done")]);
    let home = Home::new(&model);
    let _daemon = home.listen();
    let mut first = home.connect();
    let thread = first.start_thread(json!({"sandbox": "workspace-write", "approvalPolicy": "on-request"}));
    let turn = first.start_turn(&thread, "go");
    let asked = first
        .until("item/commandExecution/requestApproval", |_| true)
        .pop()
        .unwrap();
    first.abandon();
    let mut second = home.connect();
    let resumed = second.resume(&thread);
    assert_eq!(resumed["thread"]["status"]["activeFlags"], json!(["waitingOnApproval"]));
    let again = second
        .until("item/commandExecution/requestApproval", |_| true)
        .pop()
        .unwrap();
    assert_eq!((&again["id"], &again["params"]), (&asked["id"], &asked["params"]));
    second.answer(&again, json!({"decision": "accept"}));
    assert_eq!(second.finish_turn(&turn).answer(), "done");
    assert!(home.workspace().join("f").exists());
    second.finish();
}

/// A process that hands its bytes to the serving one is killed: that costs the others nothing.
#[test]
fn a_killed_second_process_costs_the_first_nothing() {
    let model = MockModel::replies(vec![gated("go"), model::message("m", "next")]);
    let home = Home::new(&model);
    let mut first = home.session();
    let mut second = home.session();
    let thread = second.start_thread(json!({}));
    let turn = second.start_turn(&thread, "go");
    second.until("item/agentMessage/delta", |_| true);
    second.kill9();
    model.open("go");
    eventually("the turn is complete", Duration::from_secs(5), || {
        first.read(&thread)["turns"][0]["status"] == "completed"
    });
    first.drain(Duration::from_millis(50));
    let resumed = first.resume(&thread);
    assert_eq!(resumed["thread"]["turns"][0]["id"], turn.as_str());
    assert_eq!(first.run_turn(&thread, "next").answer(), "next");
    first.finish();
}

/// The process that serves has lost its own client, but another process still uses it.
#[test]
fn the_serving_process_stays_for_the_clients_of_others() {
    let model = MockModel::replies(vec![gated("go"), model::message("m", "next")]);
    let home = Home::new(&model);
    let mut owner = home.session();
    let mut second = home.session();
    let thread = second.start_thread(json!({}));
    let turn = second.start_turn(&thread, "go");
    second.until("item/agentMessage/delta", |_| true);
    owner.drain(Duration::from_millis(50));
    let mut process = owner.daemon.take().unwrap();
    owner.abandon();
    std::thread::sleep(Duration::from_millis(200));
    assert!(
        process.child.try_wait().unwrap().is_none(),
        "it left although it was needed"
    );
    model.open("go");
    assert_eq!(second.finish_turn(&turn).status(), "completed");
    assert_eq!(second.run_turn(&thread, "next").answer(), "next");
    second.finish();
    assert!(
        process.wait(Duration::from_secs(2)).success(),
        "nobody needs it any more"
    );
}

/// The only client leaves in the middle of a turn: the process finishes it before it ends.
#[test]
fn a_turn_outlives_its_only_client_on_stdio() {
    let model = MockModel::replies(vec![gated("go")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.start_turn(&thread, "go");
    client.until("item/agentMessage/delta", |_| true);
    let mut process = client.daemon.take().unwrap();
    client.abandon();
    model.open("go");
    assert!(process.wait(Duration::from_secs(5)).success());
    let mut client = home.session();
    let read = client.read(&thread);
    assert_eq!(
        (&read["turns"][0]["status"], &read["turns"][0]["items"][1]["text"]),
        (&json!("completed"), &json!("before after"))
    );
    client.finish();
}

/// A connection that resumes a thread and then never reads.
fn sleeper(home: &Home, thread: &str) -> BufReader<UnixStream> {
    let mut stream = UnixStream::connect(home.socket()).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for message in [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "sleeper", "title": null, "version": "0"}}}),
        json!({"id": 2, "method": "thread/resume", "params": {"threadId": thread}}),
    ] {
        stream.write_all(format!("{message}\n").as_bytes()).unwrap();
        let mut line = String::new();
        while !line.contains(&format!("\"id\":{}", message["id"])) {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0);
        }
    }
    reader
}

/// What the sleeper finds when it wakes up: the text of all deltas, and whether it was cut off.
fn wake(mut reader: BufReader<UnixStream>) -> (String, bool) {
    reader.get_ref().set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut text = String::new();
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).unwrap() == 0 {
            return (text, true);
        }
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            return (text, true);
        };
        text.push_str(message["params"]["delta"].as_str().unwrap_or(""));
        if message["method"] == "turn/completed" {
            return (text, false);
        }
    }
}

#[test]
fn a_client_that_does_not_read_costs_the_others_nothing() {
    const DELTAS: usize = 20_000;
    // Short deltas fit what may wait for a client; long ones do not unless they are merged.
    for pad in [0, 250] {
        let words: Vec<String> = (0..DELTAS).map(|n| format!("{n} {}", "x".repeat(pad))).collect();
        let steps = model::message_steps(
            "msg_long",
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
            Duration::ZERO,
        );
        let model = MockModel::replies(vec![model::message("m", "zero"), model::stream(steps)]);
        let home = Home::new(&model);
        let daemon = home.listen();
        let mut client = home.connect();
        let thread = client.start_thread(json!({}));
        client.run_turn(&thread, "zero");
        let asleep = sleeper(&home, &thread);
        let begin = Instant::now();
        let run = client.run_turn(&thread, "go");
        let took = begin.elapsed();
        let peak_kib = daemon.status_number("VmHWM");
        assert_eq!(run.status(), "completed");
        let deltas: Vec<&str> = run
            .of("item/agentMessage/delta")
            .iter()
            .map(|p| p["delta"].as_str().unwrap())
            .collect();
        assert_eq!(deltas.concat(), words.concat(), "every delta in order");
        assert!(took < Duration::from_secs(10), "pad {pad}: {took:?}");
        assert!(peak_kib < 150 * 1024, "pad {pad}: {peak_kib} KiB");
        let (text, cut) = wake(asleep);
        assert!(
            if cut {
                words.concat().starts_with(&text)
            } else {
                text == words.concat()
            },
            "pad {pad}: the sleeper was told something else"
        );
        client.finish();
    }
}
