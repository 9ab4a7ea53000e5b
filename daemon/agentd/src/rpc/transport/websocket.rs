//! WebSocket over any byte stream: one JSON object per text frame, without compression, on any path.
//!
//! Owns the upgrade and who may upgrade. A message that is too large or no UTF-8 is answered and then ends the connection,
//! since RFC 6455 leaves no way back into the stream.

use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use agentd_protocol::rpc::{ErrorObject, PARSE_ERROR};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Chain, Join, ReadHalf, WriteHalf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, header};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::{MAX_MESSAGE, Receive, Received, Transmit, upgrade};
use crate::rpc::connection::Server;

/// Tells clients up to which size a message may come in one frame.
const MAX_UNFRAGMENTED: (&str, &str) = ("x-codex-websocket-max-unfragmented-message-bytes", "16777216");
/// Buffer that each connection keeps for reading.
const READ_BUFFER: usize = 16 * 1024;
/// How long a client may take for the upgrade.
const UPGRADE_LIMIT: Duration = Duration::from_secs(10);

/// Who may upgrade.
#[derive(Clone, Debug)]
pub enum Admission {
    /// Everybody who reached the socket: its file mode is the guard.
    Anybody,
    /// Whoever has the bearer token.
    Token(String),
    /// Programs of this machine: what they call must be a loopback address, since a name that a stranger owns may lead here
    /// as well, and no page of a browser but the port's own.
    Loopback,
    /// Programs of any machine, but no page of a browser.
    Remote,
}

/// A stream whose beginning was read before.
type Resumed<S> = Join<Chain<io::Cursor<Vec<u8>>, ReadHalf<S>>, WriteHalf<S>>;

/// Serves the connection until it ends; an upgrade that is under way does not keep the daemon from ending.
pub async fn serve<S>(server: Server, stream: S, admission: Admission)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ending = server.daemon.shutdown.clone();
    match ending.run_until_cancelled(accept(stream, admission)).await {
        Some(Ok((reader, writer))) => server.serve(reader, writer).await,
        Some(Err(error)) => tracing::debug!(%error, "a WebSocket upgrade failed"),
        None => {}
    }
}

/// Answers the upgrade request, within [`UPGRADE_LIMIT`].
///
/// # Errors
/// The client is not admitted, speaks no WebSocket, is too slow, or left.
async fn accept<S>(stream: S, admission: Admission) -> io::Result<(SocketReader<S>, SocketWriter<S>)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    tokio::time::timeout(UPGRADE_LIMIT, upgraded(stream, admission))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn upgraded<S>(mut stream: S, admission: Admission) -> io::Result<(SocketReader<S>, SocketWriter<S>)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let head = upgrade::read_head(&mut stream).await?;
    let (reader, writer) = tokio::io::split(stream);
    let stream = tokio::io::join(io::Cursor::new(head).chain(reader), writer);
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    let socket = tokio_tungstenite::accept_hdr_async_with_config(stream, admission, Some(config)).await;
    let (sink, stream) = socket.map_err(io::Error::other)?.split();
    Ok((SocketReader(stream), SocketWriter(sink)))
}

impl Callback for Admission {
    fn on_request(self, request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
        self.check(request)?;
        response
            .headers_mut()
            .insert(MAX_UNFRAGMENTED.0, HeaderValue::from_static(MAX_UNFRAGMENTED.1));
        Ok(response)
    }
}

impl Admission {
    #[allow(clippy::result_large_err, reason = "the WebSocket crate fixes the error's type")]
    fn check(&self, request: &Request) -> Result<(), ErrorResponse> {
        let text = |name: header::HeaderName| request.headers().get(name).map(|value| value.to_str().unwrap_or(""));
        let (host, origin) = (text(header::HOST), text(header::ORIGIN));
        let presented = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        match self {
            Self::Anybody => Ok(()),
            _ if origin.is_some_and(|origin| !is_of(origin, host)) => Err(refused_page()),
            Self::Token(token) if presented.is_some_and(|given| same_bytes(given.as_bytes(), token.as_bytes())) => {
                Ok(())
            }
            Self::Token(_) => Err(refusal(StatusCode::UNAUTHORIZED, "a bearer token is needed")),
            Self::Loopback if !host.is_some_and(is_loopback) => {
                Err(refusal(StatusCode::FORBIDDEN, "the host must be a loopback address"))
            }
            Self::Loopback => Ok(()),
            Self::Remote if origin.is_some() && !host.is_some_and(is_loopback) => Err(refused_page()),
            Self::Remote => Ok(()),
        }
    }
}

/// Whether a page's origin is the authority that was called.
fn is_of(origin: &str, host: Option<&str>) -> bool {
    let authority = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    authority.is_some() && authority == host
}

