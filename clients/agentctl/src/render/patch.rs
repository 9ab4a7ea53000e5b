//! Patches: one header per file and its diff, coloured on a terminal.

use agentd_protocol::item::{FileChangeItem, FileUpdateChange, PatchChangeKind, PatchStatus};

use super::screen::Screen;
use super::text::{printable, short_path};

/// Lines of one file's diff that are shown unless all are wanted.
const DIFF_LINES: usize = 60;

/// Shows the files of a patch.
pub(crate) fn show_changes(item: &FileChangeItem, cwd: Option<&str>, verbose: bool, screen: &mut Screen) {
    for change in &item.changes {
        screen.gap();
        header(change, cwd, screen);
        body(change, verbose, screen);
    }
}

/// Shows what became of a patch.
pub(crate) fn show_verdict(item: &FileChangeItem, screen: &mut Screen) {
    let style = screen.style;
    let verdict = match item.status {
        PatchStatus::InProgress => style.dim("not decided"),
        PatchStatus::Completed => style.green("applied"),
        PatchStatus::Failed => style.red("could not be applied; no file was changed"),
        PatchStatus::Declined => style.yellow("declined"),
    };
    screen.line(&format!("  {verdict}"));
}

fn header(change: &FileUpdateChange, cwd: Option<&str>, screen: &mut Screen) {
    let path = short_path(&change.path, cwd);
    let title = match &change.kind {
        PatchChangeKind::Add => format!("add {path}"),
        PatchChangeKind::Delete => format!("delete {path}"),
        PatchChangeKind::Update { move_path: None } => format!("edit {path}"),
        PatchChangeKind::Update { move_path: Some(to) } => format!("edit {path} -> {}", short_path(to, cwd)),
    };
    let (added, removed) = counts(change);
    let line = format!(
        "{} {}",
        screen.style.bold(&title),
        screen.style.dim(&format!("(+{added} -{removed})"))
    );
    screen.line(&line);
}

fn body(change: &FileUpdateChange, verbose: bool, screen: &mut Screen) {
    let limit = if verbose { usize::MAX } else { DIFF_LINES };
    let lines: Vec<&str> = diff_lines(change).collect();
    for line in lines.iter().take(limit) {
        let text = match change.kind {
            PatchChangeKind::Add => format!("  +{}", printable(line)),
            PatchChangeKind::Delete => format!("  -{}", printable(line)),
            PatchChangeKind::Update { .. } => format!("  {}", printable(line)),
        };
        let style = screen.style;
        let painted = match text.get(2..3) {
            Some("+") => style.green(&text),
            Some("-") => style.red(&text),
            Some("@") => style.cyan(&text),
            _ => text.as_str().into(),
        };
        screen.line(&painted);
    }
    if lines.len() > limit {
        screen.line(&screen.style.dim(&format!("  … {} more lines", lines.len() - limit)));
    }
}

/// The lines of the diff without the note about a move, which the header has already.
fn diff_lines(change: &FileUpdateChange) -> impl Iterator<Item = &str> {
    let diff = match &change.kind {
        PatchChangeKind::Update { move_path: Some(_) } => change
            .diff
            .rsplit_once("\n\nMoved to: ")
            .map_or(change.diff.as_str(), |(hunks, _)| hunks),
        _ => change.diff.as_str(),
    };
    diff.lines()
}

fn counts(change: &FileUpdateChange) -> (usize, usize) {
    let starting_with = |sign: char| diff_lines(change).filter(|line| line.starts_with(sign)).count();
    match change.kind {
        PatchChangeKind::Add => (diff_lines(change).count(), 0),
        PatchChangeKind::Delete => (0, diff_lines(change).count()),
        PatchChangeKind::Update { .. } => (starting_with('+'), starting_with('-')),
    }
}
