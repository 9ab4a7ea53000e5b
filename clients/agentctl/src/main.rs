//! `agentctl`, the command-line client of agentd: parse, run one command, report. Everything else lives in one file per
//! command (`commands/`), in what commands share (`turn`, `approve`, `access`, `lifecycle`), and in `render/`.

mod access;
mod approve;
mod cli;
mod commands;
mod exit;
mod interrupt;
mod lifecycle;
mod render;
mod tty;
mod turn;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            let quiet = error
                .downcast_ref::<exit::OutputLost>()
                .is_some_and(exit::OutputLost::reader_left);
            if !quiet {
                eprintln!("agentctl: {error:#}");
            }
            match error.downcast_ref::<exit::UsageError>() {
                Some(_) => exit::Exit::Usage.into(),
                None => exit::Exit::Failed.into(),
            }
        }
    }
}
