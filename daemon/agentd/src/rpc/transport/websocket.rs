//! WebSocket over any byte stream: one JSON object per text frame, without compression, on any path.
//!
//! Owns the upgrade and who may upgrade. A message that is too large or no UTF-8 is answered and then ends the connection,
//! since RFC 6455 leaves no way back into the stream.

use std::io;

use agentd_protocol::rpc::{ErrorObject, PARSE_ERROR};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, header};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::{MAX_MESSAGE, Receive, Received, Transmit};

/// Tells clients up to which size a message may come in one frame.
const MAX_UNFRAGMENTED: (&str, &str) = ("x-codex-websocket-max-unfragmented-message-bytes", "16777216");
/// Buffer that each connection keeps for reading.
const READ_BUFFER: usize = 16 * 1024;

/// Who may upgrade.
#[derive(Clone, Debug)]
pub enum Admission {
    /// Everybody who reached the socket: its file mode is the guard.
    Anybody,
    /// No page of a browser; with the bearer token, if one is set.
    Tcp {
        /// The token.
        token: Option<String>,
    },
}

/// Answers the upgrade request.
///
/// # Errors
/// The client is not admitted, speaks no WebSocket, or left.
pub async fn accept<S>(stream: S, admission: Admission) -> io::Result<(SocketReader<S>, SocketWriter<S>)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
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
        if let Self::Tcp { token } = &self {
            check_tcp(request, token.as_deref())?;
        }
        response
            .headers_mut()
            .insert(MAX_UNFRAGMENTED.0, HeaderValue::from_static(MAX_UNFRAGMENTED.1));
        Ok(response)
    }
}

/// Any page the user visits could otherwise reach the port on loopback.
#[allow(clippy::result_large_err, reason = "the WebSocket crate fixes the error's type")]
fn check_tcp(request: &Request, token: Option<&str>) -> Result<(), ErrorResponse> {
    let text = |name: header::HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    if let Some(origin) = text(header::ORIGIN)
        && text(header::HOST)
            .is_none_or(|host| origin != format!("http://{host}") && origin != format!("https://{host}"))
    {
        return Err(refusal(StatusCode::FORBIDDEN, "requests of web pages are not accepted"));
    }
    let presented = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    match token {
        Some(token) if !presented.is_some_and(|given| same_bytes(given.as_bytes(), token.as_bytes())) => {
            Err(refusal(StatusCode::UNAUTHORIZED, "a bearer token is needed"))
        }
        _ => Ok(()),
    }
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
pub struct SocketReader<S>(SplitStream<WebSocketStream<S>>);

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
pub struct SocketWriter<S>(SplitSink<WebSocketStream<S>, Message>);

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
    fn tcp_refuses_foreign_pages_and_wrong_tokens() {
        let host = ("host", "127.0.0.1:4000");
        for (headers, token, expected) in [
            (vec![host], None, None),
            (vec![host, ("origin", "http://127.0.0.1:4000")], None, None),
            (
                vec![host, ("origin", "https://example.com")],
                None,
                Some(StatusCode::FORBIDDEN),
            ),
            (vec![host, ("origin", "null")], None, Some(StatusCode::FORBIDDEN)),
            (vec![host], Some("secret"), Some(StatusCode::UNAUTHORIZED)),
            (
                vec![host, ("authorization", "Bearer secreT")],
                Some("secret"),
                Some(StatusCode::UNAUTHORIZED),
            ),
            (vec![host, ("authorization", "Bearer secret")], Some("secret"), None),
        ] {
            let refused = check_tcp(&request(&headers), token)
                .err()
                .map(|response| response.status());
            assert_eq!(refused, expected, "{headers:?} {token:?}");
        }
    }
}
