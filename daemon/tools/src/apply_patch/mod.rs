//! The `apply_patch` tool: reads a patch, checks it against the files, applies all of it or nothing.
//!
//! This module owns the patch format, the matching of hunks, and safe writing below the writable folders. It asks
//! nobody: whether a patch may touch files outside those folders is decided by the caller, who then widens [`Scope`].
//! Everything here blocks; call it from a blocking thread.

mod apply;
mod litter;
mod matching;
mod parse;
mod place;
mod plan;
mod report;

use std::path::PathBuf;

use agentd_engine::input::{PatchPlan, PatchedFile};

pub use parse::{Hunk, HunkLine, LineKind, Patch, PatchError, Section, SectionKind, parse};

/// Where a patch may write.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Folder that relative paths start from, absolute.
    pub cwd: PathBuf,
    /// Folders that may be written in, absolute and with symlinks resolved.
    pub writable_roots: Vec<PathBuf>,
    /// No limits: every path may be written. Also the scope for a patch whose outside paths were approved.
    pub unrestricted: bool,
}

/// Reads a patch and checks every hunk against the files. Changes nothing.
///
/// # Errors
/// A text for the model: which file and line, what was expected, what was found, what to do next.
pub fn prepare(text: &str, scope: &Scope) -> Result<PatchPlan, String> {
    let patch = parse(text).map_err(|error| error.to_string())?;
    let steps = plan::plan(&patch, scope)?;
    Ok(PatchPlan {
        changes: report::changes(&steps),
        targets: target_texts(&steps),
        outside: report::outside(&steps, scope),
    })
}

fn target_texts(steps: &[plan::Step]) -> Vec<String> {
    report::targets(steps)
        .iter()
        .map(|real| report::path_text(real))
        .collect()
}

/// Applies a patch: all files change, or none does (created folders are removed again).
///
/// The patch is checked anew, so a file or symlink that changed since [`prepare`] is noticed. The result is ordered as
/// the model is told: added, modified, deleted files. A move is `M` for the new path and `D` for the old one.
///
/// # Errors
/// A text for the model. Says so if an original could not be put back.
pub fn apply(text: &str, scope: &Scope) -> Result<Vec<PatchedFile>, String> {
    apply_if(text, scope, |_| Ok(()))
}

/// [`apply`], unless the patch would now do anything else than `planned`: what was shown to the user and allowed is what
/// happens.
///
/// # Errors
/// As [`apply`]; also if the files, or what their paths lead to, changed since the plan was made.
pub fn apply_planned(text: &str, scope: &Scope, planned: &PatchPlan) -> Result<Vec<PatchedFile>, String> {
    apply_if(text, scope, |steps| {
        if report::changes(steps) == planned.changes && target_texts(steps) == planned.targets {
            return Ok(());
        }
        Err("the files changed after the patch was checked, so nothing was applied. Read them again and send the patch anew."
            .to_owned())
    })
}

fn apply_if(
    text: &str,
    scope: &Scope,
    check: impl FnOnce(&[plan::Step]) -> Result<(), String>,
) -> Result<Vec<PatchedFile>, String> {
    let patch = parse(text).map_err(|error| error.to_string())?;
    let steps = plan::plan(&patch, scope)?;
    check(&steps)?;
    if let Some(path) = report::outside(&steps, scope).first() {
        return Err(format!(
            "{path} is outside the writable folders, so nothing was changed. Write inside {} or ask for permission.",
            report::folders(scope)
        ));
    }
    apply::commit(&steps)?;
    Ok(report::patched(steps))
}

#[cfg(test)]
mod apply_tests;
#[cfg(test)]
mod matching_tests;
#[cfg(test)]
mod parse_tests;
