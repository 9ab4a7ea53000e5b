//! One connection to a daemon: a reader thread that sorts lines into the inbox, and a writer that callers share.
//!
//! It owns the socket and the call numbers. It does not know what any method means (see `calls.rs`), and it does not
//! reconnect: a closed client stays closed, its owner makes a new one.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use agentd_protocol::approval::{ApprovalDecision, ApprovalResponse};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::error::ClientError;
use crate::home::Home;
use crate::inbox::{Inbox, Waited};
use crate::wire::{Event, Incoming, RequestId, sort};

/// Longest line that is accepted from the daemon, in bytes.
const MAX_LINE: u64 = 64 * 1024 * 1024;
/// How long one write to the daemon may block.
const WRITE_LIMIT: Duration = Duration::from_secs(10);
/// How long the handshake may take.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// How a client introduces itself.
#[derive(Clone, Copy, Debug)]
pub struct ClientName<'a> {
    /// `clientInfo.name`, e.g. `agentctl`.
    pub name: &'a str,
    /// `clientInfo.version`.
    pub version: &'a str,
}

/// A connection after its handshake.
pub struct Client {
    inbox: Arc<Inbox>,
    /// Whole lines only; held for one write.
    writer: Mutex<UnixStream>,
    next_id: AtomicU64,
    user_agent: String,
    /// Joined on drop, after the socket was shut down.
    reader: Option<JoinHandle<()>>,
}

impl Client {
    /// Connects to the daemon of `home` and shakes hands. [`ClientError::NotRunning`] if nobody listens.
    pub fn connect(home: &Home, name: ClientName<'_>) -> Result<Self, ClientError> {
        let path = home.socket();
        let stream = UnixStream::connect(&path).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => ClientError::NotRunning {
                home: home.root().to_path_buf(),
            },
            _ => ClientError::io(format!("connect to {}", path.display()), source),
        })?;
        Self::over(stream, name)
    }

    /// Shakes hands over a stream that is already connected.
    pub fn over(stream: UnixStream, name: ClientName<'_>) -> Result<Self, ClientError> {
        let io = |source| ClientError::io("prepare the connection to agentd", source);
        stream.set_write_timeout(Some(WRITE_LIMIT)).map_err(io)?;
        let input = stream.try_clone().map_err(io)?;
        let inbox = Arc::new(Inbox::default());
        let reader_inbox = Arc::clone(&inbox);
        let reader = std::thread::Builder::new()
            .name("agentd-client-reader".into())
            .spawn(move || read_lines(input, &reader_inbox))
            .map_err(io)?;
        let mut client = Self {
            inbox,
            writer: Mutex::new(stream),
            next_id: AtomicU64::new(1),
            user_agent: String::new(),
            reader: Some(reader),
        };
        client.handshake(name)?;
        Ok(client)
    }

    fn handshake(&mut self, name: ClientName<'_>) -> Result<(), ClientError> {
        let info = json!({"clientInfo": {"name": name.name, "title": null, "version": name.version}});
        let answer: serde_json::Value = self.call("initialize", &info, HANDSHAKE_LIMIT)?;
        self.user_agent = answer
            .get("userAgent")
            .and_then(|v| v.as_str())
            .unwrap_or_default()
            .to_owned();
        self.write(&json!({"method": "initialized"}))
    }

    /// What the daemon called itself in the handshake; its own version follows `agentd/`.
    pub fn user_agent(&self) -> &str {
        &self.user_agent
    }

    /// Calls a method and waits for its result. The limit covers the wait, not the write (which has its own).
    pub fn call<P: Serialize, R: DeserializeOwned>(
        &self,
        method: &str,
        params: &P,
        limit: Duration,
    ) -> Result<R, ClientError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.inbox.open_call(id);
        if let Err(error) = self.write(&json!({"id": id, "method": method, "params": params})) {
            self.inbox.drop_call(id);
            return Err(error);
        }
        let reply = match self.inbox.wait_reply(id, limit) {
            Waited::Reply(reply) => reply,
            Waited::TimedOut => {
                return Err(ClientError::Timeout {
                    method: method.to_owned(),
                    after: limit,
                });
            }
            Waited::Closed(reason) => return Err(ClientError::Closed { reason }),
        };
        match reply.outcome {
            Ok(result) => serde_json::from_str(result.get()).map_err(|source| ClientError::Decode {
                method: method.to_owned(),
                source,
            }),
            Err(error) => Err(ClientError::Rpc {
                method: method.to_owned(),
                code: error.code,
                kind: error.kind(),
                message: error.message,
            }),
        }
    }

    /// The next event, or `None` after `timeout` (or when [`Event::Closed`] was handed out before).
    pub fn next_event(&self, timeout: Duration) -> Option<Event> {
        self.inbox.take_event(timeout)
    }

    /// Answers an approval request.
    pub fn answer(&self, id: &RequestId, decision: ApprovalDecision) -> Result<(), ClientError> {
        self.write(&json!({"id": id, "result": ApprovalResponse { decision }}))
    }

    /// Refuses a server request this client does not understand.
    pub fn refuse(&self, id: &RequestId, method: &str) -> Result<(), ClientError> {
        let message = format!("this client does not support {method}");
        self.write(&json!({"id": id, "error": {"code": -32601, "message": message}}))
    }

    fn write(&self, message: &serde_json::Value) -> Result<(), ClientError> {
        if let Some(reason) = self.inbox.closed() {
            return Err(ClientError::Closed { reason });
        }
        let mut line = message.to_string();
        line.push('\n');
        let mut stream = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(line.as_bytes()).map_err(|source| {
            // A line that was cut in the middle would swallow the next one: this connection is over.
            let reason = format!("write failed: {source}");
            self.inbox.close(reason.clone());
            ClientError::Closed { reason }
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.inbox.close("closed by this client".into());
        let _ = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .shutdown(Shutdown::Both);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// The reader thread: until the end of the stream, or until the inbox is closed.
fn read_lines(input: UnixStream, inbox: &Inbox) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let reason = loop {
        line.clear();
        match (&mut input).take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) => break "the daemon closed it".to_owned(),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => break format!("read failed: {error}"),
            Ok(_) if line.last() != Some(&b'\n') => break "it was cut in the middle of a message".to_owned(),
            Ok(_) => {}
        }
        match sort(String::from_utf8_lossy(&line).trim_end()) {
            Incoming::Reply(reply) => inbox.put_reply(reply),
            Incoming::Event(event) => {
                if !inbox.put_event(event) {
                    return;
                }
            }
            Incoming::Noise => {}
        }
    };
    inbox.close(reason);
}
