//! What a patch would do or did, as the protocol and the engine want to hear it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentd_engine::input::PatchedFile;
use agentd_protocol::item::{FileUpdateChange, PatchChangeKind};
use similar::TextDiff;

use super::Scope;
use super::place;
use super::plan::{Change, Step};

/// After this time a diff may be larger than needed, but it is done.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);
const CONTEXT_LINES: usize = 3;

/// The files for clients, sorted by path.
pub(super) fn changes(steps: &[Step]) -> Vec<FileUpdateChange> {
    let mut changes: Vec<_> = steps.iter().map(change).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

fn change(step: &Step) -> FileUpdateChange {
    let (kind, diff) = match &step.change {
        Change::Add { content } | Change::Keep { content } => (PatchChangeKind::Add, lossy(content)),
        Change::Delete { before, .. } => (PatchChangeKind::Delete, lossy(before)),
        Change::Update { before, after, .. } => (PatchChangeKind::Update { move_path: None }, unified(before, after)),
        Change::Move { before, after, to, .. } => (
            PatchChangeKind::Update {
                move_path: Some(to.path.clone()),
            },
            format!("{}\n\nMoved to: {}", unified(before, after), to.path),
        ),
    };
    FileUpdateChange {
        path: step.target.path.clone(),
        kind,
        diff,
    }
}

/// Unified hunks without file headers.
fn unified(before: &[u8], after: &[u8]) -> String {
    let (before, after) = (lossy(before), lossy(after));
    let diff = TextDiff::configure()
        .timeout(DIFF_TIMEOUT)
        .diff_lines(before.as_str(), after.as_str());
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT_LINES);
    unified.iter_hunks().map(|hunk| hunk.to_string()).collect()
}

/// Real paths of everything the steps touch, in order, each once.
pub(super) fn targets(steps: &[Step]) -> Vec<PathBuf> {
    let mut targets = Vec::new();
    let mut note = |real: PathBuf| {
        if !targets.contains(&real) {
            targets.push(real);
        }
    };
    for step in steps {
        note(step.target.place.real());
        if let Change::Move { to, .. } = &step.change {
            note(to.place.real());
        }
    }
    targets
}

/// Those of them outside the writable folders.
pub(super) fn outside(steps: &[Step], scope: &Scope) -> Vec<String> {
    targets(steps)
        .iter()
        .filter(|real| !place::inside(real, scope))
        .map(|real| path_text(real))
        .collect()
}

/// The writable folders as a phrase.
pub(super) fn folders(scope: &Scope) -> String {
    if scope.writable_roots.is_empty() {
        return "nowhere (this thread is read-only)".to_owned();
    }
    scope
        .writable_roots
        .iter()
        .map(|root| path_text(root))
        .collect::<Vec<_>>()
        .join(" or ")
}

/// The files after the patch: added, then modified, then deleted ones.
pub(super) fn patched(steps: Vec<Step>) -> Vec<PatchedFile> {
    let mut files = Vec::with_capacity(steps.len());
    for Step { target, change } in steps {
        let (letter, before, after) = match change {
            Change::Add { content } => ('A', None, Some(content)),
            Change::Keep { content } => ('A', Some(content.clone()), Some(content)),
            Change::Update { before, after, .. } => ('M', Some(before), Some(after)),
            Change::Delete { before, .. } => ('D', Some(before), None),
            Change::Move { before, after, to, .. } => {
                files.push(file(to.path, 'M', to.shown, None, Some(&after)));
                ('D', Some(before), None)
            }
        };
        files.push(file(
            target.path,
            letter,
            target.shown,
            before.as_deref(),
            after.as_deref(),
        ));
    }
    files.sort_by_key(|file| "AMD".find(file.letter));
    files
}

fn file(path: String, letter: char, shown_path: String, before: Option<&[u8]>, after: Option<&[u8]>) -> PatchedFile {
    PatchedFile {
        path,
        letter,
        shown_path,
        before: before.map(lossy),
        after: after.map(lossy),
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A path as text; bytes that are not UTF-8 are replaced.
pub(super) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
