//! `turn/start` with patches: items, diffs, all-or-nothing, P02, P04.

use agentd_tests::daemon::Home;
use agentd_tests::model::{self, MockModel};
use serde_json::json;

fn output(model: &MockModel) -> String {
    model.requests()[1].input().pop().unwrap()["output"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_patch_changes_files_and_shows_its_diff() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: new/b.txt\n+hello\n+world\n*** Delete File: gone.txt\n*** Update File: old.txt\n*** Move to: moved/new.txt\n@@\n-x\n+y\n*** End Patch\n";
    let model = MockModel::replies(vec![model::patch("p1", patch), model::message("m", "done")]);
    let home = Home::new(&model);
    let ws = home.workspace();
    for (name, text) in [("a.txt", "one\n"), ("gone.txt", "bye\n"), ("old.txt", "x\n")] {
        std::fs::write(ws.join(name), text).unwrap();
    }
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    let run = client.run_turn(&thread, "go");
    let item = run.completed("fileChange")[0];
    assert_eq!(
        (item["id"].as_str(), item["status"].as_str()),
        (Some("p1"), Some("completed")),
        "{}",
        output(&model)
    );
    let changes = item["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 4);
    let change = |name: &str| {
        changes
            .iter()
            .find(|c| c["path"] == json!(ws.join(name)))
            .unwrap()
            .clone()
    };
    assert_eq!(
        change("a.txt"),
        json!({"path": ws.join("a.txt"), "kind": {"type": "update", "move_path": null}, "diff": "@@ -1 +1 @@\n-one\n+two\n"})
    );
    assert_eq!(
        change("new/b.txt"),
        json!({"path": ws.join("new/b.txt"), "kind": {"type": "add"}, "diff": "hello\nworld\n"})
    );
    assert_eq!(change("old.txt")["kind"]["move_path"], json!(ws.join("moved/new.txt")));
    let read = |name: &str| std::fs::read_to_string(ws.join(name)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("two\n"));
    assert_eq!(read("new/b.txt").as_deref(), Some("hello\nworld\n"));
    assert_eq!(
        (read("gone.txt"), read("old.txt"), read("moved/new.txt").as_deref()),
        (None, None, Some("y\n"))
    );
    let diffs = run.of("turn/diff/updated");
    assert_eq!(diffs.len(), 1, "once per change");
    let diff = diffs[0]["diff"].as_str().unwrap();
    assert!(diff.starts_with("diff --git a/a.txt b/a.txt\nindex 5626abf0f72e58d7a153368ba57db4c673c0e171..f719efd430d52bcfc8566a43b2eb655688d38871"), "{diff}");
    assert!(
        output(&model).contains("Success. Updated the following files:"),
        "{}",
        output(&model)
    );
    client.finish();
}

#[test]
fn bytes_outside_the_hunk_never_change() {
    let cases: [(&[u8], &str, &[u8]); 5] = [
        (b"a\nb\nc", "@@\n a\n-b\n+B\n c\n", b"a\nB\nc"),
        (b"a\nb\nc", "@@\n b\n-c\n+C\n", b"a\nb\nC"),
        (b"a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n c\n", b"a\r\nB\r\nc\r\n"),
        (b"\xef\xbb\xbfa\nb\n", "@@\n-b\n+B\n", b"\xef\xbb\xbfa\nB\n"),
        (b"caf\xe9\nb\n", "@@\n-b\n+B\n", b"caf\xe9\nB\n"),
    ];
    for (before, hunk, after) in cases {
        let patch = format!("*** Begin Patch\n*** Update File: f.txt\n{hunk}*** End Patch\n");
        let model = MockModel::replies(vec![model::patch("p1", &patch), model::message("m", "done")]);
        let home = Home::new(&model);
        std::fs::write(home.workspace().join("f.txt"), before).unwrap();
        let mut client = home.session();
        let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
        client.run_turn(&thread, "go");
        assert_eq!(
            std::fs::read(home.workspace().join("f.txt")).unwrap(),
            after,
            "{hunk}: {}",
            output(&model)
        );
        client.finish();
    }
}

#[test]
fn an_added_file_never_replaces_one() {
    let patch = "*** Begin Patch\n*** Add File: sub/ok.txt\n+fine\n*** Add File: f.txt\n+new\n*** End Patch\n";
    for kind in ["file", "live symlink", "dangling symlink", "folder"] {
        let model = MockModel::replies(vec![model::patch("p1", patch), model::message("m", "done")]);
        let home = Home::new(&model);
        let (ws, target) = (home.workspace(), home.workspace().join("target"));
        match kind {
            "file" => std::fs::write(ws.join("f.txt"), "old\n").unwrap(),
            "folder" => std::fs::create_dir(ws.join("f.txt")).unwrap(),
            _ => std::os::unix::fs::symlink(&target, ws.join("f.txt")).unwrap(),
        }
        if kind == "live symlink" {
            std::fs::write(&target, "old\n").unwrap();
        }
        let mut client = home.session();
        let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
        client.run_turn(&thread, "go");
        assert!(output(&model).contains("f.txt"), "{kind}: {}", output(&model));
        assert!(!output(&model).contains("Success"), "{kind}");
        assert!(!ws.join("sub").exists(), "{kind}: all or nothing");
        match kind {
            "file" => assert_eq!(std::fs::read_to_string(ws.join("f.txt")).unwrap(), "old\n"),
            "live symlink" => assert_eq!(std::fs::read_to_string(&target).unwrap(), "old\n"),
            "dangling symlink" => assert!(!target.exists()),
            _ => assert!(ws.join("f.txt").is_dir()),
        }
        client.finish();
    }
}

#[test]
fn a_patch_that_leaves_the_workspace_needs_an_approval() {
    for (policy, decision, applied) in [
        ("on-request", "accept", true),
        ("on-request", "decline", false),
        ("never", "", false),
    ] {
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
                model::patch(
                    "p1",
                    &format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"),
                )
            } else {
                model::message("m", "done")
            }
        });
        let home = Home::new(&model);
        let mut client = home.session();
        let asked = std::rc::Rc::new(std::cell::Cell::new(0));
        let count = asked.clone();
        client.approve = Box::new(move |request| {
            assert_eq!(request["method"], "item/fileChange/requestApproval");
            count.set(count.get() + 1);
            Some(json!({"decision": decision}))
        });
        let thread = client.start_thread(json!({"sandbox": "workspace-write", "approvalPolicy": policy}));
        let path = home.outside("f.txt");
        let run = client.run_turn(&thread, &path.display().to_string());
        assert_eq!(path.exists(), applied, "{policy} {decision}");
        assert_eq!(asked.get(), i32::from(policy == "on-request"));
        if decision == "decline" {
            assert_eq!(run.completed("fileChange")[0]["status"], "declined");
        }
        client.finish();
    }
}

