//! The client against a scripted server: late replies, floods, closed sockets, error mapping, starting what does not start.

#![allow(clippy::expect_used, clippy::panic)]

mod fake;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use agentd_client::{
    Client, ClientError, ClientName, Event, Home, LiveThread, RequestId, ThreadOverrides, start_daemon,
};
use agentd_protocol::approval::ApprovalDecision;
use fake::{FakeServer, Peer};
use serde_json::{Value, json};

const NAME: ClientName<'_> = ClientName {
    name: "test",
    version: "0",
};
const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(20);

fn connected(script: impl FnMut(&Value, &mut Peer) + Send + 'static) -> (tempfile::TempDir, FakeServer, Client) {
    let dir = tempfile::tempdir().expect("tempdir");
    let home = Home::at(dir.path()).expect("home");
    let server = FakeServer::start(&home.socket(), script);
    let client = Client::connect(&home, NAME).expect("connect");
    (dir, server, client)
}

#[test]
fn handshake_tells_who_answers() {
    let (_dir, _server, client) = connected(|_, _| {});
    assert!(client.user_agent().ends_with("agentd/0.1.0"));
}

#[test]
fn a_late_reply_is_dropped_and_does_not_answer_the_next_call() {
    let mut late = None;
    let (_dir, _server, client) = connected(move |message, peer| match late.take() {
        None => late = Some(message.clone()),
        Some(first) => {
            peer.reply(&first, json!({"which": 1}));
            peer.reply(message, json!({"which": 2}));
        }
    });
    let first = client.call::<_, Value>("slow", &json!({}), Duration::from_millis(30));
    assert!(
        matches!(first, Err(ClientError::Timeout { ref method, .. }) if method == "slow"),
        "{first:?}"
    );
    let second: Value = client.call("quick", &json!({}), LONG).expect("second call");
    assert_eq!(second["which"], 2);
}

#[test]
fn a_reply_behind_a_flood_arrives_and_no_event_is_lost() {
    const FLOOD: u64 = 20_000;
    let (_dir, _server, client) = connected(|message, peer| {
        let mut text = String::new();
        for n in 0..FLOOD {
            text.push_str(&format!("{}\n", json!({"method": "x/n", "params": {"n": n}})));
        }
        peer.send_raw(&text);
        peer.reply(message, json!({"ok": true}));
    });
    let answer: Value = client
        .call("go", &json!({}), LONG)
        .expect("the reply is behind the flood");
    assert_eq!(answer["ok"], true);
    for n in 0..FLOOD {
        let Some(Event::Notification(event)) = client.next_event(LONG) else {
            panic!("event {n} is missing")
        };
        assert!(
            event.raw.contains(&format!("\"n\":{n}}}")),
            "out of order at {n}: {}",
            event.raw
        );
    }
}

#[test]
fn without_an_open_call_a_flood_waits_in_the_socket() {
    // More than the inbox and the socket buffer hold together: the server blocks until events are taken.
    const FLOOD: usize = 40_000;
    let (_dir, server, client) = connected(|_, peer| {
        for _ in 0..FLOOD {
            peer.send_raw(
                "{\"method\":\"x/y\",\"params\":{\"pad\":\"................................................\"}}\n",
            );
        }
        peer.close();
    });
    client.refuse(&RequestId::Number(0), "start").expect("send");
    server.wait_for("");
    std::thread::sleep(Duration::from_millis(100));
    let mut taken = 0;
    while let Some(Event::Notification(_)) = client.next_event(LONG) {
        taken += 1;
    }
    assert_eq!(taken, FLOOD);
}

#[test]
fn a_closed_socket_wakes_the_caller_and_ends_the_events() {
    let (_dir, _server, client) = connected(|_, peer| {
        peer.notify("last/words", json!({}));
        peer.close();
    });
    let before = Instant::now();
    let answer = client.call::<_, Value>("any", &json!({}), LONG);
    assert!(matches!(answer, Err(ClientError::Closed { .. })), "{answer:?}");
    assert!(
        before.elapsed() < LONG / 2,
        "it waited for the limit instead of the end"
    );
    assert!(matches!(client.next_event(SECOND), Some(Event::Notification(_))));
    assert!(matches!(client.next_event(SECOND), Some(Event::Closed { .. })));
    assert!(client.next_event(SECOND).is_none());
    assert!(matches!(
        client.call::<_, Value>("more", &json!({}), LONG),
        Err(ClientError::Closed { .. })
    ));
}

#[test]
fn errors_keep_code_message_and_kind() {
    let (_dir, _server, client) = connected(|message, peer| match message["method"].as_str() {
        Some("thread/read") => peer.fail(message, -32600, "thread not loaded: x"),
        _ => peer.reply(message, json!({"thread": 5})),
    });
    match client.thread_read("x", false) {
        Err(ClientError::Rpc {
            method,
            code,
            message,
            kind,
        }) => {
            assert_eq!(
                (method.as_str(), code, message.as_str()),
                ("thread/read", -32600, "thread not loaded: x")
            );
            assert_eq!(kind.as_deref(), Some("state"));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        client.thread_resume("x", &Default::default()),
        Err(ClientError::Decode { .. })
    ));
}

