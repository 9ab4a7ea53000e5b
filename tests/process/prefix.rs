//! The exact prefix over a long life: every request of a thread extends the one before, byte for byte, whatever happened
//! in between.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel, Reply, Step};
use agentd_tests::session::{Session, TurnRun};
use serde_json::{Value, json};

const TURNS: usize = 55;
/// The turn before which the daemon is restarted.
const RESTART: usize = 27;

/// What happens in a turn. One of each in every eleven turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Command,
    Patch,
    Plan,
    Parallel,
    Steered,
    Declined,
    BadCalls,
    Broken,
    InterruptedCommand,
    InterruptedText,
}

const KINDS: [Kind; 11] = [
    Kind::Text,
    Kind::Command,
    Kind::Patch,
    Kind::Plan,
    Kind::Parallel,
    Kind::Steered,
    Kind::Declined,
    Kind::BadCalls,
    Kind::Broken,
    Kind::InterruptedCommand,
    Kind::InterruptedText,
];

fn kind(turn: usize) -> Kind {
    KINDS[(turn * 7) % KINDS.len()]
}

/// How a broken answer is broken, and whether trying again helps.
fn broken(turn: usize) -> (Reply, bool) {
    let half = || model::message_steps(&format!("msg_{turn}_half"), &["half ", "an answer"], Duration::ZERO);
    let failed = |code: &str| json!({"type": "response.failed", "response": {"id": "r", "error": {"code": code, "message": "no"}}});
    match turn / KINDS.len() {
        0 => (model::status(500, json!({"error": {"message": "oops"}})), true),
        1 => {
            let mut steps = half();
            steps.pop();
            steps.push(Step::Cut);
            (model::unframed(steps), true)
        }
        2 => {
            let mut steps = model::call_steps(
                &format!("c{turn}"),
                "exec_command",
                &json!({"cmd": "echo before the cut"}),
            );
            steps.push(Step::Cut);
            (model::unframed(steps), true)
        }
        3 => (
            model::unframed([half(), vec![Step::Event(failed("invalid_prompt"))]].concat()),
            false,
        ),
        _ => (
            model::status(
                400,
                json!({"error": {"message": "bad", "type": "invalid_request_error", "code": null}}),
            ),
            false,
        ),
    }
}

fn last_turn(body: &Value) -> usize {
    let texts = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .filter(|item| item["role"] == "user");
    let mut texts = texts.filter_map(|item| item["content"][0]["text"].as_str());
    texts.find_map(|text| text.strip_prefix("turn ")?.parse().ok()).unwrap()
}

/// The answer to the `nth` request of a turn.
fn answer(turn: usize, nth: usize) -> Reply {
    let call = |tool: &str, arguments: Value| model::call(&format!("c{turn}"), tool, arguments);
    match (kind(turn), nth) {
        (Kind::Command, 0) => call(
            "exec_command",
            json!({"cmd": format!("echo run {turn}; echo ü \\\"; exit {}", turn % 3)}),
        ),
        (Kind::Patch, 0) => call(
            "apply_patch",
            json!({"input": format!("*** Begin Patch\n*** Add File: f{turn}.txt\n+ü {turn}\n*** End Patch\n")}),
        ),
        (Kind::Patch, 1) => model::patch(
            &format!("c{turn}b"),
            "*** Begin Patch\n*** Delete File: not-there.txt\n*** End Patch\n",
        ),
        (Kind::Plan, 0) => call(
            "update_plan",
            json!({"plan": [{"step": "one", "status": "in_progress"}]}),
        ),
        (Kind::Parallel, 0) => {
            let commands = (0..3).map(|n| {
                model::call_steps(
                    &format!("c{turn}_{n}"),
                    "exec_command",
                    &json!({"cmd": format!("sleep 0.0{}; echo {n}", 3 - n)}),
                )
            });
            model::stream(commands.flatten().collect())
        }
        // The user says more while the command runs.
        (Kind::Steered, 0) => call(
            "exec_command",
            json!({"cmd": "echo begun; while [ ! -e go_on ]; do sleep 0.01; done; rm go_on"}),
        ),
        (Kind::Declined, 0) => call(
            "exec_command",
            json!({"cmd": "touch never", "sandbox_permissions": "require_escalated", "justification": "?"}),
        ),
        (Kind::BadCalls, 0) => call("exec_command", json!("{not json")),
        (Kind::BadCalls, 1) => model::call(&format!("c{turn}b"), "teleport", json!({})),
        // A call id that was used before in this turn.
        (Kind::BadCalls, 2) => call("exec_command", json!({"cmd": "echo same id"})),
        (Kind::Broken, 0) => broken(turn).0,
        (Kind::InterruptedCommand, 0) => call("exec_command", json!({"cmd": "echo begun; sleep 60"})),
        (Kind::InterruptedText, 0) => {
            let mut steps = model::message_steps(
                &format!("msg_{turn}"),
                &["shown ", "before ", "the end"],
                Duration::ZERO,
            );
            steps.insert(3, Step::Sleep(Duration::from_secs(2)));
            model::unframed(steps)
        }
        _ => model::stream(answer_steps(turn)),
    }
}

