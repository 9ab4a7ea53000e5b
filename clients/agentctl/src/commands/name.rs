//! `agentctl name`: gives a thread a name.

use agentd_client::Home;
use anyhow::Context;

use super::find_thread;
use crate::access;
use crate::cli::NameArgs;
use crate::exit::Exit;

pub(crate) fn run(home: &Home, args: &NameArgs) -> anyhow::Result<Exit> {
    let client = access::open(home)?;
    let id = find_thread(&client, &args.id)?;
    client.thread_name_set(&id, &args.name).context("name the thread")?;
    eprintln!("{id} is called {}", args.name.trim());
    Ok(Exit::Completed)
}
