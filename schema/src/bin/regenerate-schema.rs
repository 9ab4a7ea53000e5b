//! `cargo regenerate [--check] [FOLDER]`: writes the descriptions of the protocol, or exits with 1 if they are not current.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

fn main() -> Result<ExitCode> {
    let mut check = false;
    let mut folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--check" => check = true,
            option if option.starts_with('-') => {
                bail!("unknown option {option}; usage: cargo regenerate [--check] [FOLDER]")
            }
            path => folder = PathBuf::from(path),
        }
    }
    let files = agentd_schema::generate().context("could not describe the protocol")?;
    if !check {
        agentd_schema::write(&folder, &files)?;
        return Ok(ExitCode::SUCCESS);
    }
    let differing = agentd_schema::differing(&folder, &files)?;
    for name in &differing {
        eprintln!("not current: {}", folder.join(name).display());
    }
    if !differing.is_empty() {
        eprintln!("run `cargo regenerate` and commit the result");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
