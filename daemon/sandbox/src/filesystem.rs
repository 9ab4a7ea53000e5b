//! The landlock part of a confinement: what the command may read, write and connect to. Built with hard requirements only:
//! what is asked for is exactly what the kernel's ABI has, and anything less than full enforcement is an error.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathBeneathError, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use thiserror::Error;

use crate::wire::Confinement;

/// First landlock ABI that can deny TRUNCATE; below it seccomp does (see `syscalls.rs`).
pub(crate) const TRUNCATE_ABI: i32 = 3;

/// Device files every command may use. Rules for the files themselves, never for their folder. All other devices stay
/// closed, also for reading: for root that would be the disks, and in `/dev/pts` the terminals of other programs of the same
/// user, from which passwords could be read. So a command cannot make a terminal either; that needs a `/dev/pts` of its own.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Named semaphores and shared memory, which language runtimes need for their worker processes. A shared folder like
/// `/tmp`, so it is writable with a workspace only.
const SHARED_MEMORY: &str = "/dev/shm";

/// Why the landlock part could not be enforced.
#[derive(Debug, Error)]
pub(crate) enum FilesystemError {
    #[error("build landlock rules: {0}")]
    Rules(#[from] RulesetError),
    #[error("build landlock rule: {0}")]
    Path(#[from] PathBeneathError),
    #[error("open {path}: {source}")]
    Open { path: PathBuf, source: io::Error },
    #[error("writable root {0} is not a real path: it leads through a symlink")]
    NotCanonical(PathBuf),
    #[error("landlock enforces only part of the rules")]
    Partial,
}

/// Confines the calling thread, for good. `abi` is the kernel's landlock ABI; the caller has checked that it suffices.
pub(crate) fn confine(confinement: &Confinement, abi: i32) -> Result<(), FilesystemError> {
    let (roots, network) = match confinement {
        Confinement::None => return Ok(()),
        Confinement::ReadOnly { network } => (&[][..], *network),
        Confinement::WorkspaceWrite {
            writable_roots,
            network,
        } => (writable_roots.as_slice(), *network),
    };
    let abi = ABI::from(abi);
    let mut rules = create(abi, network)?;
    rules = allow_reading(rules, abi)?;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    for path in DEVICES {
        rules = allow(rules, Path::new(path), device & AccessFs::from_file(abi), abi)?;
    }
    let write = AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    if matches!(confinement, Confinement::WorkspaceWrite { .. }) {
        rules = allow(rules, Path::new(SHARED_MEMORY), write, abi)?;
    }
    for root in roots {
        rules = allow(rules, root, write, abi)?;
    }
    let status = rules.restrict_self()?;
    if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs {
        Ok(())
    } else {
        Err(FilesystemError::Partial)
    }
}

/// A rule set that denies everything this ABI can deny and the policy does not want.
fn create(abi: ABI, network: bool) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    let net = AccessNet::from_all(abi);
    if !network && !net.is_empty() {
        rules = rules.handle_access(net)?;
    }
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        rules = rules.scope(scopes)?;
    }
    rules.create()
}

/// Grants reading and running of everything but `/dev`. Landlock cannot subtract, so that each folder below `/` gets its
/// own rule; listing folders is allowed everywhere.
fn allow_reading(mut rules: RulesetCreated, abi: ABI) -> Result<RulesetCreated, FilesystemError> {
    let root = Path::new("/");
    let open_error = |source| FilesystemError::Open {
        path: root.to_owned(),
        source,
    };
    rules = allow(rules, root, AccessFs::ReadDir.into(), abi)?;
    for entry in std::fs::read_dir(root).map_err(open_error)? {
        let entry = entry.map_err(open_error)?;
        let is_symlink = entry.file_type().map_err(open_error)?.is_symlink();
        if !is_symlink && entry.file_name() != "dev" {
            rules = allow(rules, &entry.path(), AccessFs::from_read(abi), abi)?;
        }
    }
    Ok(rules)
}

/// Grants `access` at and below `path`, which is skipped if it does not exist.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<RulesetCreated, FilesystemError> {
    let open_error = |source| FilesystemError::Open {
        path: path.to_owned(),
        source,
    };
    let file = match open_path(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(rules),
        Err(error) => return Err(open_error(error)),
    };
    let metadata = file.metadata().map_err(open_error)?;
    // A folder that an earlier command replaced by a symlink must not widen what this command may write. `/dev/ptmx` and
    // others may be symlinks on some systems; only written roots and devices that are real are granted.
    if metadata.file_type().is_symlink() || std::fs::canonicalize(path).map_err(open_error)? != path {
        return if path.starts_with("/dev") {
            Ok(rules)
        } else {
            Err(FilesystemError::NotCanonical(path.to_owned()))
        };
    }
    let access = if metadata.is_dir() {
        access
    } else {
        access & AccessFs::from_file(abi)
    };
    Ok(rules.add_rule(PathBeneath::new(file, access))?)
}

/// Opens the thing itself, not what it can be used for: no permission is needed and nothing is triggered.
fn open_path(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW)
        .open(path)
}
