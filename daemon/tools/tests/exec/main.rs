//! Command runs with real child processes. This binary is the tests and the sandbox helper.

// Tests may end by panicking, and this binary prints its own report.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod crowd;
#[path = "../../../sandbox/tests/helper/harness.rs"]
mod harness;
mod helpers;
mod runs;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(agentd_sandbox::HELPER_ARG) {
        agentd_sandbox::helper_main();
    }
    agentd_sandbox::adopt_orphans().unwrap();
    // The crowd fills the process's places for commands, so nothing else may run beside it.
    if std::env::args().nth(1).as_deref() == Some(crowd::ARG) {
        crowd::main();
        return ExitCode::SUCCESS;
    }
    let mut tests = runs::TESTS.to_vec();
    tests.extend_from_slice(crowd::TESTS);
    tests.extend_from_slice(helpers::TESTS);
    let report = agentd_sandbox::probe();
    if report.tier.is_some() {
        tests.extend_from_slice(runs::CONFINED_TESTS);
    } else {
        eprintln!(
            "SKIPPED: all confined runs, this machine lacks {}",
            report.missing.join(", ")
        );
    }
    harness::main(&tests)
}
