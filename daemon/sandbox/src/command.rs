//! The command's process, from fork to exec. The order of the steps is the argument, so each says what must already be
//! true. Every failure ends the process before the program runs and is told to the helper through the report pipe.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::wire::{Confinement, Launch, SetupFailure, SetupKind};
use crate::{filesystem, sys, syscalls};

/// First byte on the report pipe: all steps up to exec worked. End of file after it means that exec worked too; anything
/// after it, or without it, is a [`SetupFailure`] as JSON.
pub(crate) const READY: u8 = b'+';

/// Where a program without a slash is searched when the command's environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Becomes the command. Called in the forked child; `report` is close-on-exec, `helper` the helper's process id.
pub(crate) fn become_command(launch: &Launch, landlock_abi: i32, helper: i32, mut report: File) -> ! {
    let failure = match prepare(launch, landlock_abi, helper) {
        Ok(program) => match report.write_all(&[READY]) {
            Ok(()) => program.exec(),
            Err(error) => failed("report readiness", &error),
        },
        Err(failure) => failure,
    };
    // When telling fails too, the helper still sees that the pipe ended without READY.
    let _ = serde_json::to_vec(&failure).map(|text| report.write_all(&text));
    sys::exit_now(127)
}

/// All steps before exec.
fn prepare(launch: &Launch, landlock_abi: i32, helper: i32) -> Result<Program, SetupFailure> {
    let step = |name: &'static str| move |error: io::Error| failed(name, &error);
    // 1. Ownership first: from here on the helper's end is this process's end. The check closes the gap before it.
    sys::die_with_parent().map_err(step("bind to the helper's life"))?;
    if sys::parent_pid() != helper {
        return Err(failed(
            "bind to the helper's life",
            &io::Error::other("the helper is gone"),
        ));
    }
    sys::new_session().map_err(step("make a session"))?;
    // 2. Nothing of the daemon or the helper reaches the program: the socket on descriptor 0 goes away here.
    let null = File::open("/dev/null").map_err(step("open /dev/null"))?;
    sys::replace_fd(null.as_fd(), 0).map_err(step("set standard input"))?;
    sys::close_from_on_exec(3).map_err(step("close descriptors"))?;
    sys::forbid_core_files().map_err(step("forbid core files"))?;
    // 3. The program's words are made before confinement; looking it up comes after, with the rights it will have.
    let program = Program::new(launch)?;
    std::env::set_current_dir(&launch.cwd).map_err(|error| cwd_failure(&launch.cwd, &error))?;
    confine(&launch.confinement, landlock_abi)?;
    // 4. Signals last: until here they stay blocked, as the helper had them.
    sys::reset_signals();
    Ok(program)
}

/// Capabilities, then landlock, then seccomp: each step needs calls that the next one takes away.
fn confine(confinement: &Confinement, landlock_abi: i32) -> Result<(), SetupFailure> {
    let network = match confinement {
        Confinement::None => return Ok(()),
        Confinement::ReadOnly { network } | Confinement::WorkspaceWrite { network, .. } => *network,
    };
    let unavailable = |step: &str, error: &dyn std::fmt::Display| SetupFailure {
        kind: SetupKind::SandboxUnavailable,
        message: format!("{step}: {error}"),
    };
    sys::drop_capabilities().map_err(|error| unavailable("drop capabilities", &error))?;
    sys::no_new_privileges().map_err(|error| unavailable("set no_new_privs", &error))?;
    filesystem::confine(confinement, landlock_abi).map_err(|error| unavailable("confine file access", &error))?;
    syscalls::confine(network, landlock_abi).map_err(|error| unavailable("confine system calls", &error))
}

/// What exec needs, in the form the kernel wants.
struct Program {
    /// Paths to try, in order.
    candidates: Vec<CString>,
    argv: Vec<CString>,
    env: Vec<CString>,
}

impl Program {
    fn new(launch: &Launch) -> Result<Self, SetupFailure> {
        let name = launch
            .argv
            .first()
            .filter(|name| !name.is_empty())
            .ok_or_else(|| SetupFailure {
                kind: SetupKind::ProgramNotFound,
                message: "the command is empty".to_owned(),
            })?;
        let candidates = if name.contains('/') {
            vec![c_string(name)?]
        } else {
            let path = launch
                .env
                .iter()
                .find(|(key, _)| key == "PATH")
                .map_or(DEFAULT_PATH, |(_, value)| value.as_str());
            // An empty entry would mean the working directory: a repository must not bring programs that way.
            path.split(':')
                .filter(|folder| !folder.is_empty())
                .map(|folder| c_string(&format!("{folder}/{name}")))
                .collect::<Result<_, _>>()?
        };
        Ok(Self {
            candidates,
            argv: launch
                .argv
                .iter()
                .map(|word| c_string(word))
                .collect::<Result<_, _>>()?,
            env: launch
                .env
                .iter()
                .map(|(key, value)| c_string(&format!("{key}={value}")))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Runs the first candidate that can be run. Returns only on failure; a file that is there but cannot be run says more
    /// than the ones that are not there.
    fn exec(&self) -> SetupFailure {
        let mut refused: Option<(&CString, io::Error)> = None;
        for candidate in &self.candidates {
            let error = sys::exec(candidate, &self.argv, &self.env);
            // A file that is there and still "not found" lacks its interpreter; a folder that is closed to us hides it.
            let absent = std::fs::metadata(OsStr::from_bytes(candidate.as_bytes())).is_err();
            if !absent && refused.is_none() {
                refused = Some((candidate, error));
            }
        }
        let name = self
            .argv
            .first()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        match refused {
            Some((candidate, error)) => failed(&format!("run {}", candidate.to_string_lossy()), &error),
            None => SetupFailure {
                kind: SetupKind::ProgramNotFound,
                message: format!("program not found: {name}"),
            },
        }
    }
}

fn c_string(text: &str) -> Result<CString, SetupFailure> {
    CString::new(OsStr::new(text).as_bytes()).map_err(|_| SetupFailure {
        kind: SetupKind::SpawnFailed,
        message: "the command or its environment contains a NUL byte".to_owned(),
    })
}

fn cwd_failure(cwd: &Path, error: &io::Error) -> SetupFailure {
    SetupFailure {
        kind: SetupKind::CwdNotFound,
        message: format!("enter working directory {}: {error}", cwd.display()),
    }
}

fn failed(step: &str, error: &io::Error) -> SetupFailure {
    SetupFailure {
        kind: SetupKind::SpawnFailed,
        message: format!("{step}: {error}"),
    }
}
