//! Whole turns as scripts: inputs, and the effects they must lead to, in order.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

use agentd_engine::input::{ExecExit, Input, ModelEvent, RetryAdvice, ToolEvent};
use agentd_protocol::thread::ThreadStatus;
use common::Carrier;
use serde_json::json;

fn delta(text: &str) -> ModelEvent {
    ModelEvent::TextDelta {
        item_id: Some("m1".into()),
        delta: text.into(),
    }
}

fn added(kind: &str, id: &str) -> ModelEvent {
    ModelEvent::ItemAdded {
        item: common::raw(&json!({"type": kind, "id": id, "role": "assistant", "content": []})),
    }
}

#[test]
fn a_text_turn() {
    let mut c = Carrier::new();
    c.start("hello");
    c.expect(
        r#"append turn_started response_item response_item context response_item item_completed
        reply turn id1
        status {"active","activeFlags":[]}
        turn started id1
        started userMessage id2
        completed userMessage id2
        call model #1 attempt 0 delay 0"#,
    );
    assert_eq!(c.engine.preview(), "hello");
    c.model(added("message", "m1"));
    c.model(delta("Hel"));
    c.model(delta("lo"));
    c.message("m1", "Hello.");
    c.completed();
    c.expect(
        r#"started agentMessage m1 ""
        timer
        delta m1 "Hel"
        delta m1 "lo"
        append response_item item_completed
        completed agentMessage m1 "Hello."
        append usage
        usage 10
        account/rateLimits/updated
        append turn_completed
        status {"idle"}
        turn Completed 1 items Summary"#,
    );
    assert_eq!(c.engine.status(), ThreadStatus::Idle);
    c.start("again");
    let input = c.input();
    let kinds: Vec<&str> = input.iter().map(|item| item["role"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["developer", "user", "user", "assistant", "user"]);
}

#[test]
fn a_turn_without_input_has_no_user_message() {
    let mut c = Carrier::new();
    c.start("");
    assert!(!c.take().contains("userMessage"));
    c.completed();
    assert!(c.take().ends_with("turn Completed 0 items NotLoaded\n"));
}

#[test]
fn an_item_done_without_added_starts_with_its_text() {
    let mut c = Carrier::new();
    c.start("x");
    c.take();
    c.message("", "all");
    c.message("m", "one");
    c.message("m", "two");
    c.expect(
        r#"append response_item item_completed
        started agentMessage id3 "all"
        completed agentMessage id3 "all"
        append response_item item_completed
        started agentMessage m "one"
        completed agentMessage m "one"
        append response_item item_completed
        started agentMessage m-2 "two"
        completed agentMessage m-2 "two""#,
    );
}

#[test]
fn reasoning_is_streamed_and_resent_as_received() {
    let mut c = Carrier::new();
    c.start("think");
    c.take();
    c.model(added("reasoning", "r1"));
    let item_id = || Some("r1".to_owned());
    c.model(ModelEvent::ReasoningSummaryPartAdded {
        item_id: item_id(),
        summary_index: 0,
    });
    c.model(ModelEvent::ReasoningSummaryDelta {
        item_id: item_id(),
        summary_index: 0,
        delta: "Hm".into(),
    });
    let text = r#"{"type":"reasoning", "id":"r1","summary":[{"type":"summary_text","text":"Hmm"}],"content":[{"type":"reasoning_text","text":"raw"}],"encrypted_content":"\u0041=="}"#;
    c.model(ModelEvent::ItemDone {
        item: serde_json::value::RawValue::from_string(text.into()).unwrap(),
    });
    c.model(ModelEvent::Completed {
        usage: None,
        end_turn: Some(false),
    });
    c.expect(
        r#"started reasoning r1 [] []
        part r1 0
        timer
        summary r1 0 "Hm"
        append response_item item_completed
        completed reasoning r1 ["Hmm"] []
        usage 0
        account/rateLimits/updated
        call model #2 attempt 0 delay 0"#,
    );
    let body = String::from_utf8(c.calls.last().unwrap().body.concat()).unwrap();
    assert!(body.contains(text), "{body}");
}

#[test]
fn a_command_runs_as_soon_as_its_call_is_there() {
    let mut c = Carrier::new();
    c.start("run");
    c.take();
    c.call("A", "exec_command", &json!({"cmd": "echo hi", "workdir": "sub"}));
    c.tool(0, ToolEvent::ExecStarted { process_id: "7".into() });
    c.tool(0, ToolEvent::ExecOutput { text: "hi\n".into() });
    c.exec_ends(0, ExecExit::Code(0), "hi\n");
    c.completed();
    c.expect(
        r#"append response_item item_started
        started commandExecution A "/bin/bash -lc 'echo hi'" unifiedExecStartup InProgress None None
        run A ["/bin/bash", "-lc", "echo hi"] in /w/sub workspaceWrite
        timer
        output A "hi\n"
        append item_completed
        completed commandExecution A "/bin/bash -lc 'echo hi'" unifiedExecStartup Completed Some(0) Some("hi\n")
        append usage
        usage 10
        account/rateLimits/updated
        append response_item
        call model #2 attempt 0 delay 0"#,
    );
    assert_eq!(
        c.outputs(),
        ["A: Wall time: 1.4120 seconds\nProcess exited with code 0\nOutput:\nhi\n"]
    );
}

#[test]
fn outputs_go_back_in_call_order_whatever_ends_first() {
    let mut c = Carrier::new();
    c.start("run");
    for id in ["A", "B", "C"] {
        c.call(id, "exec_command", &json!({"cmd": id}));
    }
    c.completed();
    c.exec_ends(2, ExecExit::Code(0), "c");
    c.exec_ends(0, ExecExit::Code(1), "a");
    assert_eq!(c.calls.len(), 1);
    c.exec_ends(0, ExecExit::Signal(9), "b");
    let ids: Vec<String> = c.outputs().iter().map(|output| output[..1].to_owned()).collect();
    assert_eq!(ids, ["A", "B", "C"]);
    assert!(c.outputs()[1].contains("ended by signal 9"));
}

#[test]
fn calls_that_cannot_run_are_explained_to_the_model() {
    let mut c = Carrier::new();
    c.start("run");
    c.take();
    c.call("A", "exec_command", &json!({"command": "x"}));
    c.call("B", "no_such_tool", &json!({}));
    c.call("C", "update_plan", &json!({"plan": [{"step": "x", "status": "maybe"}]}));
    c.call("D", "shell", &json!({"command": []}));
    c.done(&json!({"type": "function_call", "call_id": "E", "name": "exec_command", "arguments": "{not json"}));
    c.done(&json!({"type": "custom_tool_call", "call_id": "F", "name": "other", "input": ""}));
    c.done(&json!({"type": "function_call", "name": "exec_command", "arguments": "{}"}));
    assert!(!c.take().contains("started"), "no shown item");
    c.completed();
    let outputs = c.outputs();
    let expected = [
        "A: failed to parse function arguments: missing field `cmd`",
        "B: unsupported call: no_such_tool; available tools: ",
        "C: failed to parse function arguments: unknown variant `maybe`",
        "D: failed to parse function arguments: command must not be an empty array",
        "E: failed to parse function arguments: key must be a string",
        "F: unsupported call: other",
    ];
    assert_eq!(
        outputs.len(),
        expected.len(),
        "a call without call_id is dropped: {outputs:#?}"
    );
    for (output, expected) in outputs.iter().zip(expected) {
        assert!(output.starts_with(expected), "{output}");
    }
}

#[test]
fn shells_that_models_know_by_heart_run_too() {
    let mut c = Carrier::new();
    c.start("run");
    c.take();
    c.call("A", "shell", &json!({"command": ["ls", "-l"], "workdir": "/x"}));
    c.call("B", "shell_command", &json!({"command": "ls"}));
    c.done(&json!({"type": "local_shell_call", "call_id": "C", "action": {"type": "exec", "command": ["pwd"]}}));
    let printed = c.take();
    for expected in [
        r#"run A ["ls", "-l"] in /x"#,
        r#"run B ["/bin/bash", "-lc", "ls"] in /w"#,
        r#"run C ["pwd"] in /w"#,
    ] {
        assert!(printed.contains(expected), "{printed}");
    }
}

#[test]
fn a_plan_is_shown() {
    let mut c = Carrier::new();
    c.start("plan");
    c.take();
    c.call(
        "A",
        "update_plan",
        &json!({"plan": [{"step": "x", "status": "in_progress"}]}),
    );
    c.expect("append response_item\nplan 1 steps");
    c.completed();
    assert_eq!(c.outputs(), ["A: Plan updated"]);
}

#[test]
fn a_cut_stream_is_asked_for_again_and_loses_nothing() {
    let mut c = Carrier::new();
    c.start("x");
    c.take();
    c.message("m1", "first");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.model(added("message", "m2"));
    c.model(delta("par"));
    c.take();
    c.failed(RetryAdvice::Backoff);
    c.expect(
        r#"append item_completed
        completed agentMessage m2 "par"
        error "Reconnecting... 1/2" retry true"#,
    );
    c.exec_ends(0, ExecExit::Code(0), "");
    assert!(
        c.take()
            .ends_with("append response_item\ncall model #2 attempt 1 delay 200\n")
    );
    let input = c.input();
    let tail: Vec<&str> = input[3..].iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(tail, ["message", "function_call", "function_call_output"]);
    c.failed(RetryAdvice::AfterMs(7));
    c.expect("error \"Reconnecting... 2/2\" retry true\ncall model #3 attempt 2 delay 7");
    c.failed(RetryAdvice::Backoff);
    c.expect(
        r#"append turn_completed
        status {"systemError"}
        error "broken" retry false
        turn Failed 1 items Summary"#,
    );
    assert_eq!(c.engine.status(), ThreadStatus::SystemError);
    c.start("on");
    c.message("m9", "ok");
    c.completed();
    assert_eq!(c.engine.status(), ThreadStatus::Idle);
}

#[test]
fn a_failure_for_good_stops_the_tools_first() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.take();
    c.failed(RetryAdvice::Never);
    c.expect("cancel tool 1");
    c.exec_ends(0, ExecExit::Cancelled, "so far");
    c.expect(
        r#"append item_completed
        completed commandExecution A "/bin/bash -lc a" unifiedExecStartup Failed None Some("so far")
        append response_item turn_completed
        status {"systemError"}
        error "broken" retry false
        turn Failed 0 items NotLoaded"#,
    );
    c.start("on");
    assert_eq!(c.outputs(), ["A: aborted"]);
}

