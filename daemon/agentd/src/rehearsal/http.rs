//! The rehearsal's side of HTTP/1.1: requests in, Responses API event streams out, paced like speech.
//!
//! Just enough of HTTP for our own client: POST with a sized or chunked body, kept connections, chunked answers.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::script::{self, Beat};

const LINE_LIMIT: u64 = 16 << 10;
const HEADER_LIMIT: usize = 200;
const BODY_LIMIT: usize = 64 << 20;
/// A kept connection without a request is closed after this long.
const IDLE_LIMIT: Duration = Duration::from_secs(120);
/// A request that began has to be complete, and a piece of an answer taken, within this time.
const TRANSFER_LIMIT: Duration = Duration::from_secs(60);

type Wire = BufReader<TcpStream>;

struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
    keep: bool,
}

/// Answers requests until the peer leaves or breaks the rules.
pub(super) async fn serve(socket: TcpStream) -> Result<()> {
    socket.set_nodelay(true)?;
    let mut wire = BufReader::new(socket);
    loop {
        let waiting = limited(IDLE_LIMIT, async { Ok(wire.fill_buf().await?.is_empty()) });
        if waiting.await? {
            return Ok(());
        }
        let request = match limited(TRANSFER_LIMIT, read_request(&mut wire)).await {
            Ok(request) => request,
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return refuse(&mut wire, "400 Bad Request", &error.to_string(), false).await;
            }
            Err(error) => return Err(error),
        };
        answer(&mut wire, &request).await?;
        if !request.keep {
            return Ok(());
        }
    }
}

async fn answer(wire: &mut Wire, request: &Request) -> Result<()> {
    if request.path.split('?').next() != Some("/v1/responses") {
        return refuse(
            wire,
            "404 Not Found",
            "the rehearsal only knows POST /v1/responses",
            request.keep,
        )
        .await;
    }
    if request.method != "POST" {
        return refuse(wire, "405 Method Not Allowed", "use POST", request.keep).await;
    }
    match serde_json::from_slice::<Value>(&request.body) {
        Ok(body) => stream(wire, &body, request.body.len(), request.keep).await,
        Err(error) => {
            refuse(
                wire,
                "400 Bad Request",
                &format!("the body is not JSON: {error}"),
                request.keep,
            )
            .await
        }
    }
}

async fn read_request(wire: &mut Wire) -> Result<Request> {
    let first = read_line(wire).await?;
    let mut words = first.split_whitespace();
    let (Some(method), Some(path), Some(version)) = (words.next(), words.next(), words.next()) else {
        return Err(invalid("the request line is not HTTP"));
    };
    let mut keep = version == "HTTP/1.1";
    let (mut length, mut chunked, mut expects) = (0, false, false);
    for count in 0.. {
        let line = read_line(wire).await?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header has no colon"))?;
        let value = value.trim().to_ascii_lowercase();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(|_| invalid("Content-Length is not a number"))?,
            "transfer-encoding" => chunked = value == "chunked",
            "connection" => keep = keep && value != "close",
            "expect" => expects = value == "100-continue",
            _ => {}
        }
        if count >= HEADER_LIMIT {
            return Err(invalid("too many headers"));
        }
    }
    if expects {
        wire.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let body = if chunked {
        read_chunks(wire).await?
    } else {
        read_sized(wire, length).await?
    };
    Ok(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        body,
        keep,
    })
}

async fn read_line(wire: &mut Wire) -> Result<String> {
    let mut line = Vec::new();
    wire.take(LINE_LIMIT).read_until(b'\n', &mut line).await?;
    if line.pop() != Some(b'\n') {
        return Err(invalid("a line is cut or too long"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| invalid("a line is not UTF-8"))
}

async fn read_sized(wire: &mut Wire, length: usize) -> Result<Vec<u8>> {
    if length > BODY_LIMIT {
        return Err(invalid("the body is too large"));
    }
    // Grows as bytes come: a peer cannot make us allocate by promising.
    let mut body = Vec::new();
    let read = wire.take(length as u64).read_to_end(&mut body).await?;
    if read < length {
        return Err(Error::new(ErrorKind::UnexpectedEof, "the body is cut"));
    }
    Ok(body)
}

async fn read_chunks(wire: &mut Wire) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(wire).await?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).map_err(|_| invalid("a chunk has no length"))?;
        if length == 0 {
            // Trailers, up to the empty line.
            while !read_line(wire).await?.is_empty() {}
            return Ok(body);
        }
        if length > BODY_LIMIT - body.len() {
            return Err(invalid("the body is too large"));
        }
        body.extend(read_sized(wire, length).await?);
        if !read_line(wire).await?.is_empty() {
            return Err(invalid("a chunk is longer than it says"));
        }
    }
}

async fn refuse(wire: &mut Wire, status: &str, message: &str, keep: bool) -> Result<()> {
    let body = json!({ "error": { "message": message, "type": "invalid_request_error", "code": null } }).to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n",
        body.len(),
        connection(keep)
    );
    write(wire, &(head + &body)).await
}

