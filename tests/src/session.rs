//! A client that checks what must always hold.
//!
//! When it is finished (or dropped) it fails on: a message nobody read, a request with no response or with two, an item that
//! was started and not completed, a turn without exactly one end, and a `ThreadView` folded from the notifications that
//! differs from `thread/read`.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use agentd_protocol::notification::ServerNotification;
use agentd_protocol::thread::Thread;
use agentd_protocol::view::ThreadView;
use serde_json::{Value, json};

use crate::daemon::Daemon;

/// How the client's side of a connection is closed.
type Closer = Box<dyn FnOnce(Shutdown)>;

/// How long anything may take.
pub const LIMIT: Duration = Duration::from_secs(20);
/// Stands for the id of a response without one.
const NO_ID: i64 = -1;

/// Answers an approval request, or leaves it open.
pub type Approve = Box<dyn FnMut(&Value) -> Option<Value>>;

/// What a finished turn looked like from outside.
#[derive(Debug)]
pub struct TurnRun {
    pub turn_id: String,
    /// The `turn` of `turn/completed`.
    pub turn: Value,
    /// All notifications and server requests from the response on, `turn/completed` included.
    pub events: Vec<Value>,
}

impl TurnRun {
    pub fn status(&self) -> &str {
        self.turn["status"].as_str().unwrap_or("")
    }

    /// Method names in order, repeats of the same method folded.
    pub fn methods(&self) -> Vec<&str> {
        let mut methods: Vec<&str> = self.events.iter().filter_map(|e| e["method"].as_str()).collect();
        methods.dedup();
        methods
    }

    pub fn of(&self, method: &str) -> Vec<&Value> {
        self.events
            .iter()
            .filter(|e| e["method"] == method)
            .map(|e| &e["params"])
            .collect()
    }

    /// Completed items of a type.
    pub fn completed(&self, kind: &str) -> Vec<&Value> {
        self.of("item/completed")
            .into_iter()
            .map(|p| &p["item"])
            .filter(|i| i["type"] == kind)
            .collect()
    }

    /// Text of the last agent message.
    pub fn answer(&self) -> &str {
        self.completed("agentMessage")
            .last()
            .and_then(|i| i["text"].as_str())
            .unwrap_or("")
    }
}

/// What was left of a connection whose daemon was killed.
#[derive(Debug)]
pub struct Wreck {
    /// Notifications and server requests that nobody had read yet, in order.
    pub events: Vec<Value>,
    /// Responses that nobody had read yet.
    pub responses: HashMap<i64, Value>,
    /// Unix milliseconds right before the kill.
    pub killed_at_ms: i64,
}

impl Wreck {
    /// The same with what was read before the kill.
    pub fn after(mut self, mut before: Vec<Value>) -> Self {
        before.append(&mut self.events);
        Self { events: before, ..self }
    }
}

/// A handshaken connection over stdio or the socket.
pub struct Session {
    /// The process at the other end, if this session started it.
    pub daemon: Option<Daemon>,
    input: Option<Box<dyn Write>>,
    close: Option<Closer>,
    lines: Receiver<String>,
    queue: VecDeque<Value>,
    responses: HashMap<i64, Value>,
    answered: HashMap<i64, u32>,
    next_id: i64,
    views: HashMap<String, ThreadView>,
    open_items: Vec<(String, String)>,
    ended_turns: HashMap<String, u32>,
    started_turns: Vec<String>,
    cwd: String,
    finished: bool,
    /// What to answer to an approval request; `None` leaves it open.
    pub approve: Approve,
}

impl Session {
    /// Takes over a daemon on stdio and completes the handshake.
    pub fn start(mut daemon: Daemon, cwd: &Path) -> Self {
        let input = Box::new(daemon.child.stdin.take().unwrap());
        let lines = read_lines(daemon.child.stdout.take().unwrap());
        Self::handshake(Some(daemon), input, Box::new(drop), lines, cwd)
    }

