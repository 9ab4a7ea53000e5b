//! The home directory: where everything of one daemon lies, readable by its user alone.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Mode of the directory.
const MODE: u32 = 0o700;

/// An existing home, narrowed to its user.
#[derive(Clone, Debug)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// The path that the environment names: `AGENTD_HOME`, else `~/.agentd`.
    ///
    /// # Errors
    /// Neither `AGENTD_HOME` nor `HOME` is set.
    pub fn from_env() -> anyhow::Result<PathBuf> {
        let set = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let path = match (set("AGENTD_HOME"), set("HOME")) {
            (Some(home), _) => home,
            (None, Some(user)) => user.join(".agentd"),
            (None, None) => bail!("neither AGENTD_HOME nor HOME is set"),
        };
        std::path::absolute(&path).with_context(|| format!("resolve the home {}", path.display()))
    }

    /// Makes the directory if it is missing; takes rights of others away if there are any.
    ///
    /// # Errors
    /// It cannot be made, or is not ours.
    pub fn open(path: PathBuf) -> anyhow::Result<Self> {
        let doing = || format!("open the home {}", path.display());
        DirBuilder::new()
            .recursive(true)
            .mode(MODE)
            .create(&path)
            .with_context(doing)?;
        let mode = fs::metadata(&path).with_context(doing)?.permissions().mode() & 0o777;
        if mode & !MODE != 0 {
            tracing::warn!(home = %path.display(), "others could read the home (mode {mode:o}); it is {MODE:o} now");
            fs::set_permissions(&path, Permissions::from_mode(MODE)).with_context(doing)?;
        }
        Ok(Self { path })
    }

    /// The directory, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
