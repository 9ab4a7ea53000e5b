//! What clients can make the daemon hold or wait for: large items and answers, readers that sleep, half-open connections,
//! questions that nobody is there to answer.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel};
use serde_json::json;

const QUICK: Duration = Duration::from_secs(1);

#[test]
fn a_large_item_costs_no_reading_client_its_connection() {
    const BYTES: usize = 9 << 20;
    let text = "y".repeat(BYTES);
    let model = MockModel::start(move |n, _| model::message(&format!("m{n}"), &text));
    let home = Home::new(&model);
    let _daemon = home.listen();
    let (mut first, mut second) = (home.connect(), home.connect());
    let thread = first.start_thread(json!({}));
    second.resume(&thread);
    let turn = first.start_turn(&thread, "go");
    for client in [&mut first, &mut second] {
        let run = client.finish_turn(&turn);
        assert_eq!((run.status(), run.answer().len()), ("completed", BYTES));
    }
    first.abandon();
    second.abandon();
}

/// Clients that ask for much and never read: the daemon holds little for them and serves the others as before.
#[test]
fn sleeping_readers_cost_little_memory_and_no_time() {
    const SLEEPERS: usize = 12;
    let text = "y".repeat(6 << 20);
    let model = MockModel::start(move |n, _| model::message(&format!("m{n}"), &text));
    let home = Home::new(&model);
    let daemon = home.listen();
    let mut client = home.connect();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "go");
    let mut lines = json!({"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "x", "title": null, "version": "0"}}}).to_string();
    for id in 1..=50 {
        let read = json!({"id": id, "method": "thread/read", "params": {"threadId": thread, "includeTurns": true}});
        lines.push_str(&format!("\n{read}"));
    }
    lines.push('\n');
    let sleepers: Vec<UnixStream> = (0..SLEEPERS)
        .map(|_| {
            let mut sleeper = UnixStream::connect(home.socket()).unwrap();
            sleeper.write_all(lines.as_bytes()).unwrap();
            sleeper
        })
        .collect();
    let end = Instant::now() + Duration::from_secs(2);
    let mut slowest = Duration::ZERO;
    while Instant::now() < end {
        let begin = Instant::now();
        client.request("thread/list", json!({}));
        slowest = slowest.max(begin.elapsed());
    }
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    assert_eq!(
        client.read(&thread)["turns"].as_array().unwrap().len(),
        1,
        "it gets its own"
    );
    let peak_kib = daemon.status_number("VmHWM");
    assert!(peak_kib < 400 * 1024, "{peak_kib} KiB");
    drop(sleepers);
    client.abandon();
}

#[test]
fn nobody_left_to_answer_ends_the_turn_and_the_process() {
    let arguments = json!({"cmd": "true", "sandbox_permissions": "require_escalated", "justification": "Need it?"});
    let model = MockModel::replies(vec![model::call("c1", "exec_command", arguments)]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write", "approvalPolicy": "on-request"}));
    client.start_turn(&thread, "go");
    client.until("item/commandExecution/requestApproval", |_| true);
    let mut process = client.daemon.take().unwrap();
    client.abandon();
    assert!(process.wait(Duration::from_secs(3)).success());
    let mut client = home.session();
    assert_eq!(client.read(&thread)["turns"][0]["status"], "interrupted");
    client.finish();
}

/// A turn that works goes on without anybody, for sixty times the grace.
#[test]
fn a_turn_that_never_ends_does_not_keep_the_process_for_ever() {
    for (grace, leaves) in [(0, true), (60, false)] {
        let model = MockModel::replies(vec![model::exec("c1", "sleep 300")]);
        let home = Home::with_config(&model, &format!("shutdown_grace_s = {grace}\n"));
        let mut client = home.session();
        let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
        client.start_turn(&thread, "go");
        client.until("item/started", |params| params["item"]["type"] == "commandExecution");
        let mut process = client.daemon.take().unwrap();
        client.abandon();
        if leaves {
            assert!(process.wait(Duration::from_secs(3)).success());
        } else {
            std::thread::sleep(Duration::from_millis(500));
            assert!(process.child.try_wait().unwrap().is_none(), "the turn still runs");
            process.kill9();
        }
    }
}

#[test]
fn half_open_connections_do_not_keep_the_process() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut daemon = home.listen();
    let half_open: Vec<UnixStream> = ["", "GET / HT", "{\"id\":"]
        .iter()
        .map(|text| {
            let mut stream = UnixStream::connect(home.socket()).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(50));
    daemon.terminate();
    assert!(daemon.wait(QUICK).success());
    drop(half_open);
}

#[test]
fn a_browser_gets_a_word() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let _daemon = home.listen();
    let mut stream = UnixStream::connect(home.socket()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 426 Upgrade Required\r\n"), "{answer}");
}

#[test]
fn a_search_term_may_be_long() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.request("thread/name/set", json!({"threadId": thread, "name": "50%_Off \\ ÄB"}));
    for (term, expected) in [
        ("%_o".to_owned(), 1),
        ("F \\ ".to_owned(), 1),
        ("Äb".to_owned(), 1),
        ("%O".to_owned(), 0),
        ("x".repeat(200_000), 0),
    ] {
        let page = client.request("thread/list", json!({"searchTerm": term}));
        assert_eq!(page["data"].as_array().unwrap().len(), expected, "{term:.20}");
    }
    client.drain(Duration::from_millis(20));
    client.finish();
}
