//! `agentctl completions`: a completion script for a shell, from the same definition as `--help`.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::Cli;
use crate::exit::Exit;

pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    // Into memory first: the generator panics when its output goes away.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "agentctl", &mut script);
    std::io::stdout()
        .lock()
        .write_all(&script)
        .context("write to standard output")?;
    Ok(Exit::Completed)
}
