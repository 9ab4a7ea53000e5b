//! The rehearsal: a built-in provider that plays fixed scenes over real HTTP, for trying the daemon without a key.
//!
//! It is not a language model and says so. Owns a listener on the loopback interface; knows nothing of threads: each
//! request carries all that [`script`] looks at. See [`http`] for the wire.

mod http;
mod script;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// More connections wait in the kernel's queue.
const CONNECTION_LIMIT: usize = 128;
/// Pause after an accept that failed (no file descriptors left, as a rule).
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// The running rehearsal. Its tasks belong to the tracker it was started with and end with the shutdown token.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    address: SocketAddr,
}

impl Rehearsal {
    /// Listens on a free port of 127.0.0.1. Fails if that cannot be had.
    pub async fn start(tracker: &TaskTracker, shutdown: CancellationToken) -> std::io::Result<Rehearsal> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let connections = tracker.clone();
        tracker.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = accept(listener, connections, shutdown.clone()) => {}
            }
        });
        Ok(Rehearsal { address })
    }

    /// For the provider's `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

async fn accept(listener: TcpListener, tracker: TaskTracker, shutdown: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTION_LIMIT));
    while let Ok(place) = places.clone().acquire_owned().await {
        let socket: TcpStream = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::warn!(%error, "rehearsal: accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let shutdown = shutdown.clone();
        tracker.spawn(async move {
            let _place = place;
            tokio::select! {
                () = shutdown.cancelled() => {}
                ended = http::serve(socket) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "rehearsal: connection ended");
                    }
                }
            }
        });
    }
}
