//! From a patch to the steps that carry it out: finds the files, reads them, fits the hunks. Changes nothing.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, Stat, accessat, fstat, openat};

use super::matching::apply_hunks;
use super::parse::{Hunk, Patch, Section, SectionKind};
use super::place::{self, Place};
use super::{Scope, report};

/// Larger files are not read into memory.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A file by all its names.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// As the patch named it.
    pub(super) shown: String,
    /// Absolute, for clients.
    pub(super) path: String,
    /// Where it really is.
    pub(super) place: Place,
}

/// One file of the patch.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) target: Target,
    pub(super) change: Change,
}

/// What happens to it.
#[derive(Debug)]
pub(super) enum Change {
    Add {
        content: Vec<u8>,
    },
    /// An added file that is already there with the same content.
    Keep {
        content: Vec<u8>,
    },
    Update {
        before: Vec<u8>,
        after: Vec<u8>,
        was: Stat,
    },
    Move {
        before: Vec<u8>,
        after: Vec<u8>,
        was: Stat,
        to: Target,
    },
    Delete {
        before: Vec<u8>,
        was: Stat,
    },
}

/// Checks every section against the files.
///
/// # Errors
/// A text for the model about the first section that cannot be done.
pub(super) fn plan(patch: &Patch, scope: &Scope) -> Result<Vec<Step>, String> {
    let mut planner = Planner {
        scope,
        steps: Vec::new(),
        by_path: HashMap::new(),
    };
    for section in &patch.sections {
        planner.section(section)?;
    }
    Ok(planner.steps)
}

struct Planner<'a> {
    scope: &'a Scope,
    steps: Vec<Step>,
    /// Real path to index in `steps`; old and new paths of moves too.
    by_path: HashMap<PathBuf, usize>,
}

impl Planner<'_> {
    fn section(&mut self, section: &Section) -> Result<(), String> {
        let follow = matches!(section.kind, SectionKind::Update { .. });
        let target = target(&section.path, self.scope, follow)?;
        let real = target.place.real();
        if let Some(&index) = self.by_path.get(&real) {
            return self.again(index, section);
        }
        let change = match &section.kind {
            SectionKind::Add { content } => add(&target, content.as_bytes())?,
            SectionKind::Delete => delete(&target)?,
            SectionKind::Update { move_to, hunks } => self.update(&target, move_to.as_deref(), hunks)?,
        };
        self.by_path.insert(real, self.steps.len());
        if let Change::Move { to, .. } = &change {
            self.by_path.insert(to.place.real(), self.steps.len());
        }
        self.steps.push(Step { target, change });
        Ok(())
    }

    /// A second section for a file: only updates add up.
    fn again(&mut self, index: usize, section: &Section) -> Result<(), String> {
        match (&mut self.steps[index].change, &section.kind) {
            (Change::Update { after, .. }, SectionKind::Update { move_to: None, hunks }) => {
                *after = apply_hunks(after, hunks).map_err(|why| format!("{}: {why}", section.path))?;
                Ok(())
            }
            _ => Err(format!(
                "{}: line {} of the patch names a file that an earlier section already handles. Put everything for one \
                 file into one section.",
                section.path, section.line
            )),
        }
    }

    fn update(&self, target: &Target, move_to: Option<&str>, hunks: &[Hunk]) -> Result<Change, String> {
        let shown = &target.shown;
        let Some((before, was)) = read(target)? else {
            return Err(format!(
                "{shown}: there is no such file to update. Check the path, or use `*** Add File`."
            ));
        };
        writable(target, &was)?;
        let after = apply_hunks(&before, hunks).map_err(|why| format!("{shown}: {why}"))?;
        let Some(move_to) = move_to else {
            return Ok(Change::Update { before, after, was });
        };
        let source = resolve(shown, self.scope, false)?;
        if source.stat()?.is_some_and(|stat| kind(&stat) == FileType::Symlink) {
            return Err(format!(
                "{shown}: is a symlink, which cannot be moved by a patch. Name its target instead."
            ));
        }
        let to = self::target(move_to, self.scope, false)?;
        let real = to.place.real();
        if real == target.place.real() {
            return Ok(Change::Update { before, after, was });
        }
        if to.place.stat()?.is_some() || self.by_path.contains_key(&real) {
            return Err(format!(
                "{move_to}: cannot move {shown} there, the path is taken. Choose another one."
            ));
        }
        Ok(Change::Move { before, after, was, to })
    }
}

