//! `turn/start` when the model service misbehaves: what is retried, how a turn fails, that the thread goes on.

use std::time::Duration;

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Reply, Step};
use serde_json::{Value, json};

fn failed(code: &str, message: &str) -> Reply {
    model::unframed(vec![Step::Event(
        json!({"type": "response.failed", "response": {"id": "r", "error": {"code": code, "message": message}}}),
    )])
}

#[test]
fn a_failure_is_typed_and_the_next_turn_works() {
    let error = |code: &str, text: &str| json!({"error": {"code": code, "message": text, "type": "x", "param": null}});
    let cases: Vec<(&str, Reply, Value, usize)> = vec![
        (
            "400",
            model::status(400, error("invalid", "bad thing")),
            json!("other"),
            1,
        ),
        (
            "401",
            model::status(401, error("invalid_api_key", "no")),
            json!({"httpConnectionFailed": {"httpStatusCode": 401}}),
            1,
        ),
        (
            "404 model",
            model::status(404, error("model_not_found", "no such model")),
            json!("modelNotFound"),
            1,
        ),
        (
            "429 quota",
            model::status(429, error("insufficient_quota", "pay")),
            json!("usageLimitExceeded"),
            1,
        ),
        (
            "context by number",
            model::status(
                400,
                json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "too long"}}),
            ),
            json!("contextWindowExceeded"),
            1,
        ),
        (
            "context by event",
            failed("context_length_exceeded", "too long"),
            json!("contextWindowExceeded"),
            1,
        ),
        ("invalid prompt", failed("invalid_prompt", "no"), json!("other"), 1),
        (
            "incomplete",
            model::unframed(vec![Step::Event(
                json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}),
            )]),
            json!("other"),
            1,
        ),
    ];
    for (name, reply, info, requests) in cases {
        let model = MockModel::start(move |n, _| {
            if n == 0 {
                reply.clone()
            } else {
                model::message("m", "fine again")
            }
        });
        let home = Home::new(&model);
        let mut client = home.session();
        let thread = client.start_thread(json!({}));
        let run = client.run_turn(&thread, "go");
        assert_eq!(run.status(), "failed", "{name}");
        assert_eq!(
            run.turn["error"]["codexErrorInfo"], info,
            "{name}: {}",
            run.turn["error"]
        );
        let errors = run.of("error");
        assert_eq!((errors.len(), &errors[0]["willRetry"]), (1, &json!(false)), "{name}");
        assert_eq!(model.requests().len(), requests, "{name}");
        assert_eq!(
            run.of("thread/status/changed").last().unwrap()["status"],
            json!({"type": "systemError"}),
            "{name}"
        );
        assert_eq!(client.run_turn(&thread, "again").answer(), "fine again", "{name}");
        client.finish();
    }
}

#[test]
fn what_may_help_is_tried_again() {
    let cut = || {
        let mut steps = model::message_steps("msg_cut", &["half an ans"], Duration::ZERO);
        steps.pop();
        steps.push(Step::Cut);
        model::unframed(steps)
    };
    let no_end = || model::unframed(model::message_steps("msg_open", &["whole answer"], Duration::ZERO));
    let cases: Vec<(&str, Reply)> = vec![
        ("500", model::status(500, json!({"error": {"message": "oops"}}))),
        ("cut", cut()),
        ("no completed", no_end()),
        (
            "rate limit",
            failed("rate_limit_exceeded", "Rate limit reached, try again in 50ms."),
        ),
        ("garbage", model::unframed(vec![Step::Raw(b"\xff\xfe{{{\n\n".to_vec())])),
    ];
    for (name, reply) in cases {
        let model = MockModel::start(move |n, _| {
            if n == 0 {
                reply.clone()
            } else {
                model::message("m", "fine")
            }
        });
        let home = Home::new(&model);
        let mut client = home.session();
        let thread = client.start_thread(json!({}));
        let run = client.run_turn(&thread, "go");
        assert_eq!(
            (run.status(), run.answer()),
            ("completed", "fine"),
            "{name}: {}",
            run.turn
        );
        assert_eq!(model.requests().len(), 2, "{name}");
        assert!(run.of("error").iter().all(|e| e["willRetry"] == true), "{name}");
        model.assert_prefix();
        client.finish();
    }
}

#[test]
fn a_stream_that_never_works_fails_after_its_retries() {
    let model = MockModel::start(|_, _| model::unframed(vec![Step::Cut]));
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let run = client.run_turn(&thread, "go");
    assert_eq!(run.status(), "failed");
    let retries = run.of("error").iter().filter(|e| e["willRetry"] == true).count();
    assert_eq!(retries, 2, "stream_max_retries of the test's configuration");
    client.finish();
}

/// L02: no header, no first event, no further event.
#[test]
fn silence_is_limited() {
    let silent = [
        vec![Step::Sleep(Duration::from_secs(4))],
        vec![
            Step::Event(json!({"type": "response.created", "response": {}})),
            Step::Sleep(Duration::from_secs(4)),
        ],
    ];
    for steps in silent {
        let model = MockModel::start(move |n, _| {
            if n == 0 {
                model::unframed(steps.clone())
            } else {
                model::message("m", "fine")
            }
        });
        let home = Home::new(&model);
        let config = std::fs::read_to_string(home.path().join("config.toml"))
            .unwrap()
            .replace("5000", "500");
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        let mut client = home.session();
        let thread = client.start_thread(json!({}));
        let begin = std::time::Instant::now();
        let run = client.run_turn(&thread, "go");
        assert_eq!(run.answer(), "fine");
        assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
        client.finish();
    }
}

#[test]
fn a_finished_call_of_a_cut_stream_runs_once_and_is_kept() {
    let mut steps = model::call_steps("c1", "exec_command", &json!({"cmd": "echo ran >> log"}));
    steps.push(Step::Cut);
    let reply = model::unframed(steps);
    let model = MockModel::start(move |n, _| {
        if n == 0 {
            reply.clone()
        } else {
            model::message("m", "fine")
        }
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    let run = client.run_turn(&thread, "go");
    assert_eq!(run.answer(), "fine");
    assert_eq!(std::fs::read_to_string(home.workspace().join("log")).unwrap(), "ran\n");
    assert!(
        model.requests()[1]
            .input()
            .iter()
            .any(|i| i["type"] == "function_call_output" && i["call_id"] == "c1")
    );
    client.finish();
}

#[test]
fn a_missing_key_and_an_unreachable_server_end_the_turn_in_words() {
    for (extra, expected) in [
        ("env_key = \"AGENTD_TEST_NO_SUCH_KEY\"\n", "AGENTD_TEST_NO_SUCH_KEY"),
        ("", "127.0.0.1:1"),
    ] {
        let model = MockModel::replies(vec![]);
        let home = Home::new(&model);
        let mut config = std::fs::read_to_string(home.path().join("config.toml")).unwrap() + extra;
        if extra.is_empty() {
            config = config.replace(&model.base_url(), "http://127.0.0.1:1/v1");
        }
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        let mut client = home.session();
        let thread = client.start_thread(json!({}));
        let run = client.run_turn(&thread, "go");
        assert_eq!(run.status(), "failed");
        let error = run.turn["error"].to_string();
        assert!(error.contains(expected), "{error}");
        client.finish();
    }
}
