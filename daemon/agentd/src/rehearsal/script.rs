//! The scenes: what the rehearsal answers to a request. Pure; a request in, beats out.
//!
//! Nothing is remembered between requests. The scene follows from the last user message, the step from how many tool
//! outputs came after it.

use std::time::Duration;

use serde_json::{Value, json};

const TOUR: &str = "rehearsal: tour";
const LONG: &str = "rehearsal: long";
/// Pace of ordinary speech, per word.
const BRISK: Duration = Duration::from_millis(12);
/// Pace of the long scene, per word.
const SLOW: Duration = Duration::from_millis(25);
const LONG_WORDS: usize = 400;
/// Longest piece of somebody else's text that is quoted, in characters.
const QUOTE_LIMIT: usize = 120;

/// One thing the rehearsal does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Beat {
    /// A reasoning summary of one part.
    Think(&'static str),
    /// A message, word by word.
    Say {
        /// The words.
        text: String,
        /// Time between two words.
        pace: Duration,
    },
    /// A function call.
    Call {
        /// Tool name.
        name: &'static str,
        /// Its arguments.
        arguments: Value,
    },
}

/// What a request shows of the running turn.
struct Scene {
    /// Text of the last message that a user wrote.
    prompt: String,
    /// How many such messages ask for the tour, this one included.
    tours: usize,
    /// Outputs of tool calls after it, in order.
    outputs: Vec<String>,
}

/// The answer to a request body.
pub(super) fn play(request: &Value) -> Vec<Beat> {
    let scene = Scene::of(request);
    if scene.prompt.contains(TOUR) {
        tour(&scene)
    } else if scene.prompt.contains(LONG) {
        long(&scene)
    } else {
        anything(&scene)
    }
}

fn tour(scene: &Scene) -> Vec<Beat> {
    match scene.outputs.len() {
        0 => vec![
            Beat::Think(
                "**Looking around**\n\nThis is a rehearsal: a script, not a language model. First, two commands side by side.",
            ),
            exec("ls -la; sleep 1"),
            exec("cat README.md 2>/dev/null | head -20; sleep 1"),
        ],
        1 | 2 => vec![
            say(
                "Both commands ran at the same time. Next, the script tries something it should not: a file outside the workspace.",
            ),
            exec(concat!(
                r#"file="/var/tmp/agentd-rehearsal-escape-$$.txt"; "#,
                r#"echo leak > "$file" && { echo "the file was written: no sandbox stopped it"; rm -f "$file"; }"#
            )),
        ],
        3 => vec![
            Beat::Call {
                name: "update_plan",
                arguments: plan("in_progress"),
            },
            Beat::Call {
                name: "apply_patch",
                arguments: json!({ "input": patch(scene.tours) }),
            },
        ],
        4 | 5 => vec![Beat::Call {
            name: "update_plan",
            arguments: plan("completed"),
        }],
        _ => vec![say(&summary(scene))],
    }
}

fn plan(patch_status: &str) -> Value {
    json!({
        "explanation": "The scenes of the rehearsal.",
        "plan": [
            { "step": "Run two commands side by side", "status": "completed" },
            { "step": "Try to write outside the workspace", "status": "completed" },
            { "step": "Add a file by a patch", "status": patch_status },
        ],
    })
}

/// Each tour of a thread adds a file of its own, because adding a file that exists is refused.
fn patch(tours: usize) -> String {
    let name = if tours > 1 {
        format!("HELLO-{tours}.md")
    } else {
        "HELLO.md".to_owned()
    };
    format!(
        "*** Begin Patch\n*** Add File: {name}\n+# Hello\n+\n+Written by agentd's rehearsal (a script, not a language model).\n*** End Patch\n"
    )
}

fn summary(scene: &Scene) -> String {
    let output = |number: usize| scene.outputs.get(number).map_or("no output", String::as_str);
    format!(
        "That was agentd's rehearsal, a script and not a language model. What really happened: listing the folder: {}. \
         Reading the README: {}. Writing outside the workspace: {}. The patch: {}. To work with a real model, set \
         OPENAI_API_KEY or add a provider under [model_providers] in config.toml.",
        outcome(output(0)),
        outcome(output(1)),
        outcome(output(2)),
        outcome(output(4)),
    )
}

fn long(scene: &Scene) -> Vec<Beat> {
    if scene.outputs.is_empty() {
        return vec![
            Beat::Say {
                text: format!(
                    "This is the long scene of agentd's rehearsal, a script and not a language model. {}",
                    counted(45)
                ),
                pace: SLOW,
            },
            exec("for i in $(seq 1 100); do echo tick $i; sleep 0.1; done"),
        ];
    }
    let text = format!(
        "The command is over: {}. Now a long text follows. {}",
        outcome(&scene.outputs[0]),
        counted(LONG_WORDS)
    );
    vec![Beat::Say { text, pace: SLOW }]
}

/// Numbered words, so that a reader sees at once whether one is missing.
fn counted(words: usize) -> String {
    (1..=words)
        .map(|number| format!("word-{number}"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn anything(scene: &Scene) -> Vec<Beat> {
    if scene.outputs.is_empty() {
        return vec![
            Beat::Think("**Rehearsing**\n\nA script answers here, not a language model. It looks at the folder once."),
            exec("pwd; ls"),
        ];
    }
    vec![say(&format!(
        "This is agentd's rehearsal, not a language model. It cannot understand what you wrote (“{}”); it only ran one \
         command: {}. To work with a real model, set OPENAI_API_KEY or add a provider under [model_providers] in \
         config.toml and choose it with model_provider. For a guided scene, write: {TOUR}",
        quoted(&scene.prompt),
        outcome(&scene.outputs[0]),
    ))]
}

fn exec(cmd: &str) -> Beat {
    Beat::Call {
        name: "exec_command",
        arguments: json!({ "cmd": cmd }),
    }
}

fn say(text: &str) -> Beat {
    Beat::Say {
        text: text.to_owned(),
        pace: BRISK,
    }
}

/// A tool output in a few words: its exit code if it names one, and its last line.
fn outcome(output: &str) -> String {
    let code = output.lines().find_map(|line| {
        let line = line.trim();
        line.strip_prefix("Process exited with code ")
            .or_else(|| line.strip_prefix("Exit code: "))
    });
    let last = output
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .unwrap_or("no output");
    match code {
        Some("0") => "exit code 0".to_owned(),
        Some(code) => format!("exit code {code} ({})", quoted(last)),
        None => quoted(last),
    }
}

/// First line, shortened.
fn quoted(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(QUOTE_LIMIT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

impl Scene {
    fn of(request: &Value) -> Self {
        let mut scene = Scene {
            prompt: String::new(),
            tours: 0,
            outputs: Vec::new(),
        };
        if let Some(text) = request["input"].as_str() {
            scene.prompt = text.to_owned();
        }
        for item in request["input"].as_array().into_iter().flatten() {
            if item["role"] == "user" {
                scene.user_message(text_of(&item["content"]));
            } else if item["type"].as_str().is_some_and(|kind| kind.ends_with("call_output")) {
                scene.outputs.push(text_of(&item["output"]));
            }
        }
        scene
    }

    /// Context that the daemon adds in the user's name is not what the user wrote.
    fn user_message(&mut self, text: String) {
        if text.starts_with('<') || text.starts_with("# AGENTS.md instructions") {
            return;
        }
        self.tours += usize::from(text.contains(TOUR));
        self.prompt = text;
        self.outputs.clear();
    }
}

/// Text, or the texts of a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
