//! Scripts of notifications and the thread they lead to. Notifications are written as on the wire.

use serde_json::{Value, json};

use super::*;

fn thread() -> Thread {
    serde_json::from_value(json!({
        "id": "t", "environments": [{ "environmentId": "local", "cwd": "/w", "runtimeWorkspaceRoots": ["/w"] }],
        "sessionId": "t", "preview": "", "ephemeral": false, "historyMode": "paginated", "modelProvider": "p",
        "model": "m", "createdAt": 1, "updatedAt": 1, "recencyAt": 1, "status": { "type": "idle" }, "cwd": "/w",
        "cliVersion": "0", "originator": "o", "source": "vscode", "canAcceptDirectInput": true, "turns": [],
    }))
    .unwrap()
}

fn turn(id: &str, status: &str, items: Value) -> Value {
    json!({
        "id": id, "rootTurnId": id, "items": items, "itemsView": "summary", "status": status, "error": null,
        "startedAt": if status == "inProgress" { Value::Null } else { json!(5) },
        "completedAt": if status == "inProgress" { Value::Null } else { json!(6) },
        "durationMs": if status == "inProgress" { Value::Null } else { json!(900) },
    })
}

fn user(text: &str) -> Value {
    json!({ "type": "userMessage", "id": "user", "clientId": "c", "content": [{ "type": "text", "text": text, "text_elements": [] }],
            "startedAtMs": 1, "completedAtMs": 1 })
}

fn message(text: &str, completed: Option<i64>) -> Value {
    json!({ "type": "agentMessage", "id": "msg", "text": text, "startedAtMs": 2, "completedAtMs": completed })
}

fn reasoning() -> Value {
    json!({ "type": "reasoning", "id": "rs", "summary": [], "content": [], "startedAtMs": 2, "completedAtMs": null })
}

fn command(output: Option<&str>, completed: Option<i64>) -> Value {
    json!({ "type": "commandExecution", "id": "call", "command": "ls", "cwd": "/w", "source": "agent",
            "status": if completed.is_some() { "completed" } else { "inProgress" }, "commandActions": [],
            "aggregatedOutput": output, "exitCode": completed.map(|_| 0), "startedAtMs": 2, "completedAtMs": completed })
}

/// Adds `threadId` and `turnId` where the script leaves them out, then applies.
fn apply(view: &mut ThreadView, method: &str, mut params: Value) -> bool {
    for (name, value) in [("threadId", "t"), ("turnId", "u"), ("itemId", "msg")] {
        if params.get(name).is_none() {
            params[name] = json!(value);
        }
    }
    for name in ["startedAtMs", "completedAtMs"] {
        if params.get(name).is_none() {
            params[name] = json!(3);
        }
    }
    let notification: ServerNotification =
        serde_json::from_value(json!({ "method": method, "params": params })).expect(method);
    assert_eq!(notification.method(), method);
    view.apply(&notification)
}

fn run(script: &[(&str, Value)]) -> ThreadView {
    let mut view = ThreadView::from_thread(thread());
    for (method, params) in script {
        assert!(apply(&mut view, method, params.clone()), "{method}");
    }
    view
}

fn items(view: &ThreadView) -> Vec<Value> {
    let turn = view.turn("u").expect("turn u");
    turn.items
        .iter()
        .map(|item| serde_json::to_value(item).unwrap())
        .collect()
}

fn whole_turn() -> Vec<(&'static str, Value)> {
    vec![
        (
            "thread/status/changed",
            json!({ "status": { "type": "active", "activeFlags": [] } }),
        ),
        ("turn/started", json!({ "turn": turn("u", "inProgress", json!([])) })),
        ("item/started", json!({ "item": user("hello") })),
        ("item/completed", json!({ "item": user("hello") })),
        ("item/started", json!({ "item": message("", None) })),
        ("item/agentMessage/delta", json!({ "delta": "wor" })),
        ("item/agentMessage/delta", json!({ "delta": "ld" })),
        ("item/completed", json!({ "item": message("world", Some(4)) })),
        ("thread/status/changed", json!({ "status": { "type": "idle" } })),
        (
            "turn/completed",
            json!({ "turn": turn("u", "completed", json!([message("world", Some(4))])) }),
        ),
    ]
}

