//! `turn/start`: order and shape of a turn with text, reasoning and a plan; the request that the model gets.

use std::time::Duration;

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Step};
use serde_json::{Value, json};

#[test]
fn a_text_turn_has_the_order_of_the_protocol() {
    let model = MockModel::replies(vec![model::stream(model::message_steps(
        "msg_1",
        &["Hello ", "there."],
        Duration::ZERO,
    ))]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let run = client.run_turn(&thread, "hello");
    assert_eq!(
        run.methods(),
        [
            "thread/status/changed",
            "turn/started",
            "item/started",
            "item/completed",
            "item/started",
            "item/agentMessage/delta",
            "item/completed",
            "thread/tokenUsage/updated",
            "account/rateLimits/updated",
            "thread/status/changed",
            "turn/completed",
        ]
    );
    assert_eq!(run.status(), "completed");
    assert_eq!(run.answer(), "Hello there.");
    assert_eq!(
        run.of("item/agentMessage/delta").len(),
        2,
        "one delta, one notification"
    );
    let statuses = run.of("thread/status/changed");
    assert_eq!(statuses[0]["status"], json!({"type": "active", "activeFlags": []}));
    assert_eq!(statuses[1]["status"], json!({"type": "idle"}));
    let usage = &run.of("thread/tokenUsage/updated")[0]["tokenUsage"];
    assert_eq!(usage["last"]["totalTokens"], 107);
    assert_eq!(usage["last"]["cachedInputTokens"], 40);
    assert_eq!(
        run.turn["items"].as_array().unwrap().len(),
        1,
        "the summary is the last agent message"
    );
    assert_eq!(run.turn["itemsView"], "summary");
    client.finish();
}

#[test]
fn the_request_has_the_fields_of_the_responses_api() {
    let model = MockModel::replies(vec![model::message("msg_1", "ok"), model::message("msg_2", "again")]);
    let home = Home::with_config(&model, "developer_instructions = \"DEV TEXT\"\n");
    std::fs::write(home.workspace().join("AGENTS.md"), "AGENTS TEXT").unwrap();
    let mut client = home.session();
    let thread = client.start_thread(json!({"baseInstructions": "BASE TEXT"}));
    client.run_turn(&thread, "hello");
    client.run_turn(&thread, "second");
    let requests = model.requests();
    let body = requests[0].json();
    assert_eq!(requests[0].path, "/v1/responses");
    assert_eq!(body["instructions"], "BASE TEXT");
    for (key, value) in [
        ("stream", json!(true)),
        ("store", json!(false)),
        ("tool_choice", json!("auto")),
        ("parallel_tool_calls", json!(true)),
        ("include", json!(["reasoning.encrypted_content"])),
        ("prompt_cache_key", json!(thread)),
    ] {
        assert_eq!(body[key], value, "{key}");
    }
    assert!(body.get("previous_response_id").is_none());
    let names: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["apply_patch", "exec_command", "update_plan"]);
    assert!(
        body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .all(|t| t["type"] == "function" && t["strict"] == false)
    );
    let input = requests[0].input();
    let roles: Vec<&str> = input.iter().map(|i| i["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["developer", "user", "user"]);
    let part = |item: &Value, n: usize| item["content"][n]["text"].as_str().unwrap().to_owned();
    assert!(part(&input[0], 0).starts_with("<permissions instructions>"));
    assert_eq!(part(&input[0], 1), "DEV TEXT");
    assert!(part(&input[1], 0).starts_with("<user_instructions>") && part(&input[1], 0).contains("AGENTS TEXT"));
    assert!(part(&input[1], 1).starts_with("<environment_context>"));
    assert_eq!(part(&input[2], 0), "hello");
    assert_eq!(
        requests[1].input().len(),
        input.len() + 2,
        "an unchanged second turn adds the answer and the new message only"
    );
    model.assert_prefix();
    client.finish();
}

#[test]
fn reasoning_is_shown_and_sent_back_byte_for_byte() {
    let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Think** first"}],"encrypted_content":"gAAA\u003d==","odd_member": 1.0}"#;
    let mut steps = vec![
        Step::Event(
            json!({"type": "response.output_item.added", "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
        ),
        Step::Event(json!({"type": "response.reasoning_summary_part.added", "item_id": "rs_1", "summary_index": 0})),
        Step::Event(
            json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "summary_index": 0, "delta": "**Think**"}),
        ),
        Step::Event(
            json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "summary_index": 0, "delta": " first"}),
        ),
        Step::Raw(format!("data: {{\"type\":\"response.output_item.done\",\"item\":{reasoning}}}\n\n").into_bytes()),
    ];
    steps.extend(model::message_steps("msg_1", &["Done."], Duration::ZERO));
    let model = MockModel::replies(vec![model::stream(steps), model::message("msg_2", "ok")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let run = client.run_turn(&thread, "think");
    let item = run.completed("reasoning")[0];
    assert_eq!(item["summary"], json!(["**Think** first"]));
    assert_eq!(run.of("item/reasoning/summaryPartAdded").len(), 1);
    assert_eq!(run.of("item/reasoning/summaryTextDelta").len(), 2);
    client.run_turn(&thread, "next");
    let body = String::from_utf8(model.requests()[1].body.clone()).unwrap();
    assert!(body.contains(reasoning), "not byte for byte: {body}");
    client.finish();
}

#[test]
fn a_plan_becomes_a_notification() {
    let plan = json!({"explanation": "why", "plan": [{"step": "look", "status": "completed"}, {"step": "do", "status": "in_progress"}, {"step": "tell", "status": "pending"}]});
    let model = MockModel::replies(vec![
        model::call("c1", "update_plan", plan),
        model::message("msg_1", "ok"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let run = client.run_turn(&thread, "plan");
    let plan = run.of("turn/plan/updated")[0];
    assert_eq!(plan["explanation"], "why");
    let statuses: Vec<&Value> = plan["plan"].as_array().unwrap().iter().map(|s| &s["status"]).collect();
    assert_eq!(statuses, ["completed", "inProgress", "pending"]);
    let output = model.requests()[1].input().pop().unwrap();
    assert_eq!(
        (output["type"].as_str(), output["call_id"].as_str()),
        (Some("function_call_output"), Some("c1"))
    );
    client.finish();
}

#[test]
fn settings_are_sticky_and_only_differences_are_appended() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "ok"));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "read-only"}));
    client.run_turn(&thread, "one");
    let other = home.workspace().join("sub");
    std::fs::create_dir(&other).unwrap();
    let params = json!({"threadId": thread, "input": [{"type": "text", "text": "two"}], "cwd": other, "approvalPolicy": "never"});
    let turn = client.request("turn/start", params)["turn"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let run = client.finish_turn(&turn);
    assert_eq!(
        run.of("thread/settings/updated")[0]["threadSettings"]["approvalPolicy"],
        "never"
    );
    client.run_turn(&thread, "three");
    model.assert_prefix();
    let requests = model.requests();
    let second: Vec<Value> = requests[1].input().split_off(requests[0].input().len() + 1);
    let roles: Vec<&str> = second.iter().map(|i| i["role"].as_str().unwrap()).collect();
    assert_eq!(
        roles,
        ["developer", "user", "user"],
        "changed permissions, changed environment, the message"
    );
    assert_eq!(
        requests[2].input().len(),
        requests[1].input().len() + 2,
        "nothing is said twice"
    );
    client.finish();
}