/// Reasoning in an unusual spelling, then a message.
fn answer_steps(turn: usize) -> Vec<Step> {
    let reasoning = format!(
        r#"{{"type":"reasoning", "id":"rs_{turn}","summary":[],"encrypted_content":"gAAA\u003d{turn}","odd": 1.0}}"#
    );
    let mut steps = vec![
        Step::Event(
            json!({"type": "response.output_item.added", "item": {"type": "reasoning", "id": format!("rs_{turn}"), "summary": []}}),
        ),
        Step::Raw(format!("data: {{\"type\":\"response.output_item.done\",\"item\":{reasoning}}}\n\n").into_bytes()),
    ];
    steps.extend(model::message_steps(
        &format!("msg_{turn}"),
        &["done ", "with ", &turn.to_string()],
        Duration::ZERO,
    ));
    steps
}

fn run(client: &mut Session, workspace: &Path, thread: &str, turn: usize) -> TurnRun {
    let id = client.start_turn(thread, &format!("turn {turn}"));
    match kind(turn) {
        Kind::InterruptedCommand => {
            client.until("item/commandExecution/outputDelta", |_| true);
        }
        Kind::InterruptedText => {
            client.until("item/agentMessage/delta", |p| p["delta"] == "before ");
        }
        Kind::Steered => {
            client.until("item/commandExecution/outputDelta", |_| true);
            assert_eq!(
                client.start_turn(thread, &format!("more for {turn}")),
                id,
                "it joins the running turn"
            );
            std::fs::write(workspace.join("go_on"), "").unwrap();
            return client.finish_turn(&id);
        }
        _ => return client.finish_turn(&id),
    }
    client.request("turn/interrupt", json!({"threadId": thread, "turnId": id}));
    client.finish_turn(&id)
}

fn expected_status(turn: usize) -> &'static str {
    match kind(turn) {
        Kind::InterruptedCommand | Kind::InterruptedText => "interrupted",
        Kind::Broken if !broken(turn).1 => "failed",
        _ => "completed",
    }
}

fn ready(mut client: Session) -> Session {
    client.approve = Box::new(|_| Some(json!({"decision": "decline"})));
    client
}

#[test]
fn more_than_fifty_turns_with_every_kind_of_trouble() {
    let requests_of: Mutex<HashMap<usize, usize>> = Mutex::default();
    let model = MockModel::start(move |_, body| {
        let turn = last_turn(body);
        let mut requests_of = requests_of.lock().unwrap();
        let nth = requests_of.entry(turn).or_insert(0);
        *nth += 1;
        answer(turn, *nth - 1)
    });
    let home = Home::new(&model);
    std::fs::write(home.workspace().join("AGENTS.md"), "Rules with ü and \"quotes\".").unwrap();
    let mut client = ready(home.session());
    let thread = client.start_thread(json!({"sandbox": "workspace-write", "approvalPolicy": "on-request"}));
    for turn in 0..TURNS {
        if turn == RESTART {
            client.finish();
            client = ready(home.session());
            client.resume(&thread);
        }
        let run = run(&mut client, &home.workspace(), &thread, turn);
        assert_eq!(
            run.status(),
            expected_status(turn),
            "turn {turn}, {:?}: {}",
            kind(turn),
            run.turn
        );
        model.assert_prefix();
    }
    assert!(!home.workspace().join("never").exists());
    assert_eq!(
        std::fs::read_dir(home.workspace())
            .unwrap()
            .flatten()
            .filter(|f| f.file_name().to_string_lossy().starts_with('f'))
            .count(),
        5
    );
    let requests = model.requests();
    let last = String::from_utf8(requests.last().unwrap().body.clone()).unwrap();
    for turn in 0..TURNS {
        assert!(
            last.contains(&format!("\"turn {turn}\"")),
            "turn {turn} is missing from the history"
        );
    }
    // The whole head (instructions, tools and everything before the input) is the same in all of them.
    let head = |body: &[u8]| {
        body.windows(10)
            .position(|w| w == b"\"input\":[{")
            .map(|at| body[..at].to_vec())
            .unwrap()
    };
    assert!(requests.iter().all(|r| head(&r.body) == head(&requests[0].body)));
    client.finish();
}
