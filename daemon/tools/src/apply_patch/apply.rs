//! Carries the steps out: all of them or none.
//!
//! First every new content is staged as a temporary file next to its place; then the files are exchanged by rename,
//! one after the other. What was done is noted so that it can be taken back; originals stay until the end.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, linkat, mkdirat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::litter;
use super::place::{Place, open_folder};
use super::plan::{Change, Step, Target};

type Io<T> = rustix::io::Result<T>;

/// Carries the steps out.
///
/// # Errors
/// A text for the model. Everything is as before then, except for what the text names.
pub(super) fn commit(steps: &[Step]) -> Result<(), String> {
    litter::sweep(steps);
    let mut ledger = Ledger::default();
    match run(steps, &mut ledger) {
        Ok(()) => {
            ledger.drop_originals();
            Ok(())
        }
        Err(why) => {
            let problems = ledger.roll_back();
            if problems.is_empty() {
                return Err(format!("{why}. Nothing was changed."));
            }
            Err(format!(
                "{why}. Taking back the rest of the patch failed: {}.",
                problems.join("; ")
            ))
        }
    }
}

fn run(steps: &[Step], ledger: &mut Ledger) -> Result<(), String> {
    let mut staged = Vec::with_capacity(steps.len());
    for step in steps {
        staged.push(stage_step(step, ledger)?);
    }
    for (step, staged) in steps.iter().zip(staged) {
        install_step(step, staged.as_ref(), ledger)?;
    }
    Ok(())
}

fn stage_step(step: &Step, ledger: &mut Ledger) -> Result<Option<Spot>, String> {
    let (target, content, like) = match &step.change {
        Change::Keep { .. } | Change::Delete { .. } => return Ok(None),
        Change::Add { content } => (&step.target, content, None),
        Change::Update { after, was, .. } => (&step.target, after, Some(was)),
        Change::Move { after, was, to, .. } => (to, after, Some(was)),
    };
    stage(&target.place, content, like, ledger)
        .map(Some)
        .map_err(|error| format!("cannot write {}: {error}", target.shown))
}

fn install_step(step: &Step, staged: Option<&Spot>, ledger: &mut Ledger) -> Result<(), String> {
    match (&step.change, staged) {
        (Change::Delete { was, .. }, _) => remove(&step.target, was, ledger),
        (Change::Add { .. }, Some(staged)) => create(&step.target, staged, ledger),
        (Change::Update { was, .. }, Some(staged)) => replace(&step.target, staged, was, ledger),
        (Change::Move { was, to, .. }, Some(staged)) => {
            create(to, staged, ledger)?;
            remove(&step.target, was, ledger)
        }
        (Change::Keep { .. }, _) | (_, None) => Ok(()),
    }
}

/// A name in an open folder.
#[derive(Clone)]
struct Spot {
    dir: Arc<OwnedFd>,
    name: OsString,
}

