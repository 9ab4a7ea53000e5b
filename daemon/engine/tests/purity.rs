//! The engine is a pure machine: its sources name nothing that performs IO, waits, reads a clock or draws lots.

#![allow(clippy::expect_used, reason = "a test may panic")]

use std::path::Path;

const FORBIDDEN: &[&str] = &[
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "SystemTime",
    "Instant",
    "tokio",
    "rand",
];

#[test]
fn the_sources_name_no_io_and_no_clock() {
    let mut files = 0;
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files > 20, "only {files} files read");
}

fn visit(folder: &Path, files: &mut usize) {
    for entry in std::fs::read_dir(folder).expect("the source folder is readable") {
        let path = entry.expect("the source folder is readable").path();
        if path.is_dir() {
            visit(&path, files);
            continue;
        }
        *files += 1;
        let text = std::fs::read_to_string(&path).expect("a source file is readable");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for (line, word) in code.flat_map(|line| FORBIDDEN.iter().map(move |word| (line, word))) {
            let names_it = line
                .split(|c: char| !(c.is_alphanumeric() || c == ':' || c == '_'))
                .any(|part| {
                    part.starts_with(word) && !part[word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
                });
            assert!(!names_it, "{}: {line}", path.display());
        }
    }
}
