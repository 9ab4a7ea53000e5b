//! A scripted model server: real HTTP on loopback, Responses API shapes, one thread a connection.
//!
//! A script maps a request (its number and parsed body) to a [`Reply`]. Every request is recorded byte for byte. The server
//! is strict by default: it answers 400 when a tool call in the input has no output, as the real service does.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// One thing the server does while it answers.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends an SSE event.
    Event(Value),
    /// Sends bytes as they are.
    Raw(Vec<u8>),
    /// Waits.
    Sleep(Duration),
    /// Waits until [`MockModel::open`] was called with this name.
    Gate(&'static str),
    /// Cuts the connection.
    Cut,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status; other than 200: `body` is sent as JSON.
    pub status: u16,
    /// More headers.
    pub headers: Vec<(String, String)>,
    /// Body for other statuses than 200.
    pub body: Value,
    /// The stream.
    pub steps: Vec<Step>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Recorded {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("request body is JSON")
    }

    pub fn input(&self) -> Vec<Value> {
        self.json()["input"].as_array().expect("input is an array").clone()
    }
}

type Script = Box<dyn Fn(usize, &Value) -> Reply + Send + Sync>;

struct Shared {
    script: Mutex<Script>,
    recorded: Mutex<Vec<Recorded>>,
    gates: Mutex<Vec<&'static str>>,
    gate_opened: Condvar,
    lenient: bool,
}

/// The server. Its threads end with their connections.
pub struct MockModel {
    port: u16,
    shared: Arc<Shared>,
}

impl MockModel {
    /// A server that answers by `script`, whose first argument counts requests from 0.
    pub fn start(script: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(Box::new(script), false)
    }

    /// A server that gives these answers in order, then fails the request with status 500.
    pub fn replies(replies: Vec<Reply>) -> Self {
        Self::start(move |n, _| {
            replies
                .get(n)
                .cloned()
                .unwrap_or_else(|| status(500, json!({"error": {"message": "script is over"}})))
        })
    }

    fn start_with(script: Script, lenient: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            recorded: Mutex::default(),
            gates: Mutex::default(),
            gate_opened: Condvar::new(),
            lenient,
        });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = accepting.clone();
                std::thread::spawn(move || drop(serve(&shared, stream)));
            }
        });
        Self { port, shared }
    }

    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub fn set_script(&self, script: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Box::new(script);
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.recorded.lock().unwrap().clone()
    }

    pub fn open(&self, gate: &'static str) {
        self.shared.gates.lock().unwrap().push(gate);
        self.shared.gate_opened.notify_all();
    }

    /// Fails unless every request of the conversation extends the one before, byte for byte.
    pub fn assert_prefix(&self) {
        let requests = self.requests();
        for (n, pair) in requests.windows(2).enumerate() {
            let (before, after) = (&pair[0].body, &pair[1].body);
            let kept = before.strip_suffix(b"]}").expect("input is the last member");
            assert!(
                after.starts_with(kept),
                "request {} does not extend request {n}:\n{}\n{}",
                n + 1,
                String::from_utf8_lossy(before),
                String::from_utf8_lossy(after)
            );
        }
    }
}

fn serve(shared: &Shared, stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(request) = read_request(&mut reader)? {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let number = {
            let mut recorded = shared.recorded.lock().unwrap();
            recorded.push(request);
            recorded.len() - 1
        };
        let unpaired = if shared.lenient { None } else { unpaired_call(&body) };
        let reply = match unpaired {
            Some(call) => status(
                400,
                json!({"error": {"message": format!("No tool output found for function call {call}."), "type": "invalid_request_error", "code": null}}),
            ),
            None => (shared.script.lock().unwrap())(number, &body),
        };
        if reply.status != 200 {
            let text = reply.body.to_string();
            let extra: String = reply.headers.iter().map(|(k, v)| format!("{k}: {v}\r\n")).collect();
            write!(
                stream,
                "HTTP/1.1 {} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{extra}\r\n{text}",
                reply.status,
                text.len()
            )?;
            continue;
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
        for step in &reply.steps {
            match step {
                Step::Event(event) => chunk(
                    &mut stream,
                    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("x")).as_bytes(),
                )?,
                Step::Raw(bytes) => chunk(&mut stream, bytes)?,
                Step::Sleep(time) => std::thread::sleep(*time),
                Step::Gate(name) => wait_for_gate(shared, name),
                Step::Cut => return stream.shutdown(std::net::Shutdown::Both),
            }
        }
        stream.write_all(b"0\r\n\r\n")?;
    }
    Ok(())
}

