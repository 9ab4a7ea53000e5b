//! What is asked of a run, and how it reads for the sandbox helper.

use std::path::PathBuf;
use std::time::Duration;

use agentd_protocol::settings::SandboxPolicy;
use agentd_sandbox::{Confinement, Launch};

/// A command to run.
#[derive(Clone, Debug)]
pub struct ExecSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Absolute working directory.
    pub cwd: PathBuf,
    /// The whole environment of the command, see [`base_environment`](super::base_environment).
    pub env: Vec<(String, String)>,
    /// What it may do.
    pub policy: SandboxPolicy,
    /// Where it may write under `workspaceWrite`: all folders, absolute and resolved. One that leads through a symlink by
    /// the time the command starts makes the run fail.
    pub writable_roots: Vec<PathBuf>,
    /// Wall time after which it is stopped; waiting for other commands does not count.
    pub timeout: Duration,
    /// The program that is the helper when started with [`agentd_sandbox::HELPER_ARG`]; `/proc/self/exe` in the daemon.
    pub helper: PathBuf,
}

impl ExecSpec {
    /// What the helper is told.
    pub(super) fn launch(&self) -> Launch {
        let confinement = match &self.policy {
            SandboxPolicy::DangerFullAccess => Confinement::None,
            SandboxPolicy::ReadOnly { network_access } => Confinement::ReadOnly {
                network: *network_access,
            },
            SandboxPolicy::WorkspaceWrite { network_access, .. } => Confinement::WorkspaceWrite {
                writable_roots: self.writable_roots.clone(),
                network: *network_access,
            },
        };
        Launch {
            argv: self.argv.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            confinement,
            assume_landlock_abi: None,
        }
    }
}
