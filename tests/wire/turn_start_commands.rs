//! `turn/start` with commands: items, output, confinement, parallel calls, bad calls, X01.

use std::time::{Duration, Instant};

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel};
use serde_json::{Value, json};

fn output_of(model: &MockModel, request: usize, call_id: &str) -> String {
    let input = model.requests()[request].input();
    let output = input
        .iter()
        .find(|i| i["type"] == "function_call_output" && i["call_id"] == call_id)
        .unwrap();
    output["output"].as_str().unwrap().to_owned()
}

#[test]
fn a_command_is_an_item_with_its_output_and_exit_code() {
    let model = MockModel::replies(vec![
        model::exec("c1", "echo out; echo err >&2; exit 3"),
        model::message("m", "done"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    let run = client.run_turn(&thread, "go");
    let item = run.completed("commandExecution")[0];
    assert_eq!(item["id"], "c1");
    assert_eq!(item["command"], "/bin/bash -lc 'echo out; echo err >&2; exit 3'");
    assert_eq!(item["status"], "failed");
    assert_eq!(item["exitCode"], 3);
    assert_eq!(item["aggregatedOutput"], "out\nerr\n");
    let deltas: String = run
        .of("item/commandExecution/outputDelta")
        .iter()
        .map(|d| d["delta"].as_str().unwrap())
        .collect();
    assert_eq!(deltas, "out\nerr\n", "every byte from the first is shown");
    let output = output_of(&model, 1, "c1");
    assert!(
        output.contains("Process exited with code 3") && output.contains("out\nerr\n"),
        "{output}"
    );
    model.assert_prefix();
    client.finish();
}

#[test]
fn the_sandbox_lets_in_what_the_mode_allows() {
    let cases = [
        ("read-only", "inside", false),
        ("read-only", "outside", false),
        ("workspace-write", "inside", true),
        ("workspace-write", "outside", false),
        ("danger-full-access", "inside", true),
        ("danger-full-access", "outside", true),
    ];
    for (mode, place, allowed) in cases {
        let model = MockModel::start(|n, body| {
            let path = body["input"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|i| i["content"][0]["text"].as_str())
                .find(|t| t.starts_with('/'))
                .unwrap()
                .to_owned();
            if n == 0 {
                model::exec("c1", &format!("echo x > {path}"))
            } else {
                model::message("m", "done")
            }
        });
        let home = Home::new(&model);
        let mut client = home.session();
        let thread = client.start_thread(json!({"sandbox": mode, "approvalPolicy": "never"}));
        let path = if place == "inside" {
            home.workspace().join("f")
        } else {
            home.outside("f")
        };
        let run = client.run_turn(&thread, &path.display().to_string());
        assert_eq!(
            path.exists(),
            allowed,
            "{mode} {place}: {:?}",
            run.completed("commandExecution")
        );
        client.finish();
    }
}

#[test]
fn the_network_is_off_unless_allowed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let cmd = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    for (policy, allowed) in [
        (json!({"type": "readOnly", "networkAccess": false}), false),
        (json!({"type": "readOnly", "networkAccess": true}), true),
    ] {
        let model = MockModel::replies(vec![model::exec("c1", &cmd), model::message("m", "done")]);
        let home = Home::new(&model);
        let mut client = home.session();
        let thread = client.start_thread(json!({}));
        let params = json!({"threadId": thread, "input": [{"type": "text", "text": "x"}], "sandboxPolicy": policy});
        let turn = client.request("turn/start", params)["turn"]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let run = client.finish_turn(&turn);
        assert_eq!(
            run.completed("commandExecution")[0]["exitCode"] == 0,
            allowed,
            "{policy}"
        );
        client.finish();
    }
}

#[test]
fn parallel_calls_run_side_by_side_and_answer_in_call_order() {
    let mut steps = model::call_steps("slow", "exec_command", &json!({"cmd": "sleep 1; echo slow"}));
    steps.extend(model::call_steps(
        "quick",
        "exec_command",
        &json!({"cmd": "sleep 1; echo quick"}),
    ));
    let model = MockModel::replies(vec![model::stream(steps), model::message("m", "done")]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let begin = Instant::now();
    client.run_turn(&thread, "go");
    assert!(
        begin.elapsed() < Duration::from_millis(1900),
        "they ran one after the other: {:?}",
        begin.elapsed()
    );
    let calls: Vec<Value> = model.requests()[1]
        .input()
        .into_iter()
        .filter(|i| i.get("call_id").is_some())
        .collect();
    let order: Vec<(&str, &str)> = calls
        .iter()
        .map(|c| (c["type"].as_str().unwrap(), c["call_id"].as_str().unwrap()))
        .collect();
    assert_eq!(
        order,
        [
            ("function_call", "slow"),
            ("function_call", "quick"),
            ("function_call_output", "slow"),
            ("function_call_output", "quick")
        ]
    );
    client.finish();
}

#[test]
fn a_call_that_makes_no_sense_gets_an_answer_that_helps() {
    let cases: [(&str, Value, &str); 4] = [
        ("exec_command", json!("{not json"), "failed to parse function arguments"),
        (
            "exec_command",
            json!({"command": 5}),
            "failed to parse function arguments",
        ),
        ("teleport", json!({}), "unsupported call: teleport"),
        (
            "update_plan",
            json!({"plan": [{"step": "x", "status": "sideways"}]}),
            "failed to parse function arguments",
        ),
    ];
    for (tool, arguments, expected) in cases {
        let model = MockModel::replies(vec![model::call("c1", tool, arguments), model::message("m", "done")]);
        let home = Home::new(&model);
        let mut client = home.session();
        let thread = client.start_thread(json!({}));
        let run = client.run_turn(&thread, "go");
        assert_eq!(run.status(), "completed");
        let output = output_of(&model, 1, "c1");
        assert!(output.contains(expected), "{tool}: {output}");
        assert!(run.completed("commandExecution").is_empty());
        client.finish();
    }
}

/// X01: a grandchild that keeps the pipe open does not hold up the call.
#[test]
fn a_call_ends_with_its_main_process() {
    for cmd in [
        "(sleep 15 &) ; echo hi",
        "exec > >(tee log) 2>&1; echo hi; sleep 15 &",
        "setsid sleep 15 & echo hi",
        "nohup sleep 15 > /dev/null & echo hi",
    ] {
        let model = MockModel::replies(vec![model::exec("c1", cmd), model::message("m", "done")]);
        let home = Home::new(&model);
        let mut client = home.session();
        let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
        let begin = Instant::now();
        let run = client.run_turn(&thread, "go");
        assert!(begin.elapsed() < Duration::from_secs(2), "{cmd}: {:?}", begin.elapsed());
        let item = run.completed("commandExecution")[0];
        assert_eq!(
            (item["aggregatedOutput"].as_str(), item["exitCode"].as_i64()),
            (Some("hi\n"), Some(0)),
            "{cmd}"
        );
        client.finish();
    }
}

#[test]
fn a_huge_output_is_cut_for_the_model_and_capped_for_clients() {
    let model = MockModel::replies(vec![
        model::exec("c1", "head -c 8000000 /dev/zero | tr '\\0' x; echo; echo END"),
        model::message("m", "done"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let run = client.run_turn(&thread, "go");
    let shown = run.completed("commandExecution")[0]["aggregatedOutput"]
        .as_str()
        .unwrap();
    assert!(
        shown.len() < (1 << 20) + 200 && shown.ends_with("END\n"),
        "{} bytes",
        shown.len()
    );
    let output = output_of(&model, 1, "c1");
    assert!(
        output.len() < 42_000 && output.contains("truncated") && output.ends_with("END\n"),
        "{} bytes",
        output.len()
    );
    client.finish();
}

#[test]
fn output_that_is_not_text_is_repaired_and_time_is_limited() {
    let model = MockModel::replies(vec![
        model::exec("c1", "printf 'a\\xff\\xc3'; sleep 0.1; printf '\\xa9b\\0c'"),
        model::call(
            "c2",
            "exec_command",
            json!({"cmd": "echo begin; sleep 60", "timeout_ms": 300}),
        ),
        model::message("m", "done"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let run = client.run_turn(&thread, "go");
    let items = run.completed("commandExecution");
    assert_eq!(items[0]["aggregatedOutput"], "a\u{fffd}éb\0c");
    assert_eq!(
        (items[1]["status"].as_str(), items[1]["aggregatedOutput"].as_str()),
        (Some("failed"), Some("begin\n"))
    );
    assert!(output_of(&model, 2, "c2").contains("time"), "the model is told why");
    client.finish();
}

#[test]
fn the_environment_has_no_secrets() {
    let model = MockModel::replies(vec![model::exec("c1", "env"), model::message("m", "done")]);
    let home = Home::new(&model);
    let mut command = home.command("agentd");
    command
        .env("OPENAI_API_KEY", "sk-secret")
        .env("MY_TOKEN", "t")
        .env("LC_ALL", "C.UTF-8");
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let daemon = agentd_tests::daemon::Daemon {
        child: command.spawn().unwrap(),
    };
    let mut client = agentd_tests::session::Session::start(daemon, &home.workspace());
    let thread = client.start_thread(json!({"sandbox": "danger-full-access"}));
    let run = client.run_turn(&thread, "go");
    let env = run.completed("commandExecution")[0]["aggregatedOutput"]
        .as_str()
        .unwrap();
    assert!(!env.contains("sk-secret") && !env.contains("MY_TOKEN"), "{env}");
    assert!(
        env.contains("LC_ALL=C.UTF-8") && env.contains("AGENTD_SANDBOX="),
        "{env}"
    );
    client.finish();
}

/// A command that can write around its working directory replaces it by a symlink: the next turn must not follow.
#[test]
fn a_working_directory_that_was_swapped_is_not_followed() {
    let model = MockModel::start(|n, body| {
        let input = body["input"].as_array().unwrap();
        let mut texts = input.iter().filter_map(|i| i["content"][0]["text"].as_str());
        let outside = texts.find(|t| t.starts_with('/')).unwrap().to_owned();
        match n {
            0 => model::exec(
                "c1",
                &format!("cd .. && mv proj gone && ln -s {outside} proj && echo swapped"),
            ),
            2 => model::exec("c2", "echo pwned > made; pwd -P"),
            3 => model::patch("p1", "*** Begin Patch\n*** Add File: patched\n+x\n*** End Patch\n"),
            _ => model::message("m", "done"),
        }
    });
    let home = Home::new(&model);
    let proj = home.workspace().join("proj");
    let outside = home.outside("target");
    std::fs::create_dir(&proj).unwrap();
    std::fs::create_dir(&outside).unwrap();
    let mut client = home.session();
    let thread = client.start_thread(json!({"cwd": proj, "approvalPolicy": "never"}));
    let policy = json!({"type": "workspaceWrite", "writableRoots": [home.workspace()], "networkAccess": false, "excludeTmpdirEnvVar": true, "excludeSlashTmp": true});
    let params = json!({"threadId": thread, "input": [{"type": "text", "text": outside}], "sandboxPolicy": policy});
    let turn = client.request("turn/start", params)["turn"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let run = client.finish_turn(&turn);
    assert_eq!(run.completed("commandExecution")[0]["aggregatedOutput"], "swapped\n");
    client.run_turn(&thread, "again");
    assert_eq!(
        std::fs::read_dir(&outside).unwrap().count(),
        0,
        "something was written outside"
    );
    client.finish();
}

/// Another terminal of the same user is a device file that a command must not open.
#[test]
fn other_terminals_are_out_of_reach() {
    let model = MockModel::replies(vec![
        model::exec("c1", "(echo x > /dev/ptmx) 2> /dev/null || echo closed"),
        model::message("m", "done"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    let run = client.run_turn(&thread, "go");
    let shown = run.completed("commandExecution")[0]["aggregatedOutput"]
        .as_str()
        .unwrap();
    assert!(shown.ends_with("closed\n"), "{shown}");
    client.finish();
}

/// A command that writes without end must not cost the client its connection, nor the daemon its memory.
#[test]
fn a_flood_of_output_is_shown_at_a_pace() {
    let model = MockModel::replies(vec![
        model::exec("c1", "timeout 2 yes | head -c 400000000; echo; echo THE END"),
        model::message("m", "done"),
    ]);
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    let run = client.run_turn(&thread, "go");
    assert_eq!(run.answer(), "done");
    let item = run.completed("commandExecution")[0];
    assert!(item["aggregatedOutput"].as_str().unwrap().ends_with("THE END\n"));
    let deltas = run.of("item/commandExecution/outputDelta");
    let shown: usize = deltas.iter().map(|d| d["delta"].as_str().unwrap().len()).sum();
    assert!(shown < 8 << 20, "{shown} bytes were sent live");
    client.finish();
}

/// With the network on a command can open sockets; the daemon's own socket is not for it.
#[test]
fn a_command_is_no_client_of_its_daemon() {
    let model = MockModel::start(|n, body| {
        let input = body["input"].as_array().unwrap();
        let mut texts = input.iter().filter_map(|i| i["content"][0]["text"].as_str());
        let socket = texts.find(|t| t.ends_with("agentd.sock")).unwrap().to_owned();
        let ask = format!(
            "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"{socket}\"); s.sendall(b\"{{}}\\n\"); print(\"answer:\", s.recv(100))' 2>&1"
        );
        if n == 0 {
            model::exec("c1", &ask)
        } else {
            model::message("m", "done")
        }
    });
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "danger-full-access"}));
    let run = client.run_turn(&thread, &home.socket().display().to_string());
    let shown = run.completed("commandExecution")[0]["aggregatedOutput"]
        .as_str()
        .unwrap();
    assert!(!shown.contains("error"), "the daemon answered a command: {shown}");
    client.finish();
}
