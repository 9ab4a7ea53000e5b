//! How the process comes and goes: end of input, signals, one server per home, what it leaves on disk.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use agentd_tests::daemon::{Daemon, Home, eventually, is_alive, read_when_there};
use agentd_tests::model::{self, MockModel, Step};
use agentd_tests::session::Session;
use serde_json::{Value, json};

const QUICK: Duration = Duration::from_secs(1);

fn echo() -> MockModel {
    MockModel::start(|n, _| model::message(&format!("m{n}"), "ok"))
}

#[test]
fn the_end_of_input_ends_an_idle_process() {
    let model = echo();
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "hello");
    let begin = Instant::now();
    client.finish();
    assert!(begin.elapsed() < QUICK, "{:?}", begin.elapsed());
    assert!(!home.path().join("agentd.sock").exists(), "its socket is gone with it");
    // Also before any handshake, and with nothing but an end.
    let mut daemon = home.spawn();
    drop(daemon.child.stdin.take());
    assert!(daemon.wait(QUICK).success());
}

#[test]
fn sigterm_ends_an_idle_process() {
    let model = echo();
    let home = Home::new(&model);
    let mut daemon = home.listen();
    let mut client = home.connect();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "hello");
    daemon.terminate();
    assert!(daemon.wait(QUICK).success());
    assert!(!home.path().join("agentd.sock").exists(), "its socket is gone with it");
    let left = client.until_closed();
    assert!(left.events.is_empty(), "{:?}", left.events);
    let mut client = home.session();
    let process = client.daemon.take().unwrap();
    process.terminate();
    let mut process = process;
    assert!(process.wait(QUICK).success());
    client.abandon();
}

#[test]
fn sigterm_lets_a_short_turn_finish() {
    let mut steps = model::message_steps("m", &["before ", "after"], Duration::ZERO);
    steps.insert(2, Step::Gate("go"));
    let model = MockModel::replies(vec![model::stream(steps)]);
    let home = Home::with_config(&model, "shutdown_grace_s = 10\n");
    let mut daemon = home.listen();
    let mut client = home.connect();
    let thread = client.start_thread(json!({}));
    let turn = client.start_turn(&thread, "go");
    client.until("item/agentMessage/delta", |_| true);
    daemon.terminate();
    std::thread::sleep(Duration::from_millis(100));
    model.open("go");
    let run = client.finish_turn(&turn);
    assert_eq!((run.status(), run.answer()), ("completed", "before after"));
    assert!(daemon.wait(QUICK).success());
    client.until_closed();
}

#[test]
fn sigterm_interrupts_a_long_turn_after_its_grace() {
    for (grace, signals) in [(1, 1), (60, 2)] {
        let model = MockModel::replies(vec![model::exec("c1", "echo $$ > pid; echo begun; sleep 300")]);
        let home = Home::with_config(&model, &format!("shutdown_grace_s = {grace}\n"));
        let mut daemon = home.listen();
        let mut client = home.connect();
        let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
        let turn = client.start_turn(&thread, "go");
        let pid = read_when_there(&home.workspace().join("pid")).trim().parse().unwrap();
        let begin = Instant::now();
        daemon.terminate();
        if signals == 2 {
            std::thread::sleep(Duration::from_millis(200));
            daemon.terminate();
        }
        let run = client.finish_turn(&turn);
        assert_eq!(run.status(), "interrupted", "grace {grace}");
        assert_eq!(run.completed("commandExecution").len(), 1, "its item is completed");
        assert!(daemon.wait(Duration::from_secs(3)).success());
        assert!(
            begin.elapsed() < Duration::from_secs(5),
            "grace {grace}: {:?}",
            begin.elapsed()
        );
        assert!(!is_alive(pid), "its command is gone");
        client.until_closed();
        let mut client = home.session();
        assert_eq!(client.read(&thread)["turns"][0]["status"], "interrupted");
        client.finish();
    }
}