/// Whether an authority (`host` or `host:port`) is a loopback address or `localhost`.
fn is_loopback(authority: &str) -> bool {
    let (host, rest) = match authority.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((inner, rest)) if inner.parse::<Ipv6Addr>().is_ok() => (inner, rest),
        Some(_) => return false,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port_fits = rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    let host_fits =
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    port_fits && host_fits
}

/// Any page the user visits could otherwise reach the port on loopback.
fn refused_page() -> ErrorResponse {
    refusal(StatusCode::FORBIDDEN, "requests of web pages are not accepted")
}

/// Compares without telling by its time where the first difference is.
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}

fn refusal(status: StatusCode, reason: &str) -> ErrorResponse {
    let mut response = ErrorResponse::new(Some(reason.to_owned()));
    *response.status_mut() = status;
    response
}

/// Reads messages.
pub struct SocketReader<S>(SplitStream<WebSocketStream<Resumed<S>>>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Receive for SocketReader<S> {
    async fn receive(&mut self) -> io::Result<Received> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(Received::Message(text.into())),
                Some(Ok(Message::Binary(bytes))) => return Ok(Received::Message(bytes)),
                Some(Ok(Message::Close(_))) | None => return Ok(Received::End),
                // Pings are answered by the WebSocket layer.
                Some(Ok(_)) => {}
                Some(Err(Error::Capacity(CapacityError::MessageTooLong { .. }))) => return Ok(Received::TooLarge),
                Some(Err(Error::Utf8(_))) => {
                    let error = ErrorObject::new(PARSE_ERROR, "parseError", "Parse error: message is not UTF-8");
                    return Ok(Received::Unreadable(error));
                }
                Some(Err(error)) => return Err(io::Error::other(error)),
            }
        }
    }
}

/// Writes messages.
pub struct SocketWriter<S>(SplitSink<WebSocketStream<Resumed<S>>, Message>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Transmit for SocketWriter<S> {
    async fn transmit(&mut self, batch: Vec<Bytes>) -> io::Result<()> {
        for message in batch {
            let text = Utf8Bytes::try_from(message).map_err(io::Error::other)?;
            self.0.feed(Message::Text(text)).await.map_err(io::Error::other)?;
        }
        self.0.flush().await.map_err(io::Error::other)
    }

    async fn end(&mut self) {
        // An error means that the client is gone already.
        let _ = self.0.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&'static str, &str)]) -> Request {
        let mut request = Request::new(());
        for (name, value) in headers {
            request
                .headers_mut()
                .insert(*name, HeaderValue::from_str(value).expect("header"));
        }
        request
    }

    #[test]
    fn who_may_upgrade() {
        const OK: u16 = 101;
        let here = Admission::Loopback;
        let token = Admission::Token("secret".to_owned());
        let host = ("host", "127.0.0.1:4000");
        for (admission, headers, expected) in [
            (&here, vec![host], OK),
            (&here, vec![("host", "localhost:1")], OK),
            (&here, vec![("host", "LOCALHOST")], OK),
            (&here, vec![("host", "127.8.0.9")], OK),
            (&here, vec![("host", "[::1]:4000")], OK),
            (&here, vec![], 403),
            (&here, vec![("host", "evil.example:4000")], 403),
            (&here, vec![("host", "10.0.0.1:4000")], 403),
            (&here, vec![("host", "127.0.0.1.evil.example")], 403),
            (&here, vec![("host", "127.0.0.1:4000@evil.example")], 403),
            (&here, vec![("host", "[::1].evil.example:4000")], 403),
            (&here, vec![host, ("origin", "http://127.0.0.1:4000")], OK),
            (&here, vec![host, ("origin", "http://127.0.0.1:4001")], 403),
            (&here, vec![host, ("origin", "https://example.com")], 403),
            (&here, vec![host, ("origin", "null")], 403),
            (
                &here,
                vec![("host", "evil.example:1"), ("origin", "http://evil.example:1")],
                403,
            ),
            (&Admission::Remote, vec![("host", "box.example:1")], OK),
            (
                &Admission::Remote,
                vec![("host", "box.example:1"), ("origin", "http://box.example:1")],
                403,
            ),
            (&token, vec![host], 401),
            (&token, vec![host, ("authorization", "Bearer secreT")], 401),
            (&token, vec![host, ("authorization", "Bearer secret")], OK),
            (
                &token,
                vec![("host", "box.example"), ("authorization", "Bearer secret")],
                OK,
            ),
            (
                &token,
                vec![
                    host,
                    ("origin", "https://example.com"),
                    ("authorization", "Bearer secret"),
                ],
                403,
            ),
            (&Admission::Anybody, vec![], OK),
        ] {
            let refused = admission.check(&request(&headers)).err();
            let status = refused.map_or(OK, |response| response.status().as_u16());
            assert_eq!(status, expected, "{headers:?} {admission:?}");
        }
    }
}
