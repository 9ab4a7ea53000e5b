//! `agentctl fork`: a new thread with the past of another one; its id goes to standard output.

use std::io::Write;

use agentd_client::Home;
use anyhow::Context;

use super::find_thread;
use crate::access;
use crate::cli::ThreadArgs;
use crate::exit::Exit;

pub(crate) fn run(home: &Home, args: &ThreadArgs) -> anyhow::Result<Exit> {
    let client = access::open(home)?;
    let id = find_thread(&client, &args.id)?;
    let fork = client.thread_fork(&id).context("fork the thread")?;
    writeln!(std::io::stdout().lock(), "{}", fork.id).context("write to standard output")?;
    Ok(Exit::Completed)
}