#[test]
fn input_during_a_turn_goes_in_before_the_next_request() {
    let mut c = Carrier::new();
    c.start("x");
    c.call("A", "exec_command", &json!({"cmd": "a"}));
    c.completed();
    c.take();
    c.start("also this");
    c.expect("append input_queued\nreply turn id1");
    c.exec_ends(0, ExecExit::Code(0), "");
    assert!(c.take().ends_with(
        "append response_item response_item item_completed\nstarted userMessage id3\ncompleted userMessage id3\n\
         call model #2 attempt 0 delay 0\n"
    ));
    c.message("m1", "done");
    c.start("and that");
    assert_eq!(c.calls.len(), 3, "the model is asked anew at once");
    assert_eq!(c.input().last().unwrap()["content"][0]["text"], "and that");
}

#[test]
fn changed_settings_are_told_before_the_reply_and_to_the_model() {
    let mut c = Carrier::new();
    c.start("x");
    c.message("m", "y");
    c.completed();
    c.take();
    c.settings.approval_policy = agentd_protocol::settings::AskForApproval::Never;
    c.facts.environment.current_date = "2026-01-02".into();
    c.start("z");
    let printed = c.take();
    assert!(
        printed.starts_with(
            "append settings turn_started response_item response_item context response_item item_completed\n\
             thread/settings/updated\nreply turn "
        ),
        "{printed}"
    );
    let input = c.input();
    let added: Vec<&str> = input[4..].iter().map(|item| item["role"].as_str().unwrap()).collect();
    assert_eq!(added, ["developer", "user", "user"]);
    assert!(
        input[5]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("<current_date>2026-01-02</current_date>")
    );
    c.message("m", "y");
    c.completed();
    c.start("no change");
    assert_eq!(c.input().len(), input.len() + 2);
}