#[test]
fn a_patch_that_does_not_fit_says_what_was_expected() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-nowhere\n+x\n*** End Patch\n";
    let model = MockModel::replies(vec![model::patch("p1", patch), model::message("m", "done")]);
    let home = Home::new(&model);
    std::fs::write(home.workspace().join("a.txt"), "one\n").unwrap();
    let mut client = home.session();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    client.run_turn(&thread, "go");
    let text = output(&model);
    assert!(text.contains("a.txt") && text.contains("nowhere"), "{text}");
    client.finish();
}

/// Between the question and the answer somebody puts a symlink where the patch was to write: what was not shown is not done.
#[test]
fn what_is_applied_is_what_was_shown() {
    let patch = "*** Begin Patch\n*** Update File: docs/f.txt\n@@\n-b\n+B\n*** End Patch\n";
    for change in ["link", "content"] {
        let model = MockModel::replies(vec![model::patch("p1", patch), model::message("m", "done")]);
        let home = Home::new(&model);
        let (docs, other) = (home.workspace().join("docs"), home.outside("other"));
        for dir in [&docs, &other] {
            std::fs::create_dir(dir).unwrap();
            std::fs::write(dir.join("f.txt"), "a\nb\n").unwrap();
        }
        let mut client = home.session();
        let (docs_then, other_then) = (docs.clone(), other.clone());
        client.approve = Box::new(move |_| {
            match change {
                "link" => {
                    std::fs::rename(&docs_then, docs_then.with_extension("gone")).unwrap();
                    std::os::unix::fs::symlink(&other_then, &docs_then).unwrap();
                }
                _ => std::fs::write(docs_then.join("f.txt"), "danger\nb\n").unwrap(),
            }
            Some(json!({"decision": "acceptForSession"}))
        });
        let thread = client.start_thread(json!({"sandbox": "workspace-write", "approvalPolicy": "untrusted"}));
        let run = client.run_turn(&thread, "go");
        assert_eq!(run.completed("fileChange")[0]["status"], "failed", "{change}");
        assert!(output(&model).contains("changed after"), "{}", output(&model));
        assert_eq!(
            std::fs::read_to_string(other.join("f.txt")).unwrap(),
            "a\nb\n",
            "{change}"
        );
        client.finish();
    }
}
