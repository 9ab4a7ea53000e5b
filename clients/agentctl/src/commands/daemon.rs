//! `agentctl daemon`: start, stop, restart, status.

use std::io::Write;
use std::time::Duration;

use agentd_client::{Client, ClientError, Home, Owner};
use anyhow::Context;

use crate::access;
use crate::cli::DaemonAction;
use crate::exit::Exit;
use crate::lifecycle::{self, Stopped};

/// How long a restart waits for the old daemon.
const RESTART_LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn run(home: &Home, action: &DaemonAction) -> anyhow::Result<Exit> {
    match action {
        DaemonAction::Start => start(home),
        DaemonAction::Stop { timeout, force } => stop(home, Duration::from_secs(*timeout), *force),
        DaemonAction::Restart => restart(home),
        DaemonAction::Status => status(home),
    }
}

fn start(home: &Home) -> anyhow::Result<Exit> {
    let launch = agentd_client::connect_or_start(home, access::NAME)?;
    match launch.started {
        Some(child) => say(&format!("started agentd (pid {})", child.id())),
        None => say("agentd runs already"),
    }
}

fn stop(home: &Home, limit: Duration, force: bool) -> anyhow::Result<Exit> {
    match lifecycle::stop(home, limit, force)? {
        Stopped::WasNotRunning => say("agentd does not run"),
        Stopped::Ended { pid, after } => say(&format!("agentd (pid {pid}) ended after {:.1} s", after.as_secs_f32())),
    }
}

fn restart(home: &Home) -> anyhow::Result<Exit> {
    lifecycle::stop(home, RESTART_LIMIT, false)?;
    start(home)
}

fn status(home: &Home) -> anyhow::Result<Exit> {
    let client = match Client::connect(home, access::NAME) {
        Ok(client) => client,
        Err(ClientError::NotRunning { .. }) => {
            say(&format!("running   no\nhome      {}", home.root().display()))?;
            return Ok(Exit::Failed);
        }
        Err(error) => return Err(error.into()),
    };
    let pid = Owner::of(home).map_or_else(|| "unknown".to_owned(), |owner| owner.pid.to_string());
    let loaded = client
        .thread_loaded_list()
        .map_or_else(|_| "unknown".to_owned(), |ids| ids.len().to_string());
    say(&format!(
        "running   yes\npid       {pid}\nversion   {}\nhome      {}\nsocket    {}\nthreads   {loaded} loaded",
        access::version(client.user_agent()),
        home.root().display(),
        home.socket().display(),
    ))
}

fn say(text: &str) -> anyhow::Result<Exit> {
    writeln!(std::io::stdout().lock(), "{text}").context("write to standard output")?;
    Ok(Exit::Completed)
}
