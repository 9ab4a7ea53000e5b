//! The built binary as clients start it: argument forms, ways to reach it, what it refuses to do.

// Tests may panic; the lint knows that of functions marked `#[test]` only.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Nothing here takes longer on a working daemon, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(20);
const INITIALIZE: &str = r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"probe","version":"1"}}}"#;

fn agentd(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentd"));
    command
        .args(args)
        .env("AGENTD_HOME", home)
        .env_remove("RUST_LOG")
        .env_remove("AGENTD_LOG")
        .stderr(Stdio::piped());
    command
}

fn output(home: &Path, args: &[&str]) -> Output {
    agentd(home, args).stdin(Stdio::null()).output().unwrap()
}

/// A home in a fresh folder. It has to be 0700 already, or the daemon warns that it narrows it.
fn new_home() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A process that is spoken to over its standard input and output; killed if a test leaves it behind.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Client {
    fn start(home: &Path, args: &[&str]) -> Self {
        let mut child = agentd(home, args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Closes standard input; the exit code and standard error.
    fn leave(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let code = wait(&mut self.child);
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (code, errors)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Does nothing to a process that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait(child: &mut Child) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < LIMIT {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the process does not end");
}

#[test]
fn every_argument_form_of_known_clients_serves_stdio() {
    for args in [
        &[][..],
        &["app-server"],
        &["app-server", "--stdio"],
        &["app-server", "--listen", "stdio://"],
        &["--config", "model=\"m\"", "app-server", "-c", "model_verbosity=low"],
        &["-c", "features.x=true", "app-server", "--listen", "stdio://"],
    ] {
        let home = new_home();
        let mut client = Client::start(home.path(), args);
        client.send(INITIALIZE);
        let agent = client.receive()["result"]["userAgent"].to_string();
        assert!(agent.contains("probe/0.171.0 ("), "{args:?}: {agent}");
        let (code, errors) = client.leave();
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn options_of_the_command_line_reach_the_configuration() {
    let home = new_home();
    std::fs::write(
        home.path().join("config.toml"),
        "model = \"file\"\n[profiles.p]\nmodel_verbosity = \"high\"\n",
    )
    .unwrap();
    let mut client = Client::start(home.path(), &["-c", "model=option", "app-server", "--profile", "p"]);
    client.send(INITIALIZE);
    client.receive();
    client.send(r#"{"id":2,"method":"config/read"}"#);
    let config = client.receive()["result"]["config"].clone();
    assert_eq!(
        (&config["model"], &config["model_verbosity"]),
        (&json!("option"), &json!("high"))
    );
}

#[test]
fn what_it_cannot_start_with_is_one_error_and_exit_code_1() {
    for (args, expected) in [
        (
            &["-c", "approval_policy=bogus"][..],
            "-c approval_policy=bogus: `approval_policy`: expected one of",
        ),
        (
            &["app-server", "--profile", "none"],
            "--profile: `profile`: expected the name of a table",
        ),
        (
            &["app-server", "--listen", "ws://0.0.0.0:0"],
            "can be reached from other machines",
        ),
        (&["app-server", "proxy"], "connect to "),
    ] {
        let home = new_home();
        let done = output(home.path(), args);
        let errors = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{args:?}: {errors}");
        assert!(
            errors.starts_with("agentd: ") && errors.contains(expected),
            "{args:?}: {errors}"
        );
        assert!(done.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn a_second_listener_names_the_first() {
    let home = new_home();
    let mut first = Client::start(home.path(), &[]);
    first.send(INITIALIZE);
    first.receive();
    let done = output(home.path(), &["app-server", "--listen", "unix://"]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{errors}");
    for part in [format!("pid={} ", first.child.id()), " since=".into(), "socket=".into()] {
        assert!(errors.contains(&part), "{errors:?} lacks {part:?}");
    }
}

#[test]
fn the_proxy_and_a_second_stdio_client_reach_the_server_under_any_path() {
    let root = tempfile::tempdir().unwrap();
    // Longer than the kernel's socket address.
    let long = root.path().join("x".repeat(60)).join("y".repeat(60));
    for home in [root.path().join("short"), long] {
        let mut first = Client::start(&home, &[]);
        first.send(INITIALIZE);
        first.receive();
        for args in [&["app-server"][..], &["app-server", "proxy"]] {
            let mut other = Client::start(&home, args);
            other.send(INITIALIZE);
            assert_eq!(other.receive()["result"]["codexHome"], json!(home), "{args:?}");
            let (code, errors) = other.leave();
            assert_eq!((code, errors.as_str()), (Some(0), ""), "{args:?}");
        }
        assert_eq!(first.leave().0, Some(0));
        assert!(
            std::fs::symlink_metadata(home.join("agentd.sock")).is_err(),
            "the socket goes with its server"
        );
    }
}

#[test]
fn a_message_above_the_limit_costs_one_error_and_not_the_connection() {
    let home = new_home();
    let mut client = Client::start(home.path(), &[]);
    client.send(INITIALIZE);
    client.receive();
    let huge = format!(
        r#"{{"id":2,"method":"model/list","params":{{"cursor":"{}"}}}}"#,
        "x".repeat(64 * 1024 * 1024)
    );
    client.send(&huge);
    client.send(r#"{"id":3,"method":"model/list"}"#);
    let refused = client.receive();
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&Value::Null, &json!(-32600)),
        "{refused}"
    );
    assert!(
        refused["error"]["message"].to_string().contains("message too large"),
        "{refused}"
    );
    assert_eq!(client.receive()["id"], 3);
}

#[test]
fn tcp_takes_websockets_with_the_token_and_from_no_web_page() {
    let home = new_home();
    let args = ["app-server", "--listen", "ws://127.0.0.1:0", "--ws-token", "secret"];
    let mut server = Client::start(home.path(), &args);
    let mut line = String::new();
    BufReader::new(server.child.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line.trim().rsplit("ws://").next().unwrap().to_owned();
    let token = "Authorization: Bearer secret\r\n";
    for (headers, status) in [
        (token.to_owned(), "101"),
        (format!("{token}Origin: http://{address}\r\n"), "101"),
        (format!("{token}Origin: https://example.com\r\n"), "403"),
        (String::new(), "401"),
    ] {
        let answer = upgrade(&address, &headers);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{headers:?}: {answer}"
        );
        let told = answer
            .to_lowercase()
            .contains("x-codex-websocket-max-unfragmented-message-bytes: 16777216");
        assert_eq!(told, status == "101", "{answer}");
    }
}

/// The head of the answer to an upgrade request.
fn upgrade(address: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let request = format!(
        "GET /rpc HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream)
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .fold(String::new(), |head, line| head + &line + "\n")
}

#[test]
fn the_version_and_the_schema_come_without_a_home() {
    let nowhere = PathBuf::from("/nonexistent/home");
    let version = text(&output(&nowhere, &["--version"]).stdout);
    assert!(
        version.starts_with("agentd ") && version.contains("0.171.0"),
        "{version}"
    );
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().to_str().unwrap();
    assert!(
        output(&nowhere, &["app-server", "generate-json-schema", "--out", dir])
            .status
            .success()
    );
    assert!(
        output(&nowhere, &["app-server", "generate-ts", "--out", dir])
            .status
            .success()
    );
    let bundle = std::fs::read_to_string(out.path().join("agentd.schemas.json")).unwrap();
    let bundle: serde_json::Map<String, Value> = serde_json::from_str(&bundle).unwrap();
    for (name, schema) in &bundle {
        let single = std::fs::read_to_string(out.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(&serde_json::from_str::<Value>(&single).unwrap(), schema, "{name}");
    }
    assert!(bundle.len() > 10, "the schema is not empty");
    assert!(
        std::fs::read_to_string(out.path().join("index.ts"))
            .unwrap()
            .contains("ThreadStartParams")
    );
}
