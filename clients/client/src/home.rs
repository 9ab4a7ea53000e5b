//! Where a daemon lives: the home directory and the names of the files in it that clients know. It creates nothing but the
//! directory itself.

use std::env;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::ClientError;

/// The home directory of one daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// A home at this path. A relative path is made absolute against the current directory, because the daemon that is
    /// started from here may run elsewhere.
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, ClientError> {
        let path = path.into();
        let root = std::path::absolute(&path)
            .map_err(|source| ClientError::io(format!("resolve home {}", path.display()), source))?;
        Ok(Self { root })
    }

    /// The home that the environment names: `AGENTD_HOME`, else `~/.agentd`.
    pub fn from_env() -> Result<Self, ClientError> {
        if let Some(path) = env::var_os("AGENTD_HOME").filter(|v| !v.is_empty()) {
            return Self::at(PathBuf::from(path));
        }
        let user_home = env::var_os("HOME")
            .filter(|v| !v.is_empty())
            .ok_or(ClientError::NoHome)?;
        Self::at(PathBuf::from(user_home).join(".agentd"))
    }

    /// The directory itself (absolute).
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The daemon's socket; may be a symbolic link to it.
    pub fn socket(&self) -> PathBuf {
        self.root.join("agentd.sock")
    }

    /// The file whose kernel lock the running daemon holds; its first line names the daemon's process.
    pub fn lock_file(&self) -> PathBuf {
        self.root.join("agentd.lock")
    }

    /// Standard error of a daemon that a client started.
    pub fn stderr_log(&self) -> PathBuf {
        self.root.join("agentd.stderr.log")
    }

    /// Makes the directory (mode 0700) if it is missing.
    pub fn create(&self) -> Result<(), ClientError> {
        if fs::metadata(&self.root).is_ok_and(|m| m.is_dir()) {
            return Ok(());
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.root)
            .map_err(|source| ClientError::io(format!("create {}", self.root.display()), source))
    }
}
