//! The sandbox with real child processes. This binary is the tests, the helper and, as `payload`, the confined command.

// Tests may end by panicking, and this binary prints its own report.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod confinement;
mod daemon;
mod harness;
mod lifetime;
mod payload;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(agentd_sandbox::HELPER_ARG) => agentd_sandbox::helper_main(),
        Some(payload::ARG) => payload::main(&arguments[1..]),
        _ => {
            let mut tests = lifetime::TESTS.to_vec();
            let report = agentd_sandbox::probe();
            if report.tier.is_some() {
                tests.extend_from_slice(confinement::TESTS);
            } else {
                eprintln!(
                    "SKIPPED: all confinement tests, this machine lacks {}",
                    report.missing.join(", ")
                );
            }
            harness::main(&tests)
        }
    }
}