#[test]
fn input_during_a_turn_joins_it() {
    let model = MockModel::start(|n, _| match n {
        0 => {
            let mut steps = vec![Step::Gate("go")];
            steps.extend(model::message_steps("msg_1", &["first"], Duration::ZERO));
            model::stream(steps)
        }
        _ => model::message("msg_2", "second"),
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let turn = client.start_turn(&thread, "one");
    client.until("item/completed", |p| p["item"]["type"] == "userMessage");
    assert_eq!(client.start_turn(&thread, "two"), turn, "the same turn");
    model.open("go");
    let run = client.finish_turn(&turn);
    assert_eq!(run.answer(), "second");
    assert_eq!(model.requests()[1].input().last().unwrap()["content"][0]["text"], "two");
    model.assert_prefix();
    client.finish();
}

#[test]
fn bad_params_are_named() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let error = client.refused("turn/start", json!({"threadId": "x"}));
    assert_eq!(
        (error["code"].as_i64(), error["data"]["kind"].as_str()),
        (Some(-32602), Some("invalidParams"))
    );
    assert!(
        error["message"].as_str().unwrap().contains("missing field `input`"),
        "{error}"
    );
    let error = client.refused("turn/start", json!({"threadId": "nope", "input": []}));
    assert!(
        error["message"].as_str().unwrap().starts_with("invalid thread id"),
        "{error}"
    );
    let unknown = "01a22e9c-f374-7e53-8ff8-cbb4817c3c18";
    let error = client.refused("turn/start", json!({"threadId": unknown, "input": []}));
    assert_eq!(error["message"], format!("thread not found: {unknown}"));
    let error = client.refused("no/such", json!({}));
    assert_eq!(
        (error["code"].as_i64(), error["data"]["kind"].as_str()),
        (Some(-32601), Some("methodNotFound"))
    );
    client.finish();
}

#[test]
fn an_output_schema_is_asked_for_in_its_turn_only() {
    let model = MockModel::start(|n, _| model::message(&format!("msg_{n}"), "{}"));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let params =
        json!({"threadId": thread, "input": [{"type": "text", "text": "x"}], "outputSchema": {"type": "object"}});
    let turn = client.request("turn/start", params)["turn"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    client.finish_turn(&turn);
    client.run_turn(&thread, "y");
    let requests = model.requests();
    assert_eq!(
        requests[0].json()["text"]["format"]["schema"],
        json!({"type": "object"})
    );
    assert!(requests[1].json().pointer("/text/format").is_none());
    client.finish();
}

#[test]
fn an_input_that_is_too_large_is_refused_and_nothing_is_started() {
    let model = MockModel::replies(vec![model::message("m", "ok")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let text = "x".repeat((8 << 20) + 1);
    let error = client.refused(
        "turn/start",
        json!({"threadId": thread, "input": [{"type": "text", "text": text}]}),
    );
    assert_eq!(error["data"]["kind"], "invalidParams");
    assert!(
        error["message"].as_str().unwrap().contains("the limit is 8388608"),
        "{error}"
    );
    let run = client.run_turn(&thread, &"y".repeat(8 << 20));
    assert_eq!(run.answer(), "ok", "the largest allowed one goes through, echo and all");
    client.finish();
}