#[test]
fn the_body_has_the_members_in_order() {
    let mut c = Carrier::new();
    c.model.verbosity = Some("low".into());
    c.settings.service_tier = Some("flex".into());
    c.output_schema = Some(json!({"type": "object"}));
    c.start("x");
    let body = String::from_utf8(c.calls[0].body.concat()).unwrap();
    let members = [
        r#"{"model":"m","stream":true,"store":false,"instructions":"Be good.","tools":[{"type":"function","name":"apply_patch""#,
        r#","tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium"},"include":["reasoning.encrypted_content"],"prompt_cache_key":"thread","text":{"verbosity":"low","format":{"type":"json_schema","name":"agentd_output_schema","strict":true,"schema":{"type":"object"}}},"service_tier":"flex","input":["#,
    ];
    let at: Vec<_> = members
        .iter()
        .map(|member| body.find(member).unwrap_or_else(|| panic!("{member}\n{body}")))
        .collect();
    assert!(at[0] == 0 && at[1] > 0);
    assert!(!body.contains("previous_response_id"));
    c.message("m", "y");
    c.completed();
    c.output_schema = None;
    c.prefix_breaks = true;
    c.start("the schema holds for one turn");
    assert!(
        !String::from_utf8(c.calls[1].body.concat())
            .unwrap()
            .contains("output_schema")
    );
}

