//! Where the server can be reached besides stdio: the home's socket always, one more place if asked for.
//!
//! Owns the accepting tasks; a connection's own task belongs to the daemon's tracker.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::home::Home;
use super::socket::{BoundSocket, home_socket};
use crate::cli::{Listen, Serve};
use crate::config::Config;
use crate::rpc::connection::Server;
use crate::rpc::transport::{unix, websocket};

/// Pause after an accept that failed, e.g. because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Bound, not yet accepting.
#[derive(Debug)]
pub struct Listeners {
    sockets: Vec<BoundSocket>,
    tcp: Option<(TcpListener, websocket::Admission)>,
}

/// Accepting tasks.
#[derive(Debug)]
pub struct Accepting {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Listeners {
    /// Binds what is asked for.
    ///
    /// # Errors
    /// A place is taken, or must not be listened on.
    pub async fn bind(home: &Home, task: &Serve, config: &Config) -> anyhow::Result<Self> {
        let mut sockets = vec![BoundSocket::bind(&home_socket(home.path())).await?];
        let mut tcp = None;
        match &task.listen {
            Listen::Stdio | Listen::Unix(None) => {}
            Listen::Unix(Some(path)) => {
                let path = std::path::absolute(path).context("resolve the socket's path")?;
                if path != home_socket(home.path()) {
                    sockets.push(BoundSocket::bind(&path).await?);
                }
            }
            Listen::WebSocket(address) => tcp = Some(bind_tcp(*address, task.ws_token.clone(), config).await?),
        }
        Ok(Self { sockets, tcp })
    }

    /// For the lock file.
    pub fn describe(&self) -> String {
        let sockets = self
            .sockets
            .iter()
            .map(|socket| format!("socket={}", socket.path.display()));
        let tcp = self
            .tcp
            .iter()
            .filter_map(|(listener, _)| Some(format!("ws={}", listener.local_addr().ok()?)));
        sockets.chain(tcp).collect::<Vec<_>>().join(" ")
    }

    /// Accepts from now on.
    pub fn accept(self, server: &Server) -> Accepting {
        let (mut tasks, stop) = (JoinSet::new(), CancellationToken::new());
        for socket in self.sockets {
            tasks.spawn(accept_unix(socket, server.clone(), stop.clone()));
        }
        if let Some((listener, admission)) = self.tcp {
            tasks.spawn(accept_tcp(listener, admission, server.clone(), stop.clone()));
        }
        Accepting { tasks, stop }
    }
}

impl Accepting {
    /// Accepts no more; the sockets' files are gone when this returns.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Without a token only this machine may reach the port, unless the configuration says otherwise.
async fn bind_tcp(
    address: SocketAddr,
    token: Option<String>,
    config: &Config,
) -> anyhow::Result<(TcpListener, websocket::Admission)> {
    if !address.ip().is_loopback() && token.is_none() && !config.allow_remote_websocket {
        bail!(
            "ws://{address} can be reached from other machines: pass --ws-token, or set allow_remote_websocket = true in \
             config.toml"
        );
    }
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("listen on ws://{address}"))?;
    // With port 0 this is the only way to learn the port.
    eprintln!("agentd: listening on ws://{}", listener.local_addr()?);
    let admission = match token {
        Some(token) => websocket::Admission::Token(token),
        None if address.ip().is_loopback() => websocket::Admission::Loopback,
        None => websocket::Admission::Remote,
    };
    Ok((listener, admission))
}

async fn accept_unix(socket: BoundSocket, server: Server, stop: CancellationToken) {
    while let Some(accepted) = stop.run_until_cancelled(socket.listener.accept()).await {
        match accepted {
            Ok((stream, _)) if is_command(&stream) => {
                tracing::warn!("a command of a turn tried to reach the daemon's socket; refused");
            }
            Ok((stream, _)) => drop(server.daemon.tracker.spawn(unix::serve(server.clone(), stream))),
            Err(error) => pause_after(&error).await,
        }
    }
}

fn is_command(stream: &tokio::net::UnixStream) -> bool {
    let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
    pid.is_some_and(super::peers::is_own_command)
}

async fn accept_tcp(listener: TcpListener, admission: websocket::Admission, server: Server, stop: CancellationToken) {
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => drop(
                server
                    .daemon
                    .tracker
                    .spawn(serve_tcp(server.clone(), stream, admission.clone())),
            ),
            Err(error) => pause_after(&error).await,
        }
    }
}

async fn serve_tcp(server: Server, stream: TcpStream, admission: websocket::Admission) {
    // Small messages must not wait for each other; without it they are only slower.
    let _ = stream.set_nodelay(true);
    websocket::serve(server, stream, admission).await;
}

async fn pause_after(error: &io::Error) {
    tracing::warn!(%error, "cannot accept a connection");
    tokio::time::sleep(ACCEPT_PAUSE).await;
}