async fn stream(wire: &mut Wire, request: &Value, request_bytes: usize, keep: bool) -> Result<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n";
    write(wire, &format!("{head}{}\r\n", connection(keep))).await?;
    // Ids have to be unique within the thread; its input only grows.
    let serial = request["input"].as_array().map_or(0, Vec::len);
    let id = format!("resp_rehearsal_{serial}");
    event(
        wire,
        "response.created",
        json!({ "response": { "id": id, "status": "in_progress", "model": "rehearsal" } }),
    )
    .await?;
    let mut words = 0;
    for (index, beat) in script::play(request).iter().enumerate() {
        words += perform(wire, beat, &format!("{serial}_{index}"), index).await?;
    }
    // Estimates: four bytes a token in, a word a token out.
    let input_tokens = request_bytes / 4;
    let usage = json!({ "input_tokens": input_tokens, "output_tokens": words, "total_tokens": input_tokens + words });
    let response = json!({ "id": id, "status": "completed", "model": "rehearsal", "usage": usage });
    event(wire, "response.completed", json!({ "response": response })).await?;
    write(wire, "0\r\n\r\n").await
}

/// Plays one beat as one item; returns how many words it took.
async fn perform(wire: &mut Wire, beat: &Beat, id: &str, index: usize) -> Result<usize> {
    match beat {
        Beat::Think(text) => think(wire, text, &format!("rs_rehearsal_{id}"), index).await,
        Beat::Say { text, pace } => say(wire, text, *pace, &format!("msg_rehearsal_{id}"), index).await,
        Beat::Call { name, arguments } => call(wire, name, arguments, id, index).await,
    }
}

async fn think(wire: &mut Wire, text: &str, id: &str, index: usize) -> Result<usize> {
    let item = |summary: Value| json!({ "output_index": index, "item": { "type": "reasoning", "id": id, "summary": summary } });
    event(wire, "response.output_item.added", item(json!([]))).await?;
    let part = json!({ "type": "summary_text", "text": "" });
    let added = json!({ "item_id": id, "output_index": index, "summary_index": 0, "part": part });
    event(wire, "response.reasoning_summary_part.added", added).await?;
    for word in text.split_inclusive(' ') {
        let delta = json!({ "item_id": id, "output_index": index, "summary_index": 0, "delta": word });
        event(wire, "response.reasoning_summary_text.delta", delta).await?;
    }
    event(
        wire,
        "response.output_item.done",
        item(json!([{ "type": "summary_text", "text": text }])),
    )
    .await?;
    Ok(text.split(' ').count())
}

async fn say(wire: &mut Wire, text: &str, pace: Duration, id: &str, index: usize) -> Result<usize> {
    let item = |status: &str, content: Value| {
        let item = json!({ "type": "message", "id": id, "role": "assistant", "status": status, "content": content });
        json!({ "output_index": index, "item": item })
    };
    event(wire, "response.output_item.added", item("in_progress", json!([]))).await?;
    for word in text.split_inclusive(' ') {
        let delta = json!({ "item_id": id, "output_index": index, "content_index": 0, "delta": word });
        event(wire, "response.output_text.delta", delta).await?;
        sleep(pace).await;
    }
    let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
    event(wire, "response.output_item.done", item("completed", content)).await?;
    Ok(text.split(' ').count())
}

async fn call(wire: &mut Wire, name: &str, arguments: &Value, id: &str, index: usize) -> Result<usize> {
    let item = |status: &str, arguments: &str| {
        let (item_id, call_id) = (format!("fc_rehearsal_{id}"), format!("call_rehearsal_{id}"));
        let item = json!({
            "type": "function_call", "id": item_id, "call_id": call_id, "name": name, "arguments": arguments, "status": status
        });
        json!({ "output_index": index, "item": item })
    };
    let arguments = arguments.to_string();
    event(wire, "response.output_item.added", item("in_progress", "")).await?;
    event(wire, "response.output_item.done", item("completed", &arguments)).await?;
    Ok(arguments.split(' ').count())
}

/// Sends one event as one chunk.
async fn event(wire: &mut Wire, kind: &str, mut data: Value) -> Result<()> {
    data["type"] = Value::from(kind);
    let text = format!("event: {kind}\ndata: {data}\n\n");
    write(wire, &format!("{:x}\r\n{text}\r\n", text.len())).await
}

async fn write(wire: &mut Wire, text: &str) -> Result<()> {
    limited(TRANSFER_LIMIT, wire.write_all(text.as_bytes())).await
}

async fn limited<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(limit, work)
        .await
        .map_err(|_| Error::new(ErrorKind::TimedOut, "the peer is too slow"))?
}

fn connection(keep: bool) -> &'static str {
    if keep { "" } else { "Connection: close\r\n" }
}

fn invalid(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
