//! How the process comes to serve and how it ends: home, lock, listeners, signals.
//!
//! One server per home. On stdio, a process that finds the home taken becomes a pipe to the running server.

pub mod home;
mod listeners;
mod lock;
mod peers;
mod pipe;
pub mod schema;
mod signals;
mod socket;
mod stdio;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::net::UnixStream;
use tokio::time::Instant;

use self::home::Home;
use self::listeners::Listeners;
use self::lock::{Attempt, Lock};
use self::signals::Signals;
use crate::cli::{Listen, Serve};
use crate::config::Config;
use crate::daemon::Daemon;
use crate::rpc::connection::Server;
use crate::rpc::dispatch::Dispatch;
use crate::rpc::handlers;
use crate::rpc::table::Table;

/// How long to wait for a server that holds the lock and is starting or ending.
const ATTACH_LIMIT: Duration = Duration::from_secs(5);
/// How long to wait for a server that says it is listening.
const LISTENING_LIMIT: Duration = Duration::from_secs(1);
/// Pause between two attempts.
const RETRY_EVERY: Duration = Duration::from_millis(10);

/// Serves until the process is asked to end, or nobody needs it any more.
pub async fn serve(task: Serve) -> anyhow::Result<()> {
    let home = Home::open(Home::from_env()?)?;
    let role = match task.listen {
        Listen::Stdio => attach_or_lock(&home).await?,
        Listen::Unix(_) | Listen::WebSocket(_) => match Lock::attempt(home.path())? {
            Attempt::Taken(lock) => Role::Server(lock),
            Attempt::Held(holder) => bail!("another agentd serves {}: {holder}", home.path().display()),
        },
    };
    match role {
        Role::Server(lock) => run_server(home, lock, task).await,
        Role::Client(stream) => pipe::run(stream).await,
    }
}

/// Connects standard input and output to the running server.
pub async fn proxy() -> anyhow::Result<()> {
    let home = Home::from_env()?;
    let path = socket::home_socket(&home);
    let stream = socket::connect(&path)
        .await
        .with_context(|| format!("connect to {}", path.display()))?;
    pipe::run(stream).await
}

enum Role {
    Server(Lock),
    Client(UnixStream),
}

/// Takes the lock, or connects to who has it. Tries again while the holder is starting or ending.
async fn attach_or_lock(home: &Home) -> anyhow::Result<Role> {
    let path = socket::home_socket(home.path());
    let started = Instant::now();
    loop {
        let holder = match Lock::attempt(home.path())? {
            Attempt::Taken(lock) => return Ok(Role::Server(lock)),
            Attempt::Held(holder) => holder,
        };
        if let Ok(stream) = socket::connect(&path).await {
            return Ok(Role::Client(stream));
        }
        let limit = if holder.is_listening() {
            LISTENING_LIMIT
        } else {
            ATTACH_LIMIT
        };
        if started.elapsed() > limit {
            bail!(
                "another agentd serves {} but cannot be reached at {}: {holder}",
                home.path().display(),
                path.display()
            );
        }
        tokio::time::sleep(RETRY_EVERY).await;
    }
}

async fn run_server(home: Home, mut lock: Lock, task: Serve) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let config = Config::load(home.path(), &task.overrides)?;
    let listeners = Listeners::bind(&home, &task, &config).await?;
    let daemon = Daemon::start(home, config).await?;
    let server = server(daemon.clone())?;
    lock.describe(&listeners.describe())?;
    let accepting = listeners.accept(&server);
    let asked_to_end = match task.listen {
        Listen::Stdio => {
            tokio::select! {
                () = stdio::serve_until_unused(server) => false,
                () = signals.asked_to_end() => true,
            }
        }
        Listen::Unix(_) | Listen::WebSocket(_) => {
            signals.asked_to_end().await;
            true
        }
    };
    // Whoever comes now waits for the lock instead of for a socket.
    lock.describe("ending")?;
    accepting.stop().await;
    if asked_to_end {
        drain(&daemon, &mut signals).await;
    }
    daemon.stop().await;
    drop(lock);
    Ok(())
}

/// Lets running turns finish, for as long as is configured and nobody asks again.
async fn drain(daemon: &Daemon, signals: &mut Signals) {
    tokio::select! {
        () = daemon.quiet() => {}
        () = tokio::time::sleep(daemon.config.shutdown_grace) => {}
        () = signals.asked_to_end() => {}
    }
}

fn server(daemon: Arc<Daemon>) -> anyhow::Result<Server> {
    let mut table = Table::new(daemon.clone());
    handlers::register(&mut table);
    let methods = table.finish().map_err(anyhow::Error::msg)?;
    Ok(Server {
        daemon,
        dispatch: Arc::new(Dispatch::new(methods)),
    })
}
