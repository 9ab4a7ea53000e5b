//! Too much at once: many requests, huge requests, much output. Everything is answered once and nothing falls over.

use std::collections::HashSet;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel};
use agentd_tests::session::Session;
use serde_json::{Value, json};

fn pipeline(client: &mut Session, count: usize) -> (Vec<i64>, String) {
    let mut ids = Vec::new();
    let mut lines = String::new();
    let first = client.send("thread/list", json!({}));
    ids.push(first);
    for _ in 1..count {
        ids.push(client.reserve());
        lines.push_str(&format!(
            "{}\n",
            json!({"id": ids.last(), "method": "thread/list", "params": {"limit": 5}})
        ));
    }
    (ids, lines)
}

#[test]
fn two_hundred_requests_in_a_row_are_each_answered_once() {
    let model = MockModel::start(|n, _| model::message(&format!("m{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "hello");
    let (ids, lines) = pipeline(&mut client, 200);
    client.write_raw(lines.as_bytes());
    for id in &ids {
        let response = client.response(*id);
        assert_eq!(response["result"]["data"][0]["id"], thread.as_str(), "{response}");
    }
    client.finish();
}

#[test]
fn thousands_of_requests_at_once_are_each_answered_once() {
    const COUNT: usize = 5000;
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let (ids, lines) = pipeline(&mut client, COUNT);
    let begin = Instant::now();
    client.write_raw(lines.as_bytes());
    let mut refused = 0;
    for id in &ids {
        let response = client.response(*id);
        match response.get("error") {
            None => assert!(response["result"]["data"].is_array(), "{response}"),
            Some(error) => {
                assert_eq!(error["code"], -32001, "{response}");
                refused += 1;
            }
        }
    }
    assert!(refused < COUNT, "nobody was served");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert!(
        client.request("thread/list", json!({}))["data"].is_array(),
        "and afterwards it serves as before"
    );
    client.finish();
}

#[test]
fn a_request_of_twenty_megabytes_is_answered() {
    let model = MockModel::start(|n, _| model::message(&format!("m{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let response = client.request("thread/list", json!({"unknownMember": "x".repeat(20 << 20)}));
    assert_eq!(response["data"].as_array().unwrap().len(), 1);
    assert_eq!(client.run_turn(&thread, "small again").answer(), "ok");
    client.finish();
}

/// Longer than any message may be: refused without keeping it, and the connection stays.
#[test]
fn a_request_without_end_is_refused() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let piece = vec![b'x'; 1 << 20];
    client.write_raw(b"{\"id\":77,\"method\":\"thread/list\",\"params\":{\"x\":\"");
    for _ in 0..80 {
        client.write_raw(&piece);
    }
    client.write_raw(b"\"}}\n");
    client.expect_refusal(|error| assert!(error["code"].is_i64() && error["data"]["kind"].is_string(), "{error}"));
    assert!(client.request("thread/list", json!({}))["data"].is_array());
    let peak_kib = client.daemon.as_ref().unwrap().status_number("VmHWM");
    assert!(peak_kib < 250 * 1024, "{peak_kib} KiB");
    client.finish();
}

/// A client that asks for much gets all of it; one that does not even read it costs little.
#[test]
fn large_answers_wait_for_their_reader() {
    let steps = (0..4).flat_map(|n| {
        let cmd = format!("head -c 900000 /dev/zero | tr '\\0' {n}");
        model::call_steps(&format!("c{n}"), "exec_command", &json!({"cmd": cmd}))
    });
    let model = MockModel::replies(vec![model::stream(steps.collect()), model::message("m", "done")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "go");
    let read = json!({"threadId": thread, "includeTurns": true});
    let ids: Vec<i64> = (0..20).map(|_| client.send("thread/read", read.clone())).collect();
    std::thread::sleep(Duration::from_millis(300));
    for id in ids {
        let response = client.response(id);
        assert_eq!(
            response["result"]["thread"]["turns"][0]["items"]
                .as_array()
                .unwrap()
                .len(),
            6,
            "answer {id}"
        );
    }
    let mut asleep = UnixStream::connect(home.socket()).unwrap();
    asleep.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let hello = json!({"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "x", "title": null, "version": "0"}}});
    asleep.write_all(format!("{hello}\n").as_bytes()).unwrap();
    // The daemon stops reading from it at some point; that is what it is meant to feel.
    let asked = (1..=2000).take_while(|id| {
        let line = json!({"id": id, "method": "thread/read", "params": read});
        asleep.write_all(format!("{line}\n").as_bytes()).is_ok()
    });
    assert!(asked.count() > 8);
    let peak_kib = client.daemon.as_ref().unwrap().status_number("VmHWM");
    assert!(peak_kib < 300 * 1024, "{peak_kib} KiB");
    drop(asleep);
    client.finish();
}

#[test]
fn many_big_outputs_at_once() {
    const COMMANDS: usize = 6;
    const BYTES: usize = 3_000_000;
    let steps = (0..COMMANDS).flat_map(|n| {
        let cmd = format!("head -c {BYTES} /dev/zero | tr '\\0' {n}; echo; echo END {n}");
        model::call_steps(&format!("c{n}"), "exec_command", &json!({"cmd": cmd}))
    });
    let model = MockModel::replies(vec![model::stream(steps.collect()), model::message("m", "done")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let begin = Instant::now();
    let run = client.run_turn(&thread, "go");
    assert_eq!(run.answer(), "done");
    let items = run.completed("commandExecution");
    let names: HashSet<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(names.len(), COMMANDS);
    for item in &items {
        let (id, output) = (item["id"].as_str().unwrap(), item["aggregatedOutput"].as_str().unwrap());
        let number = &id[1..];
        assert!(
            output.len() < (1 << 20) + 200 && output.ends_with(&format!("END {number}\n")),
            "{id}: {} bytes",
            output.len()
        );
        let foreign = output
            .chars()
            .take(1 << 19)
            .filter(|c| c.is_ascii_digit() && !number.contains(*c))
            .count();
        assert_eq!(foreign, 0, "{id} has output of another command");
    }
    let longest = run
        .of("item/commandExecution/outputDelta")
        .iter()
        .filter_map(|p| p["delta"].as_str())
        .map(str::len)
        .max();
    assert!(longest.unwrap_or(0) <= 8192, "a delta of {longest:?} bytes");
    let peak_kib = client.daemon.as_ref().unwrap().status_number("VmHWM");
    assert!(peak_kib < 150 * 1024, "{peak_kib} KiB");
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    let outputs: Vec<Value> = model.requests()[1]
        .input()
        .into_iter()
        .filter(|item| item["type"] == "function_call_output")
        .collect();
    assert_eq!(outputs.len(), COMMANDS);
    assert!(
        model.requests()[1].body.len() < COMMANDS * 45_000 + 60_000,
        "{} bytes",
        model.requests()[1].body.len()
    );
    client.finish();
}
