//! The stage of the demo: a temporary directory with a home and a workspace, and the daemon in it. It owns both and takes
//! them away when it is dropped, whatever happened.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agentd_client::{Client, Home, Owner, find_agentd, start_daemon};
use anyhow::Context;

use crate::access;
use crate::lifecycle;

/// How long the daemon may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(10);

const README: &str =
    "# A small project\n\nThis directory belongs to `agentctl demo`.\nIt says hello:\n\n    sh hello.sh\n";
const SCRIPT: &str = "#!/bin/sh\necho \"hello, world\"\n";

/// The temporary directory and the daemon.
pub(super) struct Stage {
    root: PathBuf,
    home: Home,
    daemon: Option<Child>,
    keep: bool,
}

impl Stage {
    /// Makes the directory, the home and the workspace (a git repository if git is there).
    pub(super) fn build(keep: bool) -> anyhow::Result<Self> {
        let root = std::env::temp_dir().join(format!("agentd-demo-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&root)
            .with_context(|| format!("create {}", root.display()))?;
        // The daemon and its sandbox name things by their real path.
        let root = root
            .canonicalize()
            .with_context(|| format!("resolve {}", root.display()))?;
        let stage = Self {
            home: Home::at(root.join("home"))?,
            root,
            daemon: None,
            keep,
        };
        stage.home.create()?;
        let workspace = PathBuf::from(stage.workspace());
        fs::create_dir(&workspace).with_context(|| format!("create {}", workspace.display()))?;
        // Where the person's TMPDIR points must not decide what counts as outside in the demo.
        let config = "[sandbox_workspace_write]\nexclude_tmpdir_env_var = true\n";
        let path = stage.home.root().join("config.toml");
        fs::write(&path, config).with_context(|| format!("write {}", path.display()))?;
        fs::write(workspace.join("README.md"), README).context("write README.md")?;
        fs::write(workspace.join("hello.sh"), SCRIPT).context("write hello.sh")?;
        // Without git the demo works all the same.
        git(&workspace, &["init", "--quiet"]);
        git(&workspace, &["add", "."]);
        let author = [
            "-c",
            "user.name=demo",
            "-c",
            "user.email=demo@localhost",
            "-c",
            "commit.gpgsign=false",
        ];
        git(
            &workspace,
            &[
                &author[..],
                &["commit", "--quiet", "--no-verify", "-m", "A small project"],
            ]
            .concat(),
        );
        Ok(stage)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace as the protocol wants it.
    pub(super) fn workspace(&self) -> String {
        self.root.join("workspace").to_string_lossy().into_owned()
    }

    /// The daemon's process id; 0 while none runs.
    pub(super) fn daemon_pid(&self) -> u32 {
        self.daemon.as_ref().map_or(0, Child::id)
    }

    pub(super) fn start_daemon(&mut self) -> anyhow::Result<Client> {
        let (client, child) = start_daemon(&self.home, &find_agentd()?, access::NAME)?;
        self.daemon = Some(child);
        Ok(client)
    }

    /// SIGKILL, and nothing else.
    pub(super) fn kill_daemon(&mut self) -> anyhow::Result<()> {
        let Some(mut child) = self.daemon.take() else {
            return Ok(());
        };
        child.kill().context("kill the daemon")?;
        child.wait().context("wait for the killed daemon")?;
        Ok(())
    }

    /// Asks the daemon to end; `true` if it said goodbye with exit code 0.
    pub(super) fn stop_daemon(&mut self) -> anyhow::Result<bool> {
        let Some(child) = &mut self.daemon else {
            return Ok(false);
        };
        if let Some(owner) = i32::try_from(child.id()).ok().and_then(Owner::of_pid) {
            lifecycle::end(owner, STOP_LIMIT, true)?;
        }
        let status = child.try_wait().context("look at the daemon")?;
        if status.is_some() {
            self.daemon = None;
        }
        Ok(status.is_some_and(|status| status.success()))
    }

    /// Removes the directory, unless it is to be kept; says whether it did.
    pub(super) fn clear(&mut self) -> anyhow::Result<bool> {
        if self.keep {
            return Ok(false);
        }
        fs::remove_dir_all(&self.root).with_context(|| format!("remove {}", self.root.display()))?;
        Ok(true)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mut child) = self.daemon.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if !self.keep {
            let _ = fs::remove_dir_all(&self.root);
        }
    }
}

fn git(workspace: &Path, args: &[&str]) {
    let _ = Command::new("git")
        .args(args)
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