#[test]
fn a_turn_is_rebuilt_with_all_its_items() {
    let view = run(&whole_turn());
    let turn = view.turn("u").unwrap();
    assert_eq!((turn.status, turn.items_view), (TurnStatus::Completed, ItemsView::Full));
    assert_eq!(
        (turn.started_at, turn.completed_at, turn.duration_ms),
        (Some(5), Some(6), Some(900))
    );
    assert_eq!(turn.items.len(), 2);
    assert_eq!(view.thread().preview, "hello");
    assert_eq!(view.thread().status, crate::thread::ThreadStatus::Idle);
    assert!(view.active_turn().is_none());
}

#[test]
fn open_items_show_what_has_come_so_far() {
    let script = whole_turn();
    for (told, text) in [(5, ""), (6, "wor"), (7, "world")] {
        let view = run(&script[..told]);
        assert_eq!(items(&view)[1]["text"], text);
        assert_eq!(view.active_turn().map(|turn| turn.id.as_str()), Some("u"));
    }
}

#[test]
fn everything_told_twice_changes_nothing() {
    let script = whole_turn();
    let once = run(&script);
    let twice: Vec<_> = script
        .iter()
        .filter(|(method, _)| !method.ends_with("delta"))
        .flat_map(|line| [line.clone(), line.clone()])
        .collect();
    assert_eq!(run(&twice), once);
    let mut replayed = once.clone();
    for (method, params) in script {
        apply(&mut replayed, method, params);
    }
    assert_eq!(replayed, once);
}

#[test]
fn reasoning_and_command_output_grow() {
    let view = run(&[
        ("item/started", json!({ "item": reasoning() })),
        (
            "item/reasoning/summaryPartAdded",
            json!({ "itemId": "rs", "summaryIndex": 0 }),
        ),
        (
            "item/reasoning/summaryTextDelta",
            json!({ "itemId": "rs", "summaryIndex": 0, "delta": "a" }),
        ),
        (
            "item/reasoning/summaryTextDelta",
            json!({ "itemId": "rs", "summaryIndex": 1, "delta": "b" }),
        ),
        (
            "item/reasoning/summaryTextDelta",
            json!({ "itemId": "rs", "summaryIndex": 1, "delta": "c" }),
        ),
        (
            "item/reasoning/textDelta",
            json!({ "itemId": "rs", "contentIndex": 0, "delta": "raw" }),
        ),
        (
            "item/reasoning/textDelta",
            json!({ "itemId": "rs", "contentIndex": u32::MAX, "delta": "far" }),
        ),
        ("item/started", json!({ "item": command(None, None) })),
        (
            "item/commandExecution/outputDelta",
            json!({ "itemId": "call", "delta": "x\n" }),
        ),
        (
            "item/commandExecution/outputDelta",
            json!({ "itemId": "call", "delta": "y\n" }),
        ),
    ]);
    let items = items(&view);
    assert_eq!(items[0]["summary"], json!(["a", "bc"]));
    assert_eq!(items[0]["content"], json!(["raw"]));
    assert_eq!(items[1]["aggregatedOutput"], "x\ny\n");
}

#[test]
fn output_of_a_running_command_is_limited_and_replaced_at_its_end() {
    let mut view = run(&[("item/started", json!({ "item": command(None, None) }))]);
    let chunk = "x".repeat(8_192);
    for _ in 0..200 {
        apply(
            &mut view,
            "item/commandExecution/outputDelta",
            json!({ "itemId": "call", "delta": chunk }),
        );
    }
    assert_eq!(
        items(&view)[0]["aggregatedOutput"].as_str().map(str::len),
        Some(1024 * 1024)
    );
    apply(
        &mut view,
        "item/completed",
        json!({ "item": command(Some("all"), Some(9)) }),
    );
    assert_eq!(items(&view)[0]["aggregatedOutput"], "all");
}

