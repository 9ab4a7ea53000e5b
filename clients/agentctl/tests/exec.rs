//! `agentctl exec` and `resume` against a scripted daemon, without a terminal: what goes where, and the exit codes.

#![allow(clippy::expect_used)]

mod story;

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use story::{Story, THREAD, TURN, Tell, Told, command, message, patch};

fn is_turn_start(message: &Value) -> bool {
    message["method"] == "turn/start"
}

#[test]
fn the_answer_goes_to_stdout_and_the_progress_to_stderr() {
    let story = Story::new(|_, peer| {
        peer.begin(message("m1", ""));
        peer.say("m1", "Let me look.");
        peer.end(message("m1", "Let me look."));
        peer.begin(command(
            "c1",
            "/bin/bash -lc 'ls -l'",
            "inProgress",
            json!(null),
            json!(null),
        ));
        peer.begin(command(
            "c2",
            "/bin/bash -lc 'cat b'",
            "inProgress",
            json!(null),
            json!(null),
        ));
        peer.output("c2", "second\n");
        peer.output("c1", "first\nli");
        peer.end(command(
            "c2",
            "/bin/bash -lc 'cat b'",
            "failed",
            json!("second\n"),
            json!(3),
        ));
        peer.output("c1", "ne two\x1b[2J");
        peer.end(command(
            "c1",
            "/bin/bash -lc 'ls -l'",
            "completed",
            json!("first\nline two"),
            json!(0),
        ));
        peer.whole(patch("p1", "completed"));
        peer.notify("turn/plan/updated", json!({"threadId": THREAD, "turnId": TURN, "explanation": null, "plan": [
            {"step": "look", "status": "completed"}, {"step": "act", "status": "inProgress"}, {"step": "rest", "status": "pending"}]}));
        peer.whole(message("m2", "All **done**.\n"));
        peer.finish("completed");
    });
    let told = story.run(&["exec", "fix it"]);
    assert_eq!(told.stdout, "All **done**.\n");
    let expected = "\
Let me look.

$ ls -l
  first
  line two
  exit 0 · 1.2s
$ cat b
  second
  exit 3 · 1.2s

edit a.txt (+1 -1)
  @@ -1 +1 @@
  -one
  +two

add new.txt (+2 -0)
  +hello
  +world
  applied

plan
  [x] look
  [>] act
  [ ] rest

completed · 1.5s
go on with: agentctl resume 019c0000-0000-7000-8000-000000000001
";
    assert_eq!(told.stderr, expected);
    assert_eq!(told.code, Some(0));
}