#[test]
fn noise_is_ignored_and_approvals_are_answered_by_their_id() {
    let (_dir, server, client) = connected(|message, peer| {
        if message["method"] == "go" {
            peer.send_raw("not json\n{}\n[1,2]\n{\"id\":999,\"result\":{}}\n");
            peer.send(
                &json!({"id": 7, "method": "item/fileChange/requestApproval", "params": {
                "threadId": "t", "turnId": "u", "itemId": "i", "startedAtMs": 1, "reason": null, "grantRoot": null}}),
            );
            peer.reply(message, json!({}));
        }
    });
    let _: Value = client.call("go", &json!({}), LONG).expect("go");
    let Some(Event::Request(ask)) = client.next_event(SECOND) else {
        panic!("no request")
    };
    assert!(ask.known.is_some());
    client
        .answer(&ask.id, ApprovalDecision::AcceptForSession)
        .expect("answer");
    assert_eq!(
        server.wait_for(""),
        json!({"id": 7, "result": {"decision": "acceptForSession"}})
    );
}

#[test]
fn nobody_listening_is_its_own_error() {
    let dir = tempfile::tempdir().expect("tempdir");
    let home = Home::at(dir.path()).expect("home");
    assert!(matches!(
        Client::connect(&home, NAME),
        Err(ClientError::NotRunning { .. })
    ));
    drop(std::os::unix::net::UnixListener::bind(home.socket()).expect("bind"));
    assert!(
        matches!(Client::connect(&home, NAME), Err(ClientError::NotRunning { .. })),
        "a socket file left behind"
    );
}

#[test]
fn a_daemon_that_dies_at_once_is_quoted() {
    let dir = tempfile::tempdir().expect("tempdir");
    let home = Home::at(dir.path().join("home")).expect("home");
    let binary = dir.path().join("agentd");
    fs::write(
        &binary,
        "#!/bin/sh\necho \"args: $*\" >&2\necho 'the disk is full of bees' >&2\nexit 3\n",
    )
    .expect("write");
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).expect("chmod");
    let Err(error) = start_daemon(&home, &binary, NAME) else {
        panic!("it started")
    };
    let text = error.to_string();
    assert!(text.contains("exit status: 3"), "{text}");
    assert!(text.contains("args: app-server --listen unix://"), "{text}");
    assert!(text.contains("bees"), "{text}");
}

#[test]
fn a_live_thread_follows_what_it_is_told() {
    let thread = |turns: Value| {
        json!({"id": "t", "environments": null, "extra": null, "sessionId": "t", "forkedFromId": null,
            "attachedToThreadId": null, "parentThreadId": null, "preview": "", "ephemeral": false, "section": null,
            "sectionEnteredAt": null, "projectId": null, "historyMode": "paginated", "modelProvider": "p", "model": "m",
            "reasoningEffort": null, "createdAt": 1, "updatedAt": 1, "recencyAt": 1, "status": {"type": "idle"},
            "path": null, "cwd": "/w", "cliVersion": "0", "originator": "test", "source": "vscode",
            "canAcceptDirectInput": true, "threadSource": null, "agentNickname": null, "agentRole": null,
            "gitInfo": null, "name": null, "daybreakEnabled": null, "turns": turns})
    };
    let turn = json!({"id": "u", "rootTurnId": "u", "items": [], "itemsView": "notLoaded", "status": "inProgress",
        "error": null, "startedAt": 1, "completedAt": null, "durationMs": null});
    let (_dir, server, client) = connected(move |heard, peer| match heard["method"].as_str() {
        Some("thread/start") => peer.reply(
            heard,
            json!({"thread": thread(json!([])), "model": "m", "modelProvider": "p", "serviceTier": null,
                "disabledPluginIds": [], "cwd": "/w", "runtimeWorkspaceRoots": [], "instructionSources": [],
                "approvalPolicy": "never", "approvalsReviewer": "user",
                "sandbox": {"type": "readOnly", "networkAccess": false}, "activePermissionProfile": null,
                "reasoningEffort": null, "multiAgentMode": "off"}),
        ),
        Some("turn/start") => {
            peer.reply(heard, json!({"turn": turn}));
            peer.notify("turn/started", json!({"threadId": "t", "turn": turn}));
        }
        _ => peer.reply(heard, json!({})),
    });
    let mut live = LiveThread::start(&client, &ThreadOverrides::default()).expect("start");
    live.interrupt().expect("nothing to interrupt");
    live.turn_start("hello").expect("turn");
    assert!(live.next_event(LONG).is_some());
    assert_eq!(live.view().active_turn().map(|turn| turn.id.as_str()), Some("u"));
    live.interrupt().expect("interrupt");
    assert_eq!(
        server.wait_for("turn/interrupt")["params"],
        json!({"threadId": "t", "turnId": "u"})
    );
}