#[test]
fn what_does_not_fit_is_ignored() {
    let mut view = run(&whole_turn());
    let before = view.clone();
    for (method, params) in [
        ("item/agentMessage/delta", json!({ "delta": "late" })),
        ("item/agentMessage/delta", json!({ "itemId": "nobody", "delta": "x" })),
        ("item/agentMessage/delta", json!({ "turnId": "nowhere", "delta": "x" })),
        (
            "item/commandExecution/outputDelta",
            json!({ "itemId": "user", "delta": "x" }),
        ),
        ("serverRequest/resolved", json!({ "requestId": 0 })),
        ("warning", json!({ "message": "m" })),
    ] {
        assert!(apply(&mut view, method, params), "{method}");
        assert_eq!(view, before, "{method}");
    }
    assert!(!apply(
        &mut view,
        "thread/status/changed",
        json!({ "threadId": "other", "status": { "type": "notLoaded" } })
    ));
    assert!(!apply(
        &mut view,
        "configWarning",
        json!({ "summary": "s", "details": null })
    ));
    assert_eq!(view, before);
}

#[test]
fn items_and_ends_of_unknown_turns_are_kept() {
    let view = run(&[("item/completed", json!({ "item": message("late", Some(4)) }))]);
    assert_eq!(view.active_turn().map(|turn| turn.items.len()), Some(1));
    let view = run(&[(
        "turn/completed",
        json!({ "turn": turn("u", "failed", json!([message("last", Some(4))])) }),
    )]);
    let known = view.turn("u").unwrap();
    assert_eq!(
        (known.status, known.items_view, known.items.len()),
        (TurnStatus::Failed, ItemsView::Summary, 1)
    );
}

#[test]
fn a_call_id_that_is_used_again_shows_the_newer_run() {
    let mut again = command(None, None);
    again["startedAtMs"] = json!(50);
    let view = run(&[
        ("item/started", json!({ "item": command(None, None) })),
        ("item/completed", json!({ "item": command(Some("1"), Some(9)) })),
        ("item/started", json!({ "item": again })),
        (
            "item/commandExecution/outputDelta",
            json!({ "itemId": "call", "delta": "2" }),
        ),
    ]);
    assert_eq!(items(&view).len(), 1);
    assert_eq!(items(&view)[0]["aggregatedOutput"], "2");
}

#[test]
fn settings_usage_plan_and_diff_are_the_newest() {
    let tokens = json!({ "totalTokens": 3, "inputTokens": 2, "cachedInputTokens": 0, "cacheWriteInputTokens": 0,
                         "outputTokens": 1, "reasoningOutputTokens": 0 });
    let view = run(&[
        (
            "thread/settings/updated",
            json!({ "threadSettings": {
                "cwd": "/b", "approvalPolicy": "never", "approvalsReviewer": "user",
                "sandboxPolicy": { "type": "dangerFullAccess" }, "model": "n", "modelProvider": "q", "effort": "high" } }),
        ),
        (
            "thread/tokenUsage/updated",
            json!({ "tokenUsage": { "total": tokens, "last": tokens, "modelContextWindow": 9 } }),
        ),
        (
            "turn/plan/updated",
            json!({ "explanation": null, "plan": [{ "step": "s", "status": "pending" }] }),
        ),
        ("turn/diff/updated", json!({ "diff": "d1" })),
        ("turn/diff/updated", json!({ "diff": "d2" })),
    ]);
    let thread = view.thread();
    assert_eq!(
        (
            thread.cwd.as_str(),
            thread.model.as_str(),
            thread.model_provider.as_str()
        ),
        ("/b", "n", "q")
    );
    assert_eq!(thread.reasoning_effort.as_deref(), Some("high"));
    let environment = &thread.environments.as_ref().unwrap()[0];
    assert_eq!(
        (environment.cwd.as_str(), environment.runtime_workspace_roots.as_slice()),
        ("/b", &["/b".to_owned()][..])
    );
    assert_eq!(view.settings().map(|settings| settings.cwd.as_str()), Some("/b"));
    assert_eq!(view.usage().and_then(|usage| usage.model_context_window), Some(9));
    assert_eq!(view.plan().map(|plan| plan.steps.len()), Some(1));
    assert_eq!(view.diff().map(|diff| diff.diff.as_str()), Some("d2"));
}

#[test]
fn a_second_thread_started_keeps_the_turns() {
    let mut view = run(&whole_turn());
    let mut renamed = thread();
    renamed.name = Some("new".into());
    view.apply(&ServerNotification::ThreadStarted { thread: renamed });
    assert_eq!(
        (view.thread().name.as_deref(), view.thread().turns.len()),
        (Some("new"), 1)
    );
}
