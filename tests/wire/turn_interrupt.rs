//! `turn/interrupt`: the turn ends, its processes end, its items end, the thread goes on. X02, T11.

use std::time::{Duration, Instant};

use agentd_tests::daemon::{Home, eventually, is_alive, read_when_there};
use agentd_tests::model::{self, MockModel, Step};
use serde_json::json;

fn pids(text: &str) -> Vec<u32> {
    text.split_whitespace().map(|p| p.parse().unwrap()).collect()
}

#[test]
fn a_running_command_ends_with_its_whole_tree() {
    let cases = [
        ("plain", "echo $$ > pid; exec sleep 120"),
        (
            "ignores TERM",
            "trap '' TERM; echo $$ > pid; while true; do sleep 1; done",
        ),
        (
            "three levels",
            "bash -c 'bash -c \"echo \\$\\$ >> pids; sleep 120\" & echo $$ >> pids; sleep 120' & echo $$ >> pids; while [ $(wc -l < pids) -lt 3 ]; do sleep 0.05; done; cp pids pid; wait",
        ),
        ("setsid", "setsid bash -c 'echo $$ > pid; sleep 120' & wait"),
        (
            "double fork",
            "(setsid bash -c 'trap \"\" TERM HUP; echo $$ > pid; sleep 120' &) ; sleep 120",
        ),
    ];
    for sandbox in ["workspace-write", "danger-full-access"] {
        for (name, cmd) in cases {
            let model = MockModel::replies(vec![model::exec("c1", cmd), model::message("m", "next")]);
            let home = Home::new(&model);
            let mut client = home.session();
            let thread = client.start_thread(json!({"sandbox": sandbox}));
            let turn = client.start_turn(&thread, "go");
            let pids = pids(&read_when_there(&home.workspace().join("pid")));
            let begin = Instant::now();
            client.request("turn/interrupt", json!({"threadId": thread, "turnId": turn}));
            let run = client.finish_turn(&turn);
            assert!(
                begin.elapsed() < Duration::from_millis(2500),
                "{name}: {:?}",
                begin.elapsed()
            );
            assert!(pids.iter().all(|pid| !is_alive(*pid)), "{sandbox} {name}: still alive");
            assert_eq!(
                (run.status(), run.completed("commandExecution")[0]["status"].as_str()),
                ("interrupted", Some("failed")),
                "{name}"
            );
            let run = client.run_turn(&thread, "next");
            assert_eq!(run.answer(), "next", "{name}");
            let output = model.requests()[1]
                .input()
                .into_iter()
                .find(|i| i["type"] == "function_call_output")
                .unwrap();
            assert!(output["output"].as_str().unwrap().contains("aborted"), "{output}");
            assert!(String::from_utf8_lossy(&model.requests()[1].body).contains("<turn_aborted>"));
            model.assert_prefix();
            client.finish();
        }
    }
}

#[test]
fn a_streaming_message_is_completed_with_what_was_shown() {
    let model = MockModel::start(|n, _| {
        if n == 0 {
            let mut steps = model::message_steps("msg_1", &["shown ", "text"], Duration::ZERO);
            steps.insert(3, Step::Gate("never before the end"));
            model::unframed(steps)
        } else {
            model::message("m", "next")
        }
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let turn = client.start_turn(&thread, "go");
    client.until("item/agentMessage/delta", |p| p["delta"] == "text");
    client.request("turn/interrupt", json!({"threadId": thread, "turnId": turn}));
    let run = client.finish_turn(&turn);
    assert_eq!((run.status(), run.answer()), ("interrupted", "shown text"));
    assert!(run.turn["error"].is_null());
    client.run_turn(&thread, "next");
    assert!(
        String::from_utf8_lossy(&model.requests()[1].body).contains("shown text"),
        "the model knows what the user saw"
    );
    model.assert_prefix();
    model.open("never before the end");
    client.finish();
}

#[test]
fn an_open_approval_is_withdrawn() {
    let model = MockModel::replies(vec![
        model::call(
            "c1",
            "exec_command",
            json!({"cmd": "touch f", "sandbox_permissions": "require_escalated"}),
        ),
        model::message("m", "next"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let turn = client.start_turn(&thread, "go");
    let request = client
        .until("item/commandExecution/requestApproval", |_| true)
        .pop()
        .unwrap();
    client.request("turn/interrupt", json!({"threadId": thread, "turnId": turn}));
    let run = client.finish_turn(&turn);
    assert_eq!(run.of("serverRequest/resolved")[0]["requestId"], request["id"]);
    client.answer(&request, json!({"decision": "accept"}));
    assert_eq!(client.run_turn(&thread, "next").answer(), "next");
    assert!(!home.workspace().join("f").exists(), "a late answer runs nothing");
    client.finish();
}

#[test]
fn an_interrupt_right_after_the_start_is_not_lost() {
    for _ in 0..10 {
        let model = MockModel::start(|_, _| model::unframed(vec![Step::Sleep(Duration::from_secs(1)), Step::Cut]));
        let home = Home::new(&model);
        let mut client = home.session();
        let thread = client.start_thread(json!({}));
        let turn = client.start_turn(&thread, "go");
        client.request("turn/interrupt", json!({"threadId": thread, "turnId": turn}));
        assert_eq!(client.finish_turn(&turn).status(), "interrupted");
        client.finish();
    }
}

#[test]
fn wrong_states_have_the_words_that_clients_match() {
    let model = MockModel::start(|_, _| model::stream(vec![Step::Gate("go")]));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let error = client.refused("turn/interrupt", json!({"threadId": thread, "turnId": "nope"}));
    assert_eq!(
        (error["code"].as_i64(), error["message"].as_str()),
        (Some(-32600), Some("no active turn to interrupt"))
    );
    let turn = client.start_turn(&thread, "go");
    let error = client.refused("turn/interrupt", json!({"threadId": thread, "turnId": "nope"}));
    assert_eq!(
        error["message"],
        format!("expected active turn id nope but found {turn}")
    );
    client.request("turn/interrupt", json!({"threadId": thread, "turnId": turn}));
    client.finish_turn(&turn);
    model.open("go");
    client.finish();
}

#[test]
fn parallel_commands_all_end_and_all_get_outputs() {
    let mut steps = model::call_steps("quick", "exec_command", &json!({"cmd": "echo quick"}));
    for n in 0..4 {
        steps.extend(model::call_steps(
            &format!("slow{n}"),
            "exec_command",
            &json!({"cmd": format!("echo $$ > pid{n}; sleep 120")}),
        ));
    }
    let model = MockModel::replies(vec![model::stream(steps), model::message("m", "next")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    let turn = client.start_turn(&thread, "go");
    let pids: Vec<u32> = (0..4)
        .flat_map(|n| pids(&read_when_there(&home.workspace().join(format!("pid{n}")))))
        .collect();
    client.until("item/completed", |p| p["item"]["id"] == "quick");
    client.request("turn/interrupt", json!({"threadId": thread, "turnId": turn}));
    client.finish_turn(&turn);
    eventually("all are gone", Duration::from_millis(100), || {
        pids.iter().all(|p| !is_alive(*p))
    });
    assert_eq!(
        client.run_turn(&thread, "next").answer(),
        "next",
        "the strict server found every call paired"
    );
    let quick = model.requests()[1]
        .input()
        .into_iter()
        .find(|i| i["type"] == "function_call_output" && i["call_id"] == "quick")
        .unwrap();
    assert!(
        quick["output"].as_str().unwrap().contains("quick\n"),
        "a result that was there is kept: {quick}"
    );
    client.finish();
}
