//! The commands that look at things: threads, show, daemon status, completions, help.

#![allow(clippy::expect_used)]

mod story;

use serde_json::{Value, json};
use story::{Story, THREAD, command, message, thread, turn};

fn quiet() -> Story {
    Story::new(|heard, peer| {
        if heard["method"] == "thread/read" {
            let items = json!([
                {"type": "userMessage", "id": "u1", "clientId": null, "startedAtMs": 1, "completedAtMs": 1,
                 "content": [{"type": "text", "text": "say\nhello", "text_elements": []}]},
                command("c1", "/bin/bash -lc 'echo hi'", "completed", json!("hi\n"), json!(0)),
                message("m1", "Hello."),
            ]);
            peer.reply(
                heard,
                json!({"thread": thread(json!([turn("completed", items, Value::Null)])), "readState": null}),
            );
        }
    })
}

#[test]
fn threads_are_one_line_each() {
    let story = quiet();
    let told = story.run(&["threads"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(
        told.stdout.starts_with(&format!("{}  ", &THREAD[28..])) && told.stdout.ends_with("d  fix the test\n"),
        "{}",
        told.stdout
    );
    let here = story.workspace().canonicalize().expect("workspace");
    assert_eq!(
        story.server.wait_for("thread/list")["params"]["cwd"],
        here.to_str().expect("UTF-8")
    );
    let all = story.run(&["threads", "--all", "--json", "-n", "5"]);
    let line: Value = serde_json::from_str(all.stdout.trim_end()).expect("one line of JSON");
    assert_eq!(line["id"], THREAD);
    let asked = story.server.wait_for("thread/list");
    assert_eq!(
        (&asked["params"]["cwd"], &asked["params"]["limit"]),
        (&Value::Null, &json!(5))
    );
    assert_eq!(
        story.run(&["show", &THREAD[28..]]).code,
        Some(0),
        "the short id names the thread"
    );
    assert_eq!(story.run(&["show", ""]).code, Some(2));
    assert_eq!(story.run(&["threads", "-n", "0"]).code, Some(2));
}

#[test]
fn threads_are_named_put_away_brought_back_and_forked() {
    let story = Story::new(|heard, peer| match heard["method"].as_str() {
        Some("thread/name/set" | "thread/archive") => peer.reply(heard, json!({})),
        Some("thread/unarchive") => peer.reply(heard, json!({"thread": thread(json!([]))})),
        _ => {}
    });
    let named = story.run(&["name", "019c", "A name"]);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    let asked = story.server.wait_for("thread/name/set");
    assert_eq!(asked["params"], json!({"threadId": THREAD, "name": "A name"}));
    let archived = story.run(&["archive", "019c"]);
    assert!(
        archived.stderr.contains(&format!("agentctl unarchive {THREAD}")),
        "{}",
        archived.stderr
    );
    assert_eq!(story.server.wait_for("thread/archive")["params"]["threadId"], THREAD);
    let back = story.run(&["unarchive", THREAD]);
    assert_eq!((back.code, back.stdout.as_str()), (Some(0), ""), "{}", back.stderr);
    assert_eq!(story.server.wait_for("thread/unarchive")["params"]["threadId"], THREAD);
}

#[test]
fn show_tells_the_thread_from_its_beginning() {
    let story = quiet();
    let told = story.run(&["show", "019c"]);
    let expected = "\
fix the test
019c0000-0000-7000-8000-000000000001 · gpt-5.5 (openai) · /w

> say
> hello

$ echo hi
  hi
  exit 0 · 1.2s

Hello.

completed · 1.5s
";
    assert_eq!(told.stdout, expected);
    let json = story.run(&["show", "--json", THREAD]);
    let read: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(read["turns"][0]["items"][2]["text"], "Hello.");
}

#[test]
fn status_says_where_and_what() {
    let story = quiet();
    let told = story.run(&["daemon", "status"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(
        told.stdout.contains("running   yes\n") && told.stdout.contains("version   agentd 0.1.0 (protocol 0.171.0)\n"),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains("threads   1 loaded\n"), "{}", told.stdout);
    let empty = tempfile::tempdir().expect("tempdir");
    let home = empty.path().to_str().expect("UTF-8");
    let none = story.run(&["--home", home, "daemon", "status"]);
    assert_eq!(
        (none.code, none.stdout),
        (Some(1), format!("running   no\nhome      {home}\n"))
    );
    let stop = story.run(&["--home", home, "daemon", "stop"]);
    assert_eq!((stop.code, stop.stdout.as_str()), (Some(0), "agentd does not run\n"));
}

#[test]
fn a_binary_that_is_missing_is_named() {
    let story = quiet();
    let empty = tempfile::tempdir().expect("tempdir");
    let told = story.run(&["--home", empty.path().to_str().expect("UTF-8"), "daemon", "start"]);
    assert_eq!(told.code, Some(1));
    assert!(told.stderr.contains("/nonexistent/agentd"), "{}", told.stderr);
}

#[test]
fn help_teaches_and_completions_complete() {
    let story = quiet();
    let help = story.run(&["--help"]);
    for word in ["agentctl demo", "Exit codes", "AGENTD_HOME"] {
        assert!(help.stdout.contains(word), "{word} is missing");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            story.run(&["completions", shell]).stdout.contains("agentctl"),
            "{shell}"
        );
    }
}
