//! `agentctl archive`: puts a thread away.

use agentd_client::Home;
use anyhow::Context;

use super::find_thread;
use crate::access;
use crate::cli::ThreadArgs;
use crate::exit::Exit;

pub(crate) fn run(home: &Home, args: &ThreadArgs) -> anyhow::Result<Exit> {
    let client = access::open(home)?;
    let id = find_thread(&client, &args.id)?;
    client.thread_archive(&id).context("archive the thread")?;
    eprintln!("{id} is put away; bring it back with: agentctl unarchive {id}");
    Ok(Exit::Completed)
}