#[test]
fn unsaved_text_is_checkpointed_by_size_and_by_time() {
    let mut c = Carrier::new();
    c.start("x");
    c.model(added("message", "m1"));
    c.take();
    c.model(delta("a"));
    c.step(Input::CheckpointDue);
    c.step(Input::CheckpointDue);
    c.expect("timer\ndelta m1 \"a\"\ncheckpoint item_started item_text");
    let big = "b".repeat(2 * 1024);
    c.model(delta(&big));
    assert!(c.take().starts_with("checkpoint item_text\n"));
    c.model(delta("c"));
    c.message("m1", "final");
    c.take();
    c.step(Input::CheckpointDue);
    c.expect("");
}

#[test]
fn events_of_another_request_are_ignored() {
    let mut c = Carrier::new();
    c.start("x");
    c.message("m", "y");
    c.take();
    c.step(Input::Model {
        request: 99,
        event: delta("late"),
    });
    c.completed();
    c.take();
    c.model(delta("after the turn"));
    c.step(Input::Tool {
        tool: 1,
        event: ToolEvent::ExecOutput { text: "x".into() },
    });
    c.expect("");
}

/// A call that cannot be answered, and an output that the model made up, would make every later request invalid.
#[test]
fn items_that_would_break_the_pairing_are_kept_out() {
    let unwanted = [
        json!({"type": "computer_call", "id": "x1", "call_id": "k1"}),
        json!({"type": "tool_search_call", "id": "x2", "call_id": "k2"}),
        json!({"type": "function_call_output", "call_id": "nobody", "output": "made up"}),
        json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "made up"}),
    ];
    for item in unwanted {
        let mut c = Carrier::new();
        c.start("go");
        c.call("c1", "exec_command", &json!({"cmd": "ls"}));
        c.take();
        c.done(&item);
        assert!(c.take().contains("warning"), "{item}");
        c.completed();
        c.exec_ends(0, ExecExit::Code(0), "out");
        let live = c.input();
        assert!(
            !live
                .iter()
                .any(|sent| sent["type"] == item["type"] && item["type"] != "function_call_output"),
            "{item}"
        );
        assert_eq!(c.outputs().len(), 1, "{item}");
        let (mut restarted, _) = c.restart();
        restarted.start("next");
        assert_eq!(
            restarted.input()[..live.len() - 1],
            live[..live.len() - 1],
            "live and replay differ for {item}"
        );
    }
}

#[test]
fn a_hosted_call_without_call_id_is_kept() {
    let mut c = Carrier::new();
    c.start("go");
    c.done(&json!({"type": "web_search_call", "id": "ws_1", "status": "completed"}));
    c.message("m1", "found");
    c.completed();
    c.start("next");
    assert!(c.input().iter().any(|item| item["type"] == "web_search_call"));
}

#[test]
fn an_item_with_half_a_surrogate_pair_is_read() {
    let text = r#"{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"a\ud83d \ud83d\ude00 \n"}]}"#;
    let mut c = Carrier::new();
    c.start("go");
    c.take();
    c.model(ModelEvent::ItemDone {
        item: serde_json::value::RawValue::from_string(text.to_owned()).unwrap(),
    });
    assert!(
        c.take()
            .contains("completed agentMessage m1 \"a\u{fffd} \u{1f600} \\n\"")
    );
}

#[test]
fn an_item_that_cannot_be_read_is_asked_for_again() {
    let deep = format!(
        "{{\"type\":\"function_call\",\"call_id\":\"c1\",\"x\":{}{}}}",
        "[".repeat(200),
        "]".repeat(200)
    );
    for text in [deep, r#"{"type":"function_call","call_id":"c1","x":1e999}"#.to_owned()] {
        let mut c = Carrier::new();
        c.start("go");
        c.take();
        c.model(ModelEvent::ItemDone {
            item: serde_json::value::RawValue::from_string(text.clone()).unwrap(),
        });
        let effects = c.take();
        assert!(
            effects.contains("cancel model #1") && effects.contains("call model #2 attempt 1"),
            "{text}: {effects}"
        );
    }
}

#[test]
fn a_crowd_of_commands_runs_sixteen_at_a_time() {
    let mut c = Carrier::new();
    c.start("go");
    for n in 0..40 {
        c.call(&format!("c{n}"), "exec_command", &json!({"cmd": format!("echo {n}")}));
    }
    c.completed();
    assert_eq!(c.tools.len(), 16);
    c.exec_ends(3, ExecExit::Code(0), "three");
    assert_eq!(c.tools.len(), 16, "one ended, the next began");
    c.interrupt();
    while !c.tools.is_empty() {
        c.exec_ends(0, ExecExit::Cancelled, "");
    }
    c.start("next");
    let outputs = c.outputs();
    assert_eq!(outputs.len(), 40, "those that never began are answered too");
}
