//! `initialize`: the handshake and what is refused before it and after it.

use agentd_tests::daemon::Home;
use agentd_tests::model::MockModel;
use serde_json::json;

#[test]
fn says_who_it_is_in_the_words_that_clients_parse() {
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut client = home.session();
    let error = client.refused(
        "initialize",
        json!({"clientInfo": {"name": "x", "title": null, "version": "1"}}),
    );
    assert_eq!(
        (error["code"].as_i64(), error["message"].as_str()),
        (Some(-32600), Some("Already initialized"))
    );
    client.finish();
}

#[test]
fn nothing_is_served_before_the_handshake() {
    use std::io::{BufRead, BufReader, Write};
    let model = MockModel::replies(vec![]);
    let home = Home::new(&model);
    let mut daemon = home.spawn();
    let (mut input, mut output) = (
        daemon.child.stdin.take().unwrap(),
        BufReader::new(daemon.child.stdout.take().unwrap()),
    );
    let mut ask = |line: &str| {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()
    };
    let refused = ask(r#"{"id":1,"method":"thread/list","params":{}}"#);
    assert_eq!(refused["error"]["message"], "Not initialized");
    assert_eq!(refused["error"]["code"], -32600);
    let missing = ask(r#"{"id":2,"method":"initialize","params":{}}"#);
    assert_eq!(
        missing["error"]["message"],
        "Invalid request: missing field `clientInfo`"
    );
    let good = ask(
        r#"{"jsonrpc":"2.0","id":"i-1","method":"initialize","params":{"clientInfo":{"name":"probe","title":null,"version":"1"},"protocolVersion":3}}"#,
    );
    assert_eq!(good["id"], "i-1");
    let agent = good["result"]["userAgent"].as_str().unwrap();
    assert!(
        agent.starts_with("probe/0.171.0 (") && agent.contains("agentd/"),
        "{agent}"
    );
    assert_eq!(good["result"]["platformFamily"], "unix");
    assert_eq!(
        good["result"]["codexHome"],
        home.path().canonicalize().unwrap().display().to_string()
    );
    let listed = ask(r#"{"id":3,"method":"thread/list"}"#);
    assert!(
        listed["result"]["data"].is_array(),
        "served before `initialized`, and without params: {listed}"
    );
}
