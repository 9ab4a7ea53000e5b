//! A connection on a Unix socket speaks WebSocket or JSON lines; its first byte tells which.
//!
//! An HTTP upgrade begins with `GET `, and no JSON text begins with `G`. Looks at the byte without taking it.

use std::io;

use rustix::net::{RecvFlags, recv};
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::json_lines::{LineReader, LineWriter};
use super::websocket::{self, Admission};
use crate::rpc::connection::Server;

/// Serves the connection until it ends. A client that has not said a word yet does not keep the daemon from ending.
pub async fn serve(server: Server, stream: UnixStream) {
    let ending = server.daemon.shutdown.clone();
    match ending
        .run_until_cancelled(first_byte(&stream))
        .await
        .unwrap_or(Ok(None))
    {
        Ok(Some(b'G')) => websocket::serve(server, stream, Admission::Anybody).await,
        Ok(Some(_)) => {
            let (reader, writer) = stream.into_split();
            server.serve(LineReader::new(reader), LineWriter::new(writer)).await;
        }
        Ok(None) => {}
        Err(error) => tracing::debug!(%error, "cannot read from a new connection"),
    }
}

/// The first byte that the client sends; `None`: it left without a word.
async fn first_byte(stream: &UnixStream) -> io::Result<Option<u8>> {
    let mut byte = [0u8; 1];
    stream
        .async_io(Interest::READABLE, || {
            let (read, _) = recv(stream, &mut byte, RecvFlags::PEEK)?;
            Ok(read)
        })
        .await
        .map(|read| (read > 0).then_some(byte[0]))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn the_first_byte_is_seen_and_left_in_place() {
        let (mut near, mut far) = UnixStream::pair().expect("pair");
        near.write_all(b"GET /").await.expect("written");
        assert_eq!(first_byte(&far).await.expect("readable"), Some(b'G'));
        let mut all = [0u8; 5];
        far.read_exact(&mut all).await.expect("all of it");
        assert_eq!(&all, b"GET /");
        drop(near);
        assert_eq!(first_byte(&far).await.expect("readable"), None);
    }
}
