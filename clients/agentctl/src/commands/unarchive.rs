//! `agentctl unarchive`: brings a thread back.

use agentd_client::Home;
use anyhow::Context;

use super::find_among;
use crate::access;
use crate::cli::ThreadArgs;
use crate::exit::Exit;

pub(crate) fn run(home: &Home, args: &ThreadArgs) -> anyhow::Result<Exit> {
    let client = access::open(home)?;
    let id = find_among(&client, &args.id, true)?;
    client.thread_unarchive(&id).context("unarchive the thread")?;
    eprintln!("{id} is back");
    Ok(Exit::Completed)
}
