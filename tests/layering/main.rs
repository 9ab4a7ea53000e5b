//! The floors of the house: who may use whom. Reads `cargo metadata` and the sources; fails on a violation.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What each workspace crate may use of the others (normal and build dependencies).
const ALLOWED: &[(&str, &[&str])] = &[
    ("agentd-protocol", &[]),
    ("agentd-prompts", &[]),
    ("agentd-sandbox", &["agentd-protocol"]),
    ("agentd-engine", &["agentd-protocol", "agentd-prompts"]),
    ("agentd-model", &["agentd-engine", "agentd-protocol"]),
    ("agentd-store", &["agentd-engine", "agentd-protocol"]),
    ("agentd-tools", &["agentd-engine", "agentd-protocol", "agentd-sandbox"]),
    (
        "agentd",
        &[
            "agentd-engine",
            "agentd-model",
            "agentd-prompts",
            "agentd-protocol",
            "agentd-sandbox",
            "agentd-store",
            "agentd-tools",
        ],
    ),
    ("agentd-client", &["agentd-protocol"]),
    ("agentctl", &["agentd-client", "agentd-protocol"]),
    ("agentd-schema", &["agentd-protocol"]),
    ("agentd-tests", &["agentd-protocol"]),
];

/// Crates that only one of ours may name directly.
const ONLY: &[(&str, &str)] = &[
    ("rusqlite", "agentd-store"),
    ("reqwest", "agentd-model"),
    ("landlock", "agentd-sandbox"),
    ("seccompiler", "agentd-sandbox"),
];

/// Crates that must not be anywhere in the engine's or the protocol's tree.
const PURE: &[&str] = &[
    "tokio",
    "reqwest",
    "rusqlite",
    "getrandom",
    "rand",
    "uuid",
    "jiff",
    "libc",
    "rustix",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let out = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn packages(metadata: &Value) -> Vec<&Value> {
    let members: BTreeSet<&str> = metadata["workspace_members"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|p| members.contains(p["id"].as_str().unwrap()))
        .collect()
}

fn direct(package: &Value) -> Vec<&str> {
    let dependencies = package["dependencies"].as_array().unwrap();
    dependencies
        .iter()
        .filter(|d| d["kind"].as_str() != Some("dev"))
        .filter_map(|d| d["name"].as_str())
        .collect()
}

#[test]
fn arrows_run_downwards_only() {
    let metadata = metadata();
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    for package in packages(&metadata) {
        let name = package["name"].as_str().unwrap();
        let may = allowed.get(name).unwrap_or_else(|| panic!("{name} is on no floor"));
        for used in direct(package).into_iter().filter(|used| allowed.contains_key(used)) {
            assert!(may.contains(&used), "{name} must not use {used}");
        }
    }
}

#[test]
fn each_foreign_power_has_one_owner() {
    let metadata = metadata();
    for package in packages(&metadata) {
        let name = package["name"].as_str().unwrap();
        for used in direct(package) {
            if let Some((_, owner)) = ONLY.iter().find(|(foreign, _)| *foreign == used) {
                assert_eq!(name, *owner, "only {owner} may name {used}");
            }
        }
    }
}

#[test]
fn the_pure_crates_have_nothing_impure_in_their_trees() {
    let metadata = metadata();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| (n["id"].as_str().unwrap(), n))
        .collect();
    let name_of = |id: &str| {
        metadata["packages"]
            .as_array()
            .unwrap()
            .iter()
            .find(|p| p["id"] == id)
            .unwrap()["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for package in packages(&metadata) {
        let name = package["name"].as_str().unwrap();
        if !["agentd-engine", "agentd-protocol", "agentd-prompts"].contains(&name) {
            continue;
        }
        let (mut seen, mut todo) = (BTreeSet::new(), vec![package["id"].as_str().unwrap()]);
        while let Some(id) = todo.pop() {
            if !seen.insert(id) {
                continue;
            }
            for dep in nodes[id]["deps"].as_array().unwrap() {
                // `libc` and friends of build scripts and of features that are off for this crate do not count.
                if dep["dep_kinds"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|k| k["kind"].is_null() && k["target"].is_null())
                {
                    todo.push(dep["pkg"].as_str().unwrap());
                }
            }
        }
        for id in seen {
            let used = name_of(id);
            assert!(!PURE.contains(&used.as_str()), "{name} has {used} in its tree");
        }
    }
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_the_sandbox_has_unsafe_code_and_the_engine_does_no_io() {
    let mut files = Vec::new();
    for part in ["protocol", "prompts", "daemon", "clients", "schema"] {
        sources(&root().join(part), &mut files);
    }
    assert!(files.len() > 50, "the sources were not found");
    for file in files {
        let shown = file.strip_prefix(root()).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text
            .lines()
            .filter(|l| !l.trim_start().starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        if !shown.starts_with("daemon/sandbox/") {
            assert!(
                !code.contains("unsafe {") && !code.contains("unsafe fn") && !code.contains("allow(unsafe_code)"),
                "{shown} has unsafe code"
            );
        }
        if shown.starts_with("daemon/engine/src/") {
            for word in [
                "std::fs",
                "std::net",
                "std::process",
                "std::thread",
                "std::env",
                "SystemTime",
                "Instant::now",
                "async fn",
            ] {
                assert!(!code.contains(word), "{shown} uses {word}");
            }
        }
    }
}

#[test]
fn every_source_file_says_what_it_owns() {
    let mut files = Vec::new();
    for part in [
        "protocol/src",
        "prompts/src",
        "daemon",
        "clients",
        "schema/src",
        "tests",
    ] {
        sources(&root().join(part), &mut files);
    }
    let silent: Vec<_> = files
        .iter()
        .filter(|f| !std::fs::read_to_string(f).unwrap().trim_start().starts_with("//!"))
        .collect();
    assert!(silent.is_empty(), "no opening `//!`: {silent:#?}");
}

#[test]
fn the_top_level_holds_what_was_agreed_and_nothing_else() {
    let out = Command::new("git").args(["ls-files"]).current_dir(root()).output();
    let Ok(out) = out else {
        return eprintln!("SKIPPED: no git here, cannot list the tree");
    };
    let tops: BTreeSet<String> = String::from_utf8_lossy(&out.stdout)
        .lines()
        .map(|l| l.split('/').next().unwrap().to_owned())
        .collect();
    let known = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "clients",
        "clippy.toml",
        "daemon",
        "prompts",
        "protocol",
        "rustfmt.toml",
        "schema",
        "tests",
    ];
    let strange: Vec<_> = tops
        .iter()
        .filter(|t| !t.starts_with('.') && !known.contains(&t.as_str()))
        .collect();
    assert!(strange.is_empty(), "not agreed: {strange:?}");
}