#[test]
fn of_twenty_starts_one_serves() {
    let model = echo();
    let home = Home::new(&model);
    let mut started: Vec<Daemon> = (0..20)
        .map(|_| {
            let mut command = home.command("agentd");
            command
                .args(["--listen", "unix://"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            Daemon {
                child: command.spawn().unwrap(),
            }
        })
        .collect();
    let begin = Instant::now();
    let runs = |daemon: &mut Daemon| daemon.child.try_wait().unwrap().is_none();
    eventually("nineteen have given up", Duration::from_secs(10), || {
        started.iter_mut().map(runs).filter(|runs| *runs).count() <= 1
    });
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    let at = started.iter_mut().position(runs).expect("one serves");
    let server = started.remove(at);
    for mut other in started {
        assert!(!other.child.wait().unwrap().success());
        let mut words = String::new();
        other.child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        assert!(
            words.contains(&format!("pid={}", server.pid())) && !words.contains("panicked"),
            "{words}"
        );
    }
    eventually("it can be reached", Duration::from_secs(5), || {
        UnixStream::connect(home.socket()).is_ok()
    });
    let mut client = home.connect();
    let thread = client.start_thread(json!({}));
    assert_eq!(client.run_turn(&thread, "hello").answer(), "ok");
    // One more, alone: it is told at once.
    let begin = Instant::now();
    let mut late = home.spawn_listening();
    assert!(!late.wait(Duration::from_secs(2)).success());
    assert!(begin.elapsed() < Duration::from_secs(2));
    client.finish();
}

/// Twenty editors open at once: all are served, by one of them.
#[test]
fn twenty_clients_on_stdio_share_one_server() {
    let model = echo();
    let home = Home::new(&model);
    let mut clients: Vec<Session> = std::thread::scope(|_| {
        let daemons: Vec<Daemon> = (0..20).map(|_| home.spawn()).collect();
        daemons
            .into_iter()
            .map(|daemon| Session::start(daemon, &home.workspace()))
            .collect()
    });
    let thread = clients[7].start_thread(json!({}));
    clients[7].run_turn(&thread, "hello");
    for client in &mut clients {
        let listed = client.request("thread/list", json!({}));
        assert_eq!(listed["data"][0]["id"], thread.as_str());
        client.drain(Duration::from_millis(20));
    }
    for client in clients {
        client.abandon();
    }
}

#[test]
fn left_overs_of_a_dead_server_do_not_matter() {
    let model = echo();
    let home = Home::new(&model);
    // A socket that nobody listens on, and a lock file that names a living process which holds no lock.
    drop(UnixListener::bind(home.path().join("agentd.sock")).unwrap());
    std::fs::write(
        home.path().join("agentd.lock"),
        "pid=1 since=2020-01-01T00:00:00Z socket=/nowhere\nand more\n",
    )
    .unwrap();
    let mut daemon = home.listen();
    let mut client = home.connect();
    let thread = client.start_thread(json!({}));
    assert_eq!(client.run_turn(&thread, "hello").answer(), "ok");
    client.finish();
    let lock = std::fs::read_to_string(home.path().join("agentd.lock")).unwrap();
    assert!(
        lock.starts_with(&format!("pid={} ", daemon.pid())) && lock.lines().count() == 1,
        "{lock}"
    );
    daemon.terminate();
    assert!(daemon.wait(QUICK).success());
    // On stdio as well.
    drop(UnixListener::bind(home.path().join("agentd.sock")).unwrap());
    let mut client = home.session();
    assert_eq!(client.read(&thread)["turns"].as_array().unwrap().len(), 1);
    client.finish();
}

fn assert_private(dir: &Path) {
    assert_eq!(
        std::fs::metadata(dir).unwrap().permissions().mode() & 0o777,
        0o700,
        "{}",
        dir.display()
    );
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let meta = std::fs::symlink_metadata(entry.path()).unwrap();
        if meta.is_dir() {
            assert_private(&entry.path());
        } else if entry.file_name() != "config.toml" && !meta.is_symlink() {
            assert_eq!(meta.mode() & 0o777, 0o600, "{}", entry.path().display());
        }
    }
}

#[test]
fn what_lies_in_the_home_is_for_its_user_alone() {
    let model = echo();
    let home = Home::new(&model);
    std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let daemon = home.listen();
    let mut client = home.connect();
    let thread = client.start_thread(json!({"sandbox": "workspace-write"}));
    client.run_turn(&thread, "hello");
    assert_private(&home.path());
    client.finish();
    drop(daemon);
    assert_private(&home.path());
}

#[test]
fn a_database_from_the_future_is_refused_and_left_alone() {
    let model = echo();
    let home = Home::new(&model);
    let mut client = home.session();
    let thread = client.start_thread(json!({}));
    client.run_turn(&thread, "hello");
    client.finish();
    let path = home.path().join("agentd.sqlite");
    let log = home.path().join("agentd.sqlite-wal");
    assert!(
        std::fs::metadata(&log).map_or(0, |meta| meta.len()) == 0,
        "a clean end leaves no log"
    );
    // `user_version` is the big-endian number at offset 60 of an SQLite file.
    let mut file = std::fs::File::options().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(60)).unwrap();
    file.write_all(&999_u32.to_be_bytes()).unwrap();
    drop(file);
    let before = std::fs::read(&path).unwrap();
    let mut daemon = home.spawn();
    let status = daemon.wait(Duration::from_secs(3));
    assert!(!status.success());
    let words = home.stderr();
    assert!(
        words.contains("999") && words.contains("update agentd") && !words.contains("panicked"),
        "{words}"
    );
    assert!(std::fs::read(&path).unwrap() == before, "the database was changed");
    assert!(!home.path().join("agentd.sock").exists(), "it left its socket behind");
}

#[test]
fn standard_output_carries_nothing_but_messages() {
    let model = MockModel::replies(vec![
        model::exec("c1", "echo hi"),
        model::status(500, json!({})),
        model::message("m", "done"),
    ]);
    let home = Home::new(&model);
    let mut command = home.command("agentd");
    command
        .env("RUST_LOG", "trace")
        .env("AGENTD_LOG", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(home.log());
    // The session fails on a line that is not a message it knows.
    let mut client = Session::start(
        Daemon {
            child: command.spawn().unwrap(),
        },
        &home.workspace(),
    );
    let thread = client.start_thread(json!({}));
    assert_eq!(client.run_turn(&thread, "go").status(), "completed");
    client.finish();
    // Help and version are no part of the protocol; a wrong flag says so on standard error.
    let refused = home.command("agentd").arg("--no-such-flag").output().unwrap();
    assert!(!refused.status.success() && refused.stdout.is_empty() && !refused.stderr.is_empty());
}

/// What was asked right before the end of input is still answered.
#[test]
fn the_last_request_is_answered() {
    let model = echo();
    let home = Home::new(&model);
    let mut daemon = home.spawn();
    let mut input = daemon.child.stdin.take().unwrap();
    let hello = json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "x", "title": null, "version": "0"}}});
    let list = json!({"id": 2, "method": "thread/list", "params": {}});
    input.write_all(format!("{hello}\n{list}\n").as_bytes()).unwrap();
    drop(input);
    let lines: Vec<Value> = BufReader::new(daemon.child.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert_eq!(
        lines.iter().filter_map(|line| line["id"].as_i64()).collect::<Vec<_>>(),
        [1, 2],
        "{lines:?}"
    );
    assert!(daemon.wait(QUICK).success());
}
