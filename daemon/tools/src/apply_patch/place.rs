//! Turns a path of a patch into an open folder and a name in it.
//!
//! The path is walked from `/` one component at a time, never through a symlink by the kernel: links are read and
//! followed here, so that the real path is known and a link swapped in later cannot lead elsewhere. All later calls
//! use the open folder and the single name.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::Scope;

/// As many symlinks as Linux itself follows in one path.
const MAX_LINKS: usize = 40;
const FOLDER: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A file that is there or may come, by its real parent.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The deepest folder that exists.
    pub(super) dir: Arc<OwnedFd>,
    dir_path: PathBuf,
    /// Folders that do not exist yet between `dir` and `name`.
    pub(super) missing: Vec<OsString>,
    /// The file's name.
    pub(super) name: OsString,
}

impl Place {
    /// Absolute path without symlinks in the folders.
    pub(super) fn real(&self) -> PathBuf {
        let mut path = self.dir_path.clone();
        path.extend(&self.missing);
        path.push(&self.name);
        path
    }

    /// What stands there (a symlink itself, not its target), if anything.
    pub(super) fn stat(&self) -> Result<Option<Stat>, String> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        match statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(format!("cannot look at {}: {error}", self.real().display())),
        }
    }
}

/// Opens one folder by its name; fails if that is a symlink.
pub(super) fn open_folder(dir: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    openat(dir, name, FOLDER, Mode::empty())
}

/// Resolves an absolute path. `follow`: a symlink as the last component leads on.
///
/// # Errors
/// A text for the model.
pub(super) fn resolve(path: &Path, follow: bool) -> Result<Place, String> {
    let cannot = |why: &str| format!("cannot use the path {}: {why}", path.display());
    let root = openat(CWD, "/", FOLDER, Mode::empty()).map_err(|error| cannot(&error.to_string()))?;
    let root = Arc::new(root);
    let mut walked: Vec<(Arc<OwnedFd>, OsString)> = Vec::new();
    let mut missing: Vec<OsString> = Vec::new();
    let mut todo = components(path);
    let mut links = 0;
    while let Some(next) = todo.pop() {
        let name = match next {
            Step::Root => {
                walked.clear();
                continue;
            }
            Step::Up if !missing.is_empty() => return Err(cannot("`..` after a folder that does not exist")),
            Step::Up => {
                walked.pop();
                continue;
            }
            Step::Name(name) => name,
        };
        let last = todo.is_empty();
        let dir = walked.last().map_or(&root, |(dir, _)| dir);
        if !missing.is_empty() {
            missing.push(name);
            continue;
        }
        let kind = match statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(Errno::NOENT) => {
                missing.push(name);
                continue;
            }
            Err(error) => return Err(cannot(&error.to_string())),
        };
        if kind == FileType::Symlink && (follow || !last) {
            links += 1;
            if links > MAX_LINKS {
                return Err(cannot("too many symlinks"));
            }
            let target = readlinkat(dir, &name, Vec::new()).map_err(|error| cannot(&error.to_string()))?;
            todo.extend(components(Path::new(OsStr::from_bytes(target.as_bytes()))));
        } else if last {
            missing.push(name);
        } else if kind == FileType::Directory {
            let folder = open_folder(dir, &name).map_err(|error| cannot(&error.to_string()))?;
            walked.push((Arc::new(folder), name));
        } else {
            return Err(cannot(&format!("{} is not a folder", Path::new(&name).display())));
        }
    }
    let Some(name) = missing.pop() else {
        return Err(cannot("it names a folder, not a file"));
    };
    let dir_path = Path::new("/").join(walked.iter().map(|(_, name)| name).collect::<PathBuf>());
    let dir = walked.pop().map_or(root, |(dir, _)| dir);
    Ok(Place {
        dir,
        dir_path,
        missing,
        name,
    })
}

enum Step {
    Root,
    Up,
    Name(OsString),
}

/// The components, last one first, as the walk takes them from the end.
fn components(path: &Path) -> Vec<Step> {
    let steps = path.components().rev().filter_map(|component| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Name(OsString::from_vec(name.as_bytes().to_vec()))),
        Component::CurDir | Component::Prefix(_) => None,
    });
    steps.collect()
}

/// Whether a real path lies in a writable folder.
pub(super) fn inside(real: &Path, scope: &Scope) -> bool {
    scope.unrestricted || scope.writable_roots.iter().any(|root| real.starts_with(root))
}

/// Whether a real path belongs to a repository's `.git` below a writable folder. Hooks and configuration there run
/// commands outside the sandbox.
pub(super) fn in_git_folder(real: &Path, scope: &Scope) -> bool {
    let roots = scope
        .writable_roots
        .iter()
        .filter_map(|root| real.strip_prefix(root).ok());
    let innermost = roots.min_by_key(|below| below.components().count());
    !scope.unrestricted
        && innermost.is_some_and(|below| {
            below
                .components()
                .any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
        })
}
