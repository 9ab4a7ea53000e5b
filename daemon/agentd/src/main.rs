//! The daemon's process: parse, do, report. See `cli` for what can be asked and `lifecycle` for how it is done.

mod catalog;
mod cli;
mod config;
mod daemon;
mod lifecycle;
mod log;
mod rehearsal;
mod rpc;
mod threads;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// Stack of a runtime thread in bytes.
const THREAD_STACK: usize = 1024 * 1024;

fn main() -> ExitCode {
    // Before anything else: the helper confines itself and must still be single-threaded.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == agentd_sandbox::HELPER_ARG)
    {
        agentd_sandbox::helper_main();
    }
    let task = cli::Cli::parse().task();
    log::start();
    if let Err(error) = agentd_sandbox::adopt_orphans() {
        tracing::warn!(%error, "what a killed sandbox helper leaves behind cannot be found");
    }
    match run(task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("agentd: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: cli::Task) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(THREAD_STACK)
        .enable_all()
        .build()?;
    let outcome = match task {
        cli::Task::Serve(serve) => runtime.block_on(lifecycle::serve(serve)),
        cli::Task::Proxy => runtime.block_on(lifecycle::proxy()),
        cli::Task::WriteJsonSchema(dir) => lifecycle::schema::write_json(&dir),
        cli::Task::WriteTypeScript(dir) => lifecycle::schema::write_typescript(&dir),
    };
    // A blocked read of standard input would otherwise keep the process alive.
    runtime.shutdown_background();
    outcome
}
