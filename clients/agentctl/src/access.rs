//! The way to a daemon that can do the work: connect or start, and see to it that it has the credentials that this shell
//! has. It owns the advice to people who have none.

use std::env;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

use agentd_client::{Client, ClientError, ClientName, Home, connect_or_start};
use agentd_protocol::methods::account::AccountReadResponse;
use agentd_protocol::thread::ThreadStatus;
use anyhow::{Context, bail};

use crate::lifecycle;

/// How this program introduces itself.
pub(crate) const NAME: ClientName<'static> = ClientName {
    name: "agentctl",
    version: env!("CARGO_PKG_VERSION"),
};
/// Provider id of the default provider.
pub(crate) const OPENAI: &str = "openai";
/// Provider id of the scripted model.
pub(crate) const REHEARSAL: &str = "rehearsal";
/// Said once wherever the scripted model is used.
pub(crate) const REHEARSAL_NOTE: &str =
    "note: the rehearsal provider is a script that plays fixed scenes; it is not a language model";

const KEY: &str = "OPENAI_API_KEY";
const RESTART_LIMIT: Duration = Duration::from_secs(10);

/// A connection to the daemon of `home`; starts one if none runs.
pub(crate) fn open(home: &Home) -> Result<Client, ClientError> {
    let launch = connect_or_start(home, NAME)?;
    if let Some(child) = &launch.started
        && stderr().is_terminal()
    {
        eprintln!("started agentd (pid {}) in {}", child.id(), home.root().display());
    }
    Ok(launch.client)
}

/// The daemon's version and that of the protocol it speaks, out of how it called itself: `agentctl/P (…) agentd/V`. What
/// does not read like that is given as it is.
pub(crate) fn version(user_agent: &str) -> String {
    let own = user_agent.rsplit_once(" agentd/").map(|(_, version)| version);
    let protocol = user_agent
        .split_whitespace()
        .next()
        .and_then(|name| name.rsplit_once('/'))
        .map(|(_, version)| version);
    match (own, protocol) {
        (Some(own), Some(protocol)) => format!("agentd {own} (protocol {protocol})"),
        _ => user_agent.to_owned(),
    }
}

/// Sees to it that the daemon has credentials for its configured provider, and gives the connection to go on with (a new
/// one if the daemon was restarted). If it lacks a key that this shell has, and no thread is at work, it is restarted so
/// that it has the key. The error is what to tell the person.
pub(crate) fn with_credentials(client: Client, home: &Home) -> anyhow::Result<Client> {
    let account = match client.account_read() {
        Ok(account) => account,
        // A daemon that does not know the method has no opinion; the turn itself will tell.
        Err(ClientError::Rpc { .. }) => return Ok(client),
        Err(error) => return Err(error).context("ask the daemon for its account"),
    };
    if !is_missing(&account) {
        return Ok(client);
    }
    if env::var_os(KEY).is_none_or(|key| key.is_empty()) {
        bail!(
            "no model provider is set up: export {KEY}=… or add one to {}; to try without: agentctl exec --rehearsal \
             'rehearsal: tour'",
            home.root().join("config.toml").display()
        );
    }
    if let Some(thread) = active_thread(&client)? {
        bail!(
            "the running daemon was started without {KEY} and is at work on thread {thread}; when that is done, run: \
             agentctl daemon restart"
        );
    }
    drop(client);
    eprintln!("agentctl: the running daemon was started without {KEY}; restarting it so that it has the key");
    lifecycle::stop(home, RESTART_LIMIT, false)?;
    let client = open(home)?;
    if client.account_read().is_ok_and(|account| is_missing(&account)) {
        bail!("the daemon does not take {KEY} for its configured provider");
    }
    Ok(client)
}

/// What to do about a turn that failed because the daemon lacks the key of its provider; `None` for any other failure.
pub(crate) fn advice(error: &str) -> Option<String> {
    let variable = error
        .strip_prefix("Missing environment variable: `")?
        .split('`')
        .next()?;
    let known_here = env::var_os(variable).is_some_and(|key| !key.is_empty());
    Some(if known_here {
        format!("this shell has {variable}, the running daemon has not; run: agentctl daemon restart")
    } else {
        format!(
            "export {variable}=… and run: agentctl daemon restart; to try without: agentctl exec --rehearsal 'rehearsal: tour'"
        )
    })
}

/// Whether turns of the configured provider would fail for want of credentials.
fn is_missing(account: &AccountReadResponse) -> bool {
    account.account.is_none() && account.requires_openai_auth
}

fn active_thread(client: &Client) -> Result<Option<String>, ClientError> {
    for id in client.thread_loaded_list()? {
        match client.thread_read(&id, false) {
            Ok(thread) if matches!(thread.status, ThreadStatus::Active { .. }) => return Ok(Some(id)),
            // Unloaded in between: not at work.
            Ok(_) | Err(ClientError::Rpc { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{advice, version};

    #[test]
    fn the_version_is_taken_out_of_the_user_agent() {
        let agent = "agentctl/0.171.0 (Debian 12.0.0; x86_64) agentd/0.1.0";
        assert_eq!(version(agent), "agentd 0.1.0 (protocol 0.171.0)");
        assert_eq!(version("another daemon"), "another daemon");
    }

    #[test]
    fn only_a_missing_key_gets_advice() {
        let text = advice("Missing environment variable: `NO_SUCH_KEY_1` (provider `p` takes its API key from it)");
        assert!(text.is_some_and(|text| text.contains("export NO_SUCH_KEY_1=")));
        assert_eq!(advice("stream disconnected"), None);
    }
}