#[test]
fn the_settings_of_the_command_line_reach_the_daemon() {
    let story = Story::new(|_, peer| peer.finish("completed"));
    let cwd = story.workspace().canonicalize().expect("workspace");
    let told = story.run(&[
        "exec",
        "-m",
        "gpt-x",
        "--sandbox",
        "workspace-write",
        "--approval",
        "never",
        "-c",
        "a.b=3",
        "-c",
        "e=high",
        "go",
    ]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let start = story.server.wait_for("thread/start");
    let params = &start["params"];
    assert_eq!(params["model"], "gpt-x");
    assert_eq!(params["sandbox"], "workspace-write");
    assert_eq!(params["approvalPolicy"], "never");
    assert_eq!(params["config"], json!({"a.b": 3, "e": "high"}));
    assert_eq!(params["cwd"], cwd.to_str().expect("UTF-8"));
    let turn = story.server.wait_for("turn/start");
    assert_eq!(
        turn["params"]["input"],
        json!([{"type": "text", "text": "go", "text_elements": []}])
    );
}

#[test]
fn json_prints_the_lines_as_received_and_nothing_else() {
    let story = Story::new(|_, peer| {
        peer.notify("some/news", json!({"z": 1, "a": 2}));
        peer.finish("completed");
    });
    let told = story.run(&["exec", "--json", "go"]);
    let lines: Vec<&str> = told.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", told.stdout);
    assert_eq!(
        lines[0],
        json!({"method": "some/news", "params": {"z": 1, "a": 2}, "emittedAtMs": 1}).to_string()
    );
    assert!(lines[1].contains("turn/completed"));
    assert_eq!((told.stderr.as_str(), told.code), ("", Some(0)));
}

#[test]
fn without_a_terminal_approvals_are_declined_and_said_so() {
    let story = Story::new(|heard, peer| {
        if is_turn_start(heard) {
            peer.begin(command(
                "c1",
                "/bin/bash -lc 'curl x'",
                "inProgress",
                json!(null),
                json!(null),
            ));
            peer.ask_command(0, "c1", "/bin/bash -lc 'curl x'");
        } else {
            peer.end(command(
                "c1",
                "/bin/bash -lc 'curl x'",
                "declined",
                json!(null),
                json!(null),
            ));
            peer.finish("completed");
        }
    });
    let told = story.run(&["exec", "go"]);
    assert_eq!(told.code, Some(3));
    assert_eq!(
        story.server.wait_for(""),
        json!({"id": 0, "result": {"decision": "decline"}})
    );
    let expected = "\
$ curl x
? run this command?
  $ curl x
  in /w
  because: needs the network
  declined: nobody is there to ask (use --yes or --approval never)
  declined
";
    assert!(told.stderr.starts_with(expected), "{}", told.stderr);
}

#[test]
fn yes_accepts_and_shows_the_patch_it_accepts() {
    let story = Story::new(|heard, peer| {
        if is_turn_start(heard) {
            peer.begin(patch("p1", "inProgress"));
            peer.ask_patch(4, "p1");
        } else {
            peer.end(patch("p1", "completed"));
            peer.finish("completed");
        }
    });
    let told = story.run(&["exec", "--yes", "go"]);
    assert_eq!(told.code, Some(0));
    assert_eq!(
        story.server.wait_for(""),
        json!({"id": 4, "result": {"decision": "accept"}})
    );
    assert_eq!(told.stderr.matches("+two").count(), 1, "shown once: {}", told.stderr);
    assert!(
        told.stderr
            .contains("? apply this patch?\n  allow? y (--yes)\n  applied\n"),
        "{}",
        told.stderr
    );
}

#[test]
fn long_output_is_capped_unless_all_is_wanted() {
    let tell = |_: &Value, peer: &mut story::Peer| {
        peer.begin(command("c1", "seq 100", "inProgress", json!(null), json!(null)));
        for n in 1..=100 {
            peer.output("c1", &format!("{n}\n"));
        }
        peer.end(command("c1", "seq 100", "completed", json!(null), json!(0)));
        peer.finish("completed");
    };
    let capped = Story::new(tell).run(&["exec", "go"]);
    assert!(
        capped
            .stderr
            .contains("  12\n  … 84 more lines\n  97\n  98\n  99\n  100\n  exit 0"),
        "{}",
        capped.stderr
    );
    let all = Story::new(tell).run(&["exec", "--verbose", "go"]);
    assert!(
        all.stderr.contains("  50\n  51\n") && !all.stderr.contains("more lines"),
        "{}",
        all.stderr
    );
}

#[test]
fn exit_codes_tell_what_happened() {
    for (status, code) in [("completed", 0), ("failed", 1), ("interrupted", 1)] {
        let told = Story::new(move |_, peer| peer.finish(status)).run(&["exec", "go"]);
        assert_eq!(told.code, Some(code), "{status}: {}", told.stderr);
        assert_eq!(
            told.stderr.contains("error: the model is on strike"),
            status == "failed"
        );
    }
    let story = Story::new(|_, peer| peer.finish("completed"));
    for args in [
        &["exec"][..],
        &["exec", "-c", "novalue", "go"],
        &["exec", " "],
        &["resume", "--last"],
        &["exec", "--bad"],
    ] {
        assert_eq!(story.run(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn a_daemon_that_dies_is_reported_with_the_way_back() {
    let told = Story::new(|_, peer| peer.close()).run(&["exec", "go"]);
    assert_eq!(told.code, Some(1));
    assert!(
        told.stderr.contains(&format!("agentctl resume {THREAD}")),
        "{}",
        told.stderr
    );
}

#[test]
fn without_any_provider_one_line_says_what_to_do() {
    let account = json!({"account": null, "userId": null, "requiresOpenaiAuth": true, "workspaceRouting": null});
    let told = Story::with_account(account, |_, _| {}).run(&["exec", "go"]);
    assert_eq!(told.code, Some(1));
    assert_eq!(told.stderr.lines().count(), 1, "{}", told.stderr);
    assert!(
        told.stderr.contains("OPENAI_API_KEY") && told.stderr.contains("--rehearsal"),
        "{}",
        told.stderr
    );
}

#[test]
fn rehearsal_asks_for_its_provider_and_is_honest_about_it() {
    let account = json!({"account": null, "userId": null, "requiresOpenaiAuth": true, "workspaceRouting": null});
    let story = Story::with_account(account, |_, peer| peer.finish("completed"));
    let told = story.run(&["exec", "--rehearsal", "rehearsal: tour"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let start = story.server.wait_for("thread/start");
    assert_eq!(
        (&start["params"]["modelProvider"], &start["params"]["model"]),
        (&json!("rehearsal"), &json!("rehearsal"))
    );
    assert_eq!(told.stderr.matches("not a language model").count(), 1);
}

#[test]
fn resume_finds_a_thread_by_the_beginning_of_its_id_and_reads_stdin() {
    let story = Story::new(|_, peer| peer.finish("completed"));
    let mut child = story
        .command(&["resume", "019c", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("spawn");
    child
        .stdin
        .take()
        .expect("stdin")
        .write_all(b"from a pipe")
        .expect("write");
    let told = Told::from(child.wait_with_output().expect("wait"));
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_eq!(story.server.wait_for("thread/resume")["params"]["threadId"], THREAD);
    assert_eq!(
        story.server.wait_for("turn/start")["params"]["input"][0]["text"],
        "from a pipe"
    );
    let unknown = story.run(&["resume", "ffff", "go"]);
    assert_eq!(unknown.code, Some(1));
    assert!(
        unknown
            .stderr
            .contains("no thread has an id that begins or ends with `ffff`"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn ctrl_c_stops_the_turn_first() {
    let story = Story::new(|heard, peer| {
        if heard["method"] == "turn/interrupt" {
            peer.reply(heard, json!({}));
            peer.finish("interrupted");
        }
    });
    let child = story.command(&["exec", "go"]).spawn().expect("spawn");
    story.server.wait_for("turn/start");
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("pid")).expect("pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("signal");
    let began = Instant::now();
    let told = Told::from(child.wait_with_output().expect("wait"));
    assert_eq!(told.code, Some(130), "{}", told.stderr);
    assert!(began.elapsed() < Duration::from_secs(5));
    let interrupt = story.server.wait_for("turn/interrupt");
    assert_eq!(interrupt["params"], json!({"threadId": THREAD, "turnId": TURN}));
    assert!(told.stderr.contains("stopping the turn"), "{}", told.stderr);
}
