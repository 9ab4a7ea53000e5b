//! The real `agentd` in a home of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::model::MockModel;
use crate::session::Session;

/// A built binary of the workspace, beside the test binary's own folder.
pub fn binary(name: &str) -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let dir = exe.parent().unwrap().parent().unwrap();
    let path = dir.join(name);
    assert!(path.exists(), "{} is not built: run the tests with `cargo test --workspace`", path.display());
    path
}

/// A home, a workspace and a configuration that points at a model server. Everything is removed at the end.
pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    /// A home whose default provider is `model`.
    pub fn new(model: &MockModel) -> Self {
        Self::with_config(model, "")
    }

    /// The same with more lines at the top of `config.toml`.
    pub fn with_config(model: &MockModel, extra: &str) -> Self {
        let home = Self { dir: tempfile::Builder::new().prefix("agentd-test-").tempdir_in(scratch()).unwrap() };
        std::fs::create_dir(home.path()).unwrap();
        std::fs::create_dir(home.workspace()).unwrap();
        std::fs::create_dir(home.dir.path().join("user")).unwrap();
        let config = format!(
            "model = \"mock-model\"\nmodel_provider = \"mock\"\n{extra}\n[model_providers.mock]\nname = \"mock\"\nbase_url = \"{}\"\nwire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 2\nstream_idle_timeout_ms = 5000\n",
            model.base_url()
        );
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        home
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn workspace(&self) -> PathBuf {
        self.dir.path().join("ws")
    }

    /// A path outside the home and the workspace.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().join("user").join(name)
    }

    /// A command for a binary of the workspace with this home and nothing of the caller's environment.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(binary(name));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path().join("user"))
            .env("AGENTD_HOME", self.path())
            .env("TMPDIR", self.workspace())
            .env("SHELL", "/bin/bash")
            .current_dir(self.workspace());
        command
    }

    /// Starts `agentd` on stdio.
    pub fn spawn(&self) -> Daemon {
        let mut command = self.command("agentd");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(self.log());
        Daemon { child: command.spawn().unwrap() }
    }

    /// Starts `agentd` on stdio, connects a client and completes the handshake.
    pub fn session(&self) -> Session {
        Session::start(self.spawn(), &self.workspace())
    }

    /// Appends to the daemon's log of this home; shown when a test fails.
    fn log(&self) -> std::fs::File {
        std::fs::File::options().create(true).append(true).open(self.dir.path().join("stderr.log")).unwrap()
    }

    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("stderr.log")).unwrap_or_default()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- stderr of agentd ---\n{}", self.stderr());
        }
    }
}

/// Where homes live: not below `/tmp`, which commands may write in under the default policy.
fn scratch() -> PathBuf {
    let dir = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("test-homes");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// A running daemon; killed when dropped.
pub struct Daemon {
    pub child: Child,
}

impl Daemon {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn kill9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end; fails after `limit`.
    pub fn wait(&mut self, limit: Duration) -> std::process::ExitStatus {
        let end = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "agentd did not end within {limit:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process exists and is not a zombie.
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z')
}

/// Waits until `check` holds; fails after `limit`.
pub fn eventually(what: &str, limit: Duration, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !check() {
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Reads a file that a command writes, once it is there and not empty.
pub fn read_when_there(path: &Path) -> String {
    let mut text = String::new();
    eventually(&format!("{} has content", path.display()), Duration::from_secs(10), || {
        text = std::fs::read_to_string(path).unwrap_or_default();
        text.ends_with('\n')
    });
    text
}
