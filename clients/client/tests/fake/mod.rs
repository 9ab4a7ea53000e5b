//! A scripted stand-in for the daemon: one thread, one Unix socket, JSON lines. It answers `initialize` itself and hands
//! every other message to the script. Shared by the tests of this crate and of agentctl.
#![allow(dead_code, unreachable_pub, clippy::expect_used, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// The server's end of one connection.
pub struct Peer {
    stream: UnixStream,
}

impl Peer {
    /// Sends one message.
    pub fn send(&mut self, message: &Value) {
        let _ = self.stream.write_all(format!("{message}\n").as_bytes());
    }

    /// Sends text as it is.
    pub fn send_raw(&mut self, text: &str) {
        let _ = self.stream.write_all(text.as_bytes());
    }

    /// Answers a request.
    pub fn reply(&mut self, request: &Value, result: Value) {
        self.send(&json!({"id": request["id"], "result": result}));
    }

    /// Answers a request with an error.
    pub fn fail(&mut self, request: &Value, code: i64, message: &str) {
        self.send(
            &json!({"id": request["id"], "error": {"code": code, "message": message, "data": {"kind": "state"}}}),
        );
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"method": method, "params": params, "emittedAtMs": 1}));
    }

    /// Ends the connection.
    pub fn close(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// What the server heard.
pub struct FakeServer {
    heard: Receiver<Value>,
}

impl FakeServer {
    /// Listens at `socket` and serves connections one after the other until the test process ends.
    pub fn start(socket: &Path, mut script: impl FnMut(&Value, &mut Peer) + Send + 'static) -> Self {
        let listener = UnixListener::bind(socket).expect("bind the fake socket");
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &tell, &mut script);
            }
        });
        Self { heard }
    }

    /// Every message received so far, `initialize` and `initialized` left out.
    pub fn heard(&self) -> Vec<Value> {
        self.heard.try_iter().collect()
    }

    /// Waits for the first message with this method (or, for `""`, the first answer); drops those before it.
    pub fn wait_for(&self, method: &str) -> Value {
        loop {
            let message = self
                .heard
                .recv_timeout(Duration::from_secs(10))
                .expect("the client never sent it");
            if message["method"].as_str().unwrap_or_default() == method {
                return message;
            }
        }
    }
}

fn serve(stream: UnixStream, tell: &Sender<Value>, script: &mut impl FnMut(&Value, &mut Peer)) {
    let mut peer = Peer {
        stream: stream.try_clone().expect("clone the stream"),
    };
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).expect("clients send JSON");
        match message["method"].as_str() {
            Some("initialize") => peer.reply(
                &message,
                json!({"userAgent": "agentctl/0.171.0 (Linux; x86_64) agentd/0.1.0", "codexHome": "/h", "platformFamily": "unix", "platformOs": "linux"}),
            ),
            Some("initialized") => {}
            _ => {
                let _ = tell.send(message.clone());
                script(&message, &mut peer);
            }
        }
    }
}