fn wait_for_gate(shared: &Shared, name: &'static str) {
    let gates = shared.gates.lock().unwrap();
    let wait = shared
        .gate_opened
        .wait_timeout_while(gates, Duration::from_secs(30), |open| !open.contains(&name))
        .unwrap();
    assert!(!wait.1.timed_out(), "gate {name} was never opened");
}

fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    stream.write_all(&framed)
}

fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Recorded>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or("").to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim_end();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let mut body = Vec::new();
    match headers.get("content-length").and_then(|n| n.parse::<usize>().ok()) {
        Some(length) => {
            body.resize(length, 0);
            reader.read_exact(&mut body)?;
        }
        None => loop {
            let mut size = String::new();
            reader.read_line(&mut size)?;
            let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
            let mut piece = vec![0; size + 2];
            reader.read_exact(&mut piece)?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&piece[..size]);
        },
    }
    Ok(Some(Recorded { path, headers, body }))
}

/// The first tool call of the input that has no output.
fn unpaired_call(body: &Value) -> Option<String> {
    let input = body["input"].as_array()?;
    let ids = |kind: &'static [&'static str]| {
        input
            .iter()
            .filter(move |i| i["type"].as_str().is_some_and(|t| kind.contains(&t)))
            .filter_map(|i| i["call_id"].as_str())
    };
    let outputs: Vec<&str> = ids(&[
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
    ])
    .collect();
    ids(&["function_call", "custom_tool_call", "local_shell_call"])
        .find(|id| !outputs.contains(id))
        .map(str::to_owned)
}

/// A stream of these steps, framed by `response.created` and `response.completed`.
pub fn stream(steps: Vec<Step>) -> Reply {
    let mut all = vec![Step::Event(
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
    )];
    all.extend(steps);
    all.push(completed());
    unframed(all)
}

/// A stream of exactly these steps.
pub fn unframed(steps: Vec<Step>) -> Reply {
    Reply {
        status: 200,
        headers: Vec::new(),
        body: Value::Null,
        steps,
    }
}

/// A plain HTTP answer.
pub fn status(status: u16, body: Value) -> Reply {
    Reply {
        status,
        headers: Vec::new(),
        body,
        steps: Vec::new(),
    }
}

pub fn completed() -> Step {
    Step::Event(
        json!({"type": "response.completed", "response": {"id": "resp_1", "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 107}}}),
    )
}

/// The events of one assistant message, its text in these deltas with pauses between them.
pub fn message_steps(id: &str, deltas: &[&str], gap: Duration) -> Vec<Step> {
    let text = deltas.concat();
    let item = |status: &str, text: &str| json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": if text.is_empty() { json!([]) } else { json!([{"type": "output_text", "text": text, "annotations": []}]) }});
    let mut steps = vec![Step::Event(
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("in_progress", "")}),
    )];
    for delta in deltas {
        steps.push(Step::Event(json!({"type": "response.output_text.delta", "item_id": id, "output_index": 0, "content_index": 0, "delta": delta})));
        if !gap.is_zero() {
            steps.push(Step::Sleep(gap));
        }
    }
    steps.push(Step::Event(
        json!({"type": "response.output_item.done", "output_index": 0, "item": item("completed", &text)}),
    ));
    steps
}

/// One assistant message.
pub fn message(id: &str, text: &str) -> Reply {
    stream(message_steps(id, &[text], Duration::ZERO))
}

/// The events of one function call.
pub fn call_steps(call_id: &str, name: &str, arguments: &Value) -> Vec<Step> {
    let arguments = match arguments {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let item = json!({"type": "function_call", "id": format!("fc_{call_id}"), "status": "completed", "name": name, "arguments": arguments, "call_id": call_id});
    vec![
        Step::Event(
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "id": format!("fc_{call_id}"), "status": "in_progress", "name": name, "arguments": "", "call_id": call_id}}),
        ),
        Step::Event(json!({"type": "response.output_item.done", "output_index": 0, "item": item})),
    ]
}

/// One function call.
pub fn call(call_id: &str, name: &str, arguments: Value) -> Reply {
    stream(call_steps(call_id, name, &arguments))
}

/// One command.
pub fn exec(call_id: &str, cmd: &str) -> Reply {
    call(call_id, "exec_command", json!({"cmd": cmd}))
}

/// One patch.
pub fn patch(call_id: &str, text: &str) -> Reply {
    call(call_id, "apply_patch", json!({"input": text}))
}
