//! Standard input and output connected to a server's socket, byte for byte.

use anyhow::bail;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;

const BUFFER: usize = 64 * 1024;

/// Copies both ways until the client has closed its side and read everything, or the server ends.
pub async fn run(stream: UnixStream) -> anyhow::Result<()> {
    let (from_server, to_server) = stream.into_split();
    let mut inward = Box::pin(copy(tokio::io::stdin(), to_server));
    let mut outward = Box::pin(copy(from_server, tokio::io::stdout()));
    tokio::select! {
        // The client left; the server answers what it was asked, then closes.
        sent = &mut inward => {
            sent?;
            outward.await
        }
        received = &mut outward => {
            received?;
            bail!("the server closed the connection")
        }
    }
}

async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> anyhow::Result<()> {
    let mut buffer = vec![0u8; BUFFER];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        to.write_all(buffer.get(..read).unwrap_or_default()).await?;
        to.flush().await?;
    }
    // An error means that the other side is gone already.
    let _ = to.shutdown().await;
    Ok(())
}
