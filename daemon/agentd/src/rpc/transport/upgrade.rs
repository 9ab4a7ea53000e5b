//! What comes before a WebSocket: reads the head of an HTTP request and answers everything that is no upgrade.
//!
//! Who may upgrade is decided later; this only tells requests that can become a WebSocket from those that cannot, so that a
//! browser or `curl` gets a word instead of silence.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longest head that is read, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// Room for one read.
const READ_SIZE: usize = 4 * 1024;

/// Reads a request up to the end of its head; returns everything that was read.
///
/// # Errors
/// The request is no upgrade (it was answered then), or the client left.
pub async fn read_head<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(READ_SIZE);
    let verdict = loop {
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            break judge(head.get(..end).unwrap_or_default());
        }
        if head.len() > MAX_HEAD {
            break Verdict::Refused("431 Request Header Fields Too Large");
        }
        if head.first().is_some_and(|first| !first.is_ascii_uppercase()) {
            break Verdict::Refused("400 Bad Request");
        }
        if stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    match verdict {
        Verdict::Upgrade => Ok(head),
        Verdict::Refused(status) => {
            stream.write_all(answer(status).as_bytes()).await?;
            stream.shutdown().await?;
            Err(io::Error::other(format!("no WebSocket upgrade: answered {status}")))
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Upgrade,
    /// With this status.
    Refused(&'static str),
}

fn judge(head: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(head) else {
        return Verdict::Refused("400 Bad Request");
    };
    let mut lines = text.split("\r\n");
    let request = lines.next().unwrap_or_default();
    if !request.starts_with("GET ") || !request.ends_with(" HTTP/1.1") {
        return Verdict::Refused("400 Bad Request");
    }
    let headers: Vec<(&str, &str)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name, value.trim()))
        .collect();
    let says = |wanted: &str, word: &str| {
        headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case(wanted) && value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word))
        })
    };
    let has_key = headers
        .iter()
        .any(|(name, value)| name.eq_ignore_ascii_case("sec-websocket-key") && !value.is_empty());
    match says("upgrade", "websocket") && says("connection", "upgrade") && says("sec-websocket-version", "13") {
        true if has_key => Verdict::Upgrade,
        true => Verdict::Refused("400 Bad Request"),
        false => Verdict::Refused("426 Upgrade Required"),
    }
}

fn answer(status: &str) -> String {
    let body = "agentd speaks WebSocket (version 13) here.\n";
    format!(
        "HTTP/1.1 {status}\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nConnection: Upgrade, close\r\n\
         Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
                           Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n\r\n";

    async fn first_line(request: &str) -> String {
        let (mut near, mut far) = tokio::io::duplex(1 << 20);
        near.write_all(request.as_bytes()).await.expect("written");
        if read_head(&mut far).await.is_ok() {
            return "upgrade".to_owned();
        }
        drop(far);
        let mut all = String::new();
        near.read_to_string(&mut all).await.expect("readable");
        all.lines().next().unwrap_or_default().to_owned()
    }

    #[tokio::test]
    async fn what_is_no_upgrade_is_answered() {
        let long = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(MAX_HEAD));
        for (request, expected) in [
            (UPGRADE, "upgrade"),
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 426 Upgrade Required"),
            (&UPGRADE.replace(": 13", ": 8"), "HTTP/1.1 426 Upgrade Required"),
            (&UPGRADE.replace("-Key", "-Kex"), "HTTP/1.1 400 Bad Request"),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
                "HTTP/1.1 400 Bad Request",
            ),
            ("PRI * HTTP/2.0\r\n\r\n", "HTTP/1.1 400 Bad Request"),
            ("\u{16}\u{3}\u{1}", "HTTP/1.1 400 Bad Request"),
            (&long, "HTTP/1.1 431 Request Header Fields Too Large"),
        ] {
            assert_eq!(first_line(request).await, expected, "{request:.60}");
        }
    }

    #[tokio::test]
    async fn everything_that_was_read_is_handed_on() {
        let (mut near, mut far) = tokio::io::duplex(1 << 20);
        near.write_all(format!("{UPGRADE}and more").as_bytes())
            .await
            .expect("written");
        let head = read_head(&mut far).await.expect("an upgrade");
        assert_eq!(String::from_utf8(head).expect("text"), format!("{UPGRADE}and more"));
    }
}