fn add(target: &Target, content: &[u8]) -> Result<Change, String> {
    let shown = &target.shown;
    let Some(stat) = target.place.stat()? else {
        return Ok(Change::Add {
            content: content.to_vec(),
        });
    };
    if kind(&stat) == FileType::Symlink {
        return Err(format!(
            "{shown}: is a symlink; a file is never added through one. Choose another path."
        ));
    }
    match read(target)? {
        Some((old, _)) if old == content => Ok(Change::Keep { content: old }),
        _ => Err(format!(
            "{shown}: exists already with other content, so it was not overwritten. Read it and use `*** Update File`, \
             or choose another path."
        )),
    }
}

fn delete(target: &Target) -> Result<Change, String> {
    let Some(stat) = target.place.stat()? else {
        return Err(format!(
            "{}: there is no such file to delete. Check the path.",
            target.shown
        ));
    };
    if kind(&stat) == FileType::Symlink {
        // The link goes, its target stays; as in git, a link's content is the path it holds.
        let place = &target.place;
        let link = rustix::fs::readlinkat(&place.dir, &place.name, Vec::new())
            .map_err(|error| format!("{}: cannot read the symlink: {error}", target.shown))?;
        return Ok(Change::Delete {
            before: link.into_bytes(),
            was: stat,
        });
    }
    match read(target)? {
        Some((before, was)) => Ok(Change::Delete { before, was }),
        None => Err(format!("{}: vanished while it was read. Try again.", target.shown)),
    }
}

/// Content and state of a regular file; `None`: there is nothing.
fn read(target: &Target) -> Result<Option<(Vec<u8>, Stat)>, String> {
    let (place, shown) = (&target.place, &target.shown);
    let cannot = |error: std::io::Error| format!("{shown}: cannot be read: {error}");
    let Some(stat) = place.stat()? else { return Ok(None) };
    regular(shown, &stat)?;
    // NONBLOCK: a FIFO that took the file's place must not hang us.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = openat(&place.dir, &place.name, flags, Mode::empty()).map_err(|error| cannot(error.into()))?;
    let stat = fstat(&fd).map_err(|error| cannot(error.into()))?;
    regular(shown, &stat)?;
    let mut content = Vec::new();
    File::from(fd)
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(cannot)?;
    if content.len() as u64 > MAX_FILE_BYTES {
        return Err(format!(
            "{shown}: is larger than {} MiB; change it with a command.",
            MAX_FILE_BYTES >> 20
        ));
    }
    Ok(Some((content, stat)))
}

fn regular(shown: &str, stat: &Stat) -> Result<(), String> {
    let what = match kind(stat) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a folder",
        FileType::Symlink => "a symlink",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    Err(format!("{shown}: is {what}; a patch changes regular files only."))
}

/// Refuses files marked read-only. The new content arrives by rename, which would not ask the old file's mode.
fn writable(target: &Target, stat: &Stat) -> Result<(), String> {
    let place = &target.place;
    if stat.st_mode & 0o222 == 0 || accessat(&place.dir, &place.name, Access::WRITE_OK, AtFlags::empty()).is_err() {
        return Err(format!("{}: is read-only. Nothing was changed.", target.shown));
    }
    Ok(())
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn target(shown: &str, scope: &Scope, follow: bool) -> Result<Target, String> {
    let place = resolve(shown, scope, follow)?;
    let real = place.real();
    if place::in_git_folder(&real, scope) {
        return Err(format!(
            "{shown}: lies in a `.git` folder, which patches may not change. Use git commands."
        ));
    }
    let joined = scope.cwd.join(shown);
    // `a/../b` means another file than `b` if `a` is a symlink; the real path is never wrong.
    let ups = joined.components().any(|part| part.as_os_str() == "..");
    let path = if ups { real } else { joined.components().collect() };
    Ok(Target {
        shown: shown.to_owned(),
        path: report::path_text(&path),
        place,
    })
}

fn resolve(shown: &str, scope: &Scope, follow: bool) -> Result<Place, String> {
    if shown.contains('\0') {
        return Err("a path contains NUL".to_owned());
    }
    if shown.ends_with('/') {
        return Err(format!("{shown}: names a folder, not a file."));
    }
    place::resolve(&scope.cwd.join(Path::new(shown)), follow)
}