    /// Connects to a daemon's socket and completes the handshake.
    pub fn connect(socket: &Path, cwd: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        let lines = read_lines(stream.try_clone().unwrap());
        let input = Box::new(stream.try_clone().unwrap());
        let close = Box::new(move |how| drop(stream.shutdown(how)));
        Self::handshake(None, input, close, lines, cwd)
    }

    fn handshake(
        daemon: Option<Daemon>,
        input: Box<dyn Write>,
        close: Closer,
        lines: Receiver<String>,
        cwd: &Path,
    ) -> Self {
        let mut session = Self {
            daemon,
            input: Some(input),
            close: Some(close),
            lines,
            queue: VecDeque::new(),
            responses: HashMap::new(),
            answered: HashMap::new(),
            next_id: 0,
            views: HashMap::new(),
            open_items: Vec::new(),
            ended_turns: HashMap::new(),
            started_turns: Vec::new(),
            cwd: cwd.display().to_string(),
            finished: false,
            approve: Box::new(|_| None),
        };
        session.request("initialize", json!({"clientInfo": {"name": "harness", "title": null, "version": "0"}, "capabilities": {"experimentalApi": true}}));
        session.notify("initialized", json!({}));
        session
    }

    /// Sends a request and returns its result; fails on an error.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let response = self.call(method, params.clone());
        assert!(response.get("error").is_none(), "{method} {params} failed: {response}");
        response["result"].clone()
    }

    /// Sends a request and returns its error; fails on a result.
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let response = self.call(method, params);
        assert!(response.get("error").is_some(), "{method} was not refused: {response}");
        response["error"].clone()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.response(id)
    }

    /// An id for a request that the caller writes itself; it needs exactly one response like any other.
    pub fn reserve(&mut self) -> i64 {
        self.next_id += 1;
        self.answered.insert(self.next_id, 0);
        self.next_id
    }

    /// Reads the error response to something whose id could not be known.
    pub fn expect_refusal(&mut self, check: impl Fn(&Value)) {
        let response = self.response(NO_ID);
        self.answered.remove(&NO_ID);
        check(&response["error"]);
    }

    /// Sends a request without waiting for its response.
    pub fn send(&mut self, method: &str, params: Value) -> i64 {
        let id = self.reserve();
        self.write(&json!({"id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the response to a request.
    pub fn response(&mut self, id: i64) -> Value {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(response) = self.responses.remove(&id) {
                return response;
            }
            self.pump(end, &format!("response {id}"));
        }
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"method": method, "params": params}));
    }

    /// Answers a server request.
    pub fn answer(&mut self, request: &Value, result: Value) {
        let id = request["id"].clone();
        self.write(&json!({"id": id, "result": result}));
    }

    /// Sends bytes as they are.
    pub fn write_raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn write(&mut self, message: &Value) {
        self.write_raw(format!("{message}\n").as_bytes());
    }

    /// The next notification or server request.
    pub fn next_event(&mut self) -> Value {
        let end = Instant::now() + LIMIT;
        while self.queue.is_empty() {
            self.pump(end, "an event");
        }
        self.queue.pop_front().unwrap()
    }

    /// Reads events up to and including the first one of this method that `fits`.
    pub fn until(&mut self, method: &str, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.next_event();
            let found = event["method"] == method && fits(&event["params"]);
            events.push(event);
            if found {
                return events;
            }
        }
    }

    /// Starts a thread in the workspace with these further params; reads its `thread/started`.
    pub fn start_thread(&mut self, params: Value) -> String {
        let mut all = json!({"cwd": self.cwd});
        all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        let result = self.request("thread/start", all);
        let thread_id = result["thread"]["id"].as_str().unwrap().to_owned();
        self.until("thread/started", |p| p["thread"]["id"] == thread_id.as_str());
        thread_id
    }

    /// Resumes a thread and folds from what the response says.
    pub fn resume(&mut self, thread_id: &str) -> Value {
        let result = self.request("thread/resume", json!({"threadId": thread_id}));
        self.track(&result["thread"]);
        result
    }

    /// Forks a thread, reads its `thread/started`, and folds from what the response says.
    pub fn fork(&mut self, params: Value) -> Value {
        let result = self.request("thread/fork", params);
        self.until("thread/started", |p| p["thread"]["id"] == result["thread"]["id"]);
        self.track(&result["thread"]);
        result
    }

    fn track(&mut self, thread: &Value) {
        let thread: Thread = serde_json::from_value(thread.clone()).expect("a thread");
        self.views.insert(thread.id.clone(), ThreadView::from_thread(thread));
    }

    /// Sends `turn/start` with a text; returns the turn's id.
    pub fn start_turn(&mut self, thread_id: &str, text: &str) -> String {
        let result = self.request(
            "turn/start",
            json!({"threadId": thread_id, "input": [{"type": "text", "text": text}]}),
        );
        result["turn"]["id"].as_str().unwrap().to_owned()
    }

    /// Reads everything up to the end of a turn; approvals are answered as [`Self::approve`] says.
    pub fn finish_turn(&mut self, turn_id: &str) -> TurnRun {
        let mut events = Vec::new();
        loop {
            let event = self.next_event();
            if event.get("id").is_some()
                && let Some(answer) = (self.approve)(&event)
            {
                self.answer(&event, answer);
            }
            let done = event["method"] == "turn/completed" && event["params"]["turn"]["id"] == turn_id;
            events.push(event);
            if done {
                let turn = events.last().unwrap()["params"]["turn"].clone();
                return TurnRun {
                    turn_id: turn_id.to_owned(),
                    turn,
                    events,
                };
            }
        }
    }

    /// Runs a whole turn.
    pub fn run_turn(&mut self, thread_id: &str, text: &str) -> TurnRun {
        let turn_id = self.start_turn(thread_id, text);
        self.finish_turn(&turn_id)
    }

    /// `thread/read` with all turns.
    pub fn read(&mut self, thread_id: &str) -> Value {
        self.request("thread/read", json!({"threadId": thread_id, "includeTurns": true}))["thread"].clone()
    }

    /// Checks everything and ends the connection; a daemon that this session started must exit by itself with status 0.
    pub fn finish(mut self) {
        self.check();
        self.finished = true;
        self.hang_up(Shutdown::Write);
        if let Some(daemon) = &mut self.daemon {
            let status = daemon.wait(LIMIT);
            assert!(status.success(), "agentd ended with {status}");
        }
    }

    /// Ends without the checks (after a deliberate kill, or as a client that leaves in the middle of things).
    pub fn abandon(mut self) {
        self.finished = true;
        self.hang_up(Shutdown::Both);
    }

    fn hang_up(&mut self, how: Shutdown) {
        drop(self.input.take());
        if let Some(close) = self.close.take() {
            close(how);
        }
    }

    /// Kills the daemon that this session started and collects what it had said until then.
    pub fn kill9(mut self) -> Wreck {
        self.finished = true;
        let killed_at_ms = unix_ms();
        self.daemon.as_mut().expect("a daemon of its own").kill9();
        self.rest(killed_at_ms)
    }

    /// Collects what comes until the daemon closes the connection.
    pub fn until_closed(mut self) -> Wreck {
        self.finished = true;
        self.rest(unix_ms())
    }

    fn rest(&mut self, killed_at_ms: i64) -> Wreck {
        let end = Instant::now() + LIMIT;
        let mut cut = None;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    assert!(cut.is_none(), "a line in the middle is not JSON: {cut:?}");
                    match serde_json::from_str::<Value>(&line) {
                        Ok(_) => self.take(&line),
                        Err(_) => cut = Some(line),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the connection is still open after {LIMIT:?}"),
            }
        }
        Wreck {
            events: self.queue.drain(..).collect(),
            responses: std::mem::take(&mut self.responses),
            killed_at_ms,
        }
    }

    /// What nobody has read yet, and all that comes until nothing has come for this long.
    pub fn drain(&mut self, quiet: Duration) -> Vec<Value> {
        while let Ok(line) = self.lines.recv_timeout(quiet) {
            self.take(&line);
        }
        self.queue.drain(..).collect()
    }

    /// The folded view of a thread.
    pub fn view(&self, thread_id: &str) -> &ThreadView {
        &self.views[thread_id]
    }

    fn check(&mut self) {
        let threads: Vec<String> = self.views.keys().cloned().collect();
        for thread_id in threads {
            let read: Thread = serde_json::from_value(self.read(&thread_id)).unwrap();
            let folded = self.views[&thread_id].thread();
            let show = |turns: &[agentd_protocol::turn::Turn]| serde_json::to_string_pretty(turns).unwrap();
            assert_eq!(
                show(&folded.turns),
                show(&read.turns),
                "the folded view differs from thread/read"
            );
            assert_eq!(folded.status, read.status);
        }
        // Whatever is still on its way must be here before the silence is judged.
        std::thread::sleep(Duration::from_millis(20));
        while let Ok(line) = self.lines.try_recv() {
            self.take(&line);
        }
        assert!(self.queue.is_empty(), "unread messages: {:#?}", self.queue);
        assert!(
            self.open_items.is_empty(),
            "items never completed: {:?}",
            self.open_items
        );
        for turn in &self.started_turns {
            assert_eq!(
                self.ended_turns.get(turn),
                Some(&1),
                "turn {turn} needs exactly one turn/completed"
            );
        }
        for (id, count) in &self.answered {
            assert_eq!(*count, 1, "request {id} needs exactly one response");
        }
    }

    fn pump(&mut self, end: Instant, what: &str) {
        match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => self.take(&line),
            Err(RecvTimeoutError::Timeout) => panic!("waited {LIMIT:?} for {what}; unread: {:#?}", self.queue),
            Err(RecvTimeoutError::Disconnected) => panic!(
                "agentd closed the connection while waiting for {what}; unread: {:#?}",
                self.queue
            ),
        }
    }

    fn take(&mut self, line: &str) {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"));
        match message.get("method") {
            None => {
                let id = message["id"].as_i64().unwrap_or(NO_ID);
                let count = self.answered.entry(id).or_insert(0);
                *count += 1;
                assert_eq!(*count, 1, "second response to {id}: {message}");
                self.responses.insert(id, message);
            }
            Some(_) => {
                if message.get("id").is_none() {
                    self.fold(&message);
                }
                self.queue.push_back(message);
            }
        }
    }

    fn fold(&mut self, message: &Value) {
        assert!(message["emittedAtMs"].is_i64(), "no emittedAtMs: {message}");
        let notification: ServerNotification =
            serde_json::from_value(message.clone()).unwrap_or_else(|e| panic!("unknown notification ({e}): {message}"));
        let params = &message["params"];
        let item = || {
            (
                params["threadId"].as_str().unwrap_or("").to_owned(),
                params["item"]["id"].as_str().unwrap_or("").to_owned(),
            )
        };
        match &notification {
            ServerNotification::ThreadStarted { thread } => {
                self.views
                    .insert(thread.id.clone(), ThreadView::from_thread(thread.clone()));
            }
            ServerNotification::ItemStarted { .. } => self.open_items.push(item()),
            ServerNotification::ItemCompleted { .. } => {
                let done = item();
                if let Some(at) = self.open_items.iter().position(|open| *open == done) {
                    self.open_items.remove(at);
                }
            }
            ServerNotification::TurnStarted { turn, .. } => self.started_turns.push(turn.id.clone()),
            ServerNotification::TurnCompleted { turn, .. } => {
                *self.ended_turns.entry(turn.id.clone()).or_insert(0) += 1
            }
            _ => {}
        }
        let thread_id = params["threadId"].as_str().unwrap_or("");
        if let Some(view) = self.views.get_mut(thread_id) {
            view.apply(&notification);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.finished && !std::thread::panicking() {
            panic!("a session must be finished or abandoned");
        }
    }
}

/// Unix milliseconds.
pub fn unix_ms() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

fn read_lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