impl Spot {
    fn stat(&self) -> Io<Stat> {
        statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn unlink(&self) -> Io<()> {
        match unlinkat(&self.dir, &self.name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    /// Another name in the same folder.
    fn beside(&self, name: OsString) -> Spot {
        Spot {
            dir: Arc::clone(&self.dir),
            name,
        }
    }

    /// Gives an original that cannot go back a name under which it is never removed. Where it is in the end.
    fn keep(self) -> Spot {
        let kept = self.beside(litter::original_name());
        match renameat(&self.dir, &self.name, &kept.dir, &kept.name) {
            Ok(()) => kept,
            Err(_) => self,
        }
    }

    fn shown(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }
}

/// Writes the content to a temporary file in the folder of `place`, which is created if needed.
fn stage(place: &Place, content: &[u8], like: Option<&Stat>, ledger: &mut Ledger) -> std::io::Result<Spot> {
    let mut dir = Arc::clone(&place.dir);
    for name in &place.missing {
        dir = folder(dir, name, ledger)?;
    }
    let wanted = Spot {
        dir,
        name: place.name.clone(),
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // A copy of a private file is private from its first moment; a new file gets what the umask leaves.
    let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { 0o666 });
    let (spot, fd) = loop {
        let spot = wanted.beside(litter::staged_name());
        match openat(&spot.dir, &spot.name, flags, mode) {
            // Left behind by a killed process that had our process id.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
            Ok(fd) => break (spot, fd),
        }
    };
    ledger.done.push(Done::Staged(spot.clone()));
    let mut file = File::from(fd);
    file.write_all(content)?;
    if let Some(like) = like {
        copy_rights(&file, like)?;
    }
    Ok(spot)
}

fn folder(dir: Arc<OwnedFd>, name: &OsStr, ledger: &mut Ledger) -> Io<Arc<OwnedFd>> {
    match mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => ledger.done.push(Done::Folder(Spot {
            dir: Arc::clone(&dir),
            name: name.to_owned(),
        })),
        // An earlier step of this patch made it.
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    open_folder(&dir, name).map(Arc::new)
}

/// Owner and mode of the original. Without the right to give files away the owner is ours, and then the bits that
/// would run the file in the owner's name must go.
fn copy_rights(file: &File, like: &Stat) -> Io<()> {
    let own = fstat(file)?;
    let mut mode = like.st_mode & 0o7777;
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid) {
        let (uid, gid) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
        if fchown(file, Some(uid), Some(gid)).is_err() {
            mode &= 0o1777;
        }
    }
    fchmod(file, Mode::from_raw_mode(mode))
}

/// Whether the file system cannot do this kind of rename (as some network file systems).
fn lacks_flag(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Puts a staged file where nothing is.
fn create(target: &Target, staged: &Spot, ledger: &mut Ledger) -> Result<(), String> {
    let spot = Spot {
        dir: Arc::clone(&staged.dir),
        name: target.place.name.clone(),
    };
    let renamed = match renameat_with(&staged.dir, &staged.name, &spot.dir, &spot.name, RenameFlags::NOREPLACE) {
        // A hard link does not replace either. The temporary name goes with the other ones at the end.
        Err(error) if lacks_flag(error) => linkat(&staged.dir, &staged.name, &spot.dir, &spot.name, AtFlags::empty()),
        other => other,
    };
    renamed.map_err(|error| format!("cannot create {}: {error}", target.shown))?;
    ledger.done.push(Done::Created(spot));
    Ok(())
}

/// Exchanges a staged file with the original.
fn replace(target: &Target, staged: &Spot, was: &Stat, ledger: &mut Ledger) -> Result<(), String> {
    let spot = Spot {
        dir: Arc::clone(&target.place.dir),
        name: target.place.name.clone(),
    };
    unchanged(target, &spot, was)?;
    match renameat_with(&staged.dir, &staged.name, &spot.dir, &spot.name, RenameFlags::EXCHANGE) {
        Ok(()) => {
            ledger.done.push(Done::Exchanged {
                spot,
                original: staged.clone(),
            });
            same_file(target, &staged.stat(), was)
        }
        Err(error) if lacks_flag(error) => {
            remove(target, was, ledger)?;
            create(target, staged, ledger)
        }
        Err(error) => Err(format!("cannot replace {}: {error}", target.shown)),
    }
}

/// Takes the original away, under another name until the end.
fn remove(target: &Target, was: &Stat, ledger: &mut Ledger) -> Result<(), String> {
    let spot = Spot {
        dir: Arc::clone(&target.place.dir),
        name: target.place.name.clone(),
    };
    unchanged(target, &spot, was)?;
    let away = spot.beside(litter::original_name());
    renameat(&spot.dir, &spot.name, &away.dir, &away.name)
        .map_err(|error| format!("cannot remove {}: {error}", target.shown))?;
    ledger.done.push(Done::MovedAway {
        spot,
        original: away.clone(),
    });
    same_file(target, &away.stat(), was)
}

/// Whether the file is still the one that was read, with the content that was read. The change time is no sign: it
/// moves too when another name of the file is replaced by this very patch.
fn unchanged(target: &Target, spot: &Spot, was: &Stat) -> Result<(), String> {
    let now = spot.stat();
    let times = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    if now.as_ref().is_ok_and(|now| times(now) == times(was)) {
        same_file(target, &now, was)
    } else {
        Err(changed(target))
    }
}

fn same_file(target: &Target, now: &Io<Stat>, was: &Stat) -> Result<(), String> {
    let same = now
        .as_ref()
        .is_ok_and(|now| (now.st_dev, now.st_ino) == (was.st_dev, was.st_ino));
    if same { Ok(()) } else { Err(changed(target)) }
}

fn changed(target: &Target) -> String {
    format!(
        "{} was changed by somebody else while the patch was applied; read it again",
        target.shown
    )
}

/// Something done that can be taken back.
enum Done {
    Folder(Spot),
    Staged(Spot),
    Created(Spot),
    Exchanged { spot: Spot, original: Spot },
    MovedAway { spot: Spot, original: Spot },
}

/// What was done, in order.
#[derive(Default)]
struct Ledger {
    done: Vec<Done>,
}

impl Ledger {
    /// The patch is in place: the originals go. One that cannot be removed is only litter, so no error.
    fn drop_originals(self) {
        for done in self.done {
            match done {
                Done::Staged(spot) | Done::MovedAway { original: spot, .. } => drop(spot.unlink()),
                Done::Folder(_) | Done::Created(_) | Done::Exchanged { .. } => {}
            }
        }
    }

    /// Takes everything back, last thing first. Returns what failed.
    fn roll_back(self) -> Vec<String> {
        let mut problems = Vec::new();
        // Temporary names that now hold an original we could not put back; they must not be removed.
        let mut precious: Vec<OsString> = Vec::new();
        for done in self.done.into_iter().rev() {
            let failed = match &done {
                Done::Folder(spot) => unlinkat(&spot.dir, &spot.name, AtFlags::REMOVEDIR).err(),
                Done::Staged(spot) if precious.contains(&spot.name) => None,
                Done::Staged(spot) | Done::Created(spot) => spot.unlink().err(),
                Done::Exchanged { spot, original } => renameat_with(
                    &original.dir,
                    &original.name,
                    &spot.dir,
                    &spot.name,
                    RenameFlags::EXCHANGE,
                )
                .err(),
                Done::MovedAway { spot, original } => put_back(spot, original).err(),
            };
            let Some(error) = failed else { continue };
            match done {
                Done::Folder(spot) | Done::Staged(spot) | Done::Created(spot) => {
                    problems.push(format!("{} remains ({error})", spot.shown()));
                }
                Done::Exchanged { spot, original } | Done::MovedAway { spot, original } => {
                    precious.push(original.name.clone());
                    let original = original.keep();
                    problems.push(format!(
                        "the original of {} remains as {} ({error})",
                        spot.shown(),
                        original.shown()
                    ));
                }
            }
        }
        problems
    }
}

/// Gives an original its name again, unless somebody took the name meanwhile.
fn put_back(spot: &Spot, original: &Spot) -> Io<()> {
    match renameat_with(
        &original.dir,
        &original.name,
        &spot.dir,
        &spot.name,
        RenameFlags::NOREPLACE,
    ) {
        Err(error) if lacks_flag(error) && spot.stat().is_err() => {
            renameat(&original.dir, &original.name, &spot.dir, &spot.name)
        }
        other => other,
    }
}
