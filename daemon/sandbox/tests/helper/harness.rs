//! A test runner for test binaries that are their own sandbox helper: the standard one owns `main`, and the helper must
//! start before it. Knows filters, `--exact` and `--list`.

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A test: name and body. It fails by panicking.
pub(crate) type Test = (&'static str, fn());

/// Tests that run at once: most of them wait.
const WORKERS: usize = 4;

/// Runs the tests that the arguments ask for.
pub(crate) fn main(tests: &[Test]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let exact = arguments.iter().any(|argument| argument == "--exact");
    let filters: Vec<&String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let asked = |name: &str| {
        filters.is_empty()
            || filters.iter().any(|filter| {
                if exact {
                    name == *filter
                } else {
                    name.contains(filter.as_str())
                }
            })
    };
    let chosen: Vec<&Test> = tests.iter().filter(|(name, _)| asked(name)).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        chosen.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((name, body)) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    let passed = catch_unwind(body).is_ok();
                    failed.fetch_add(usize::from(!passed), Ordering::Relaxed);
                    println!(
                        "test {name} ... {} ({:?})",
                        if passed { "ok" } else { "FAILED" },
                        began.elapsed()
                    );
                }
            });
        }
    });
    let failed = failed.into_inner();
    println!(
        "\ntest result: {}. {} passed; {failed} failed",
        if failed == 0 { "ok" } else { "FAILED" },
        chosen.len() - failed
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
