//! The real `agentd` in a home of its own.

use std::os::unix::net::UnixStream;
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
    assert!(
        path.exists(),
        "{} is not built: run the tests with `cargo test --workspace`",
        path.display()
    );
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
        let home = Self {
            dir: tempfile::Builder::new()
                .prefix("agentd-test-")
                .tempdir_in(scratch())
                .unwrap(),
        };
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
        Daemon {
            child: command.spawn().unwrap(),
        }
    }

    /// Starts `agentd` on its socket alone; does not wait for it.
    pub fn spawn_listening(&self) -> Daemon {
        let mut command = self.command("agentd");
        command
            .args(["app-server", "--listen", "unix://"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.log());
        Daemon {
            child: command.spawn().unwrap(),
        }
    }

    /// Starts `agentd` on its socket alone and waits until it can be reached.
    pub fn listen(&self) -> Daemon {
        let mut daemon = self.spawn_listening();
        eventually("the socket answers", Duration::from_secs(10), || {
            assert!(
                daemon.child.try_wait().unwrap().is_none(),
                "agentd ended: {}",
                self.stderr()
            );
            UnixStream::connect(self.socket()).is_ok()
        });
        daemon
    }

    /// Where clients find the daemon; a link to it if the path is too long for the kernel.
    pub fn socket(&self) -> PathBuf {
        let path = self.path().join("agentd.sock");
        std::fs::read_link(&path).unwrap_or(path)
    }

    /// Connects a client to the socket and completes the handshake.
    pub fn connect(&self) -> Session {
        Session::connect(&self.socket(), &self.workspace())
    }

    /// Every process that has its current directory in this home or workspace: the daemon and all it started.
    pub fn processes(&self) -> Vec<u32> {
        let pids = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let inside = |pid: &u32| {
            std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(self.dir.path()))
                && is_alive(*pid)
        };
        pids.filter(inside).collect()
    }

    /// Starts `agentd` on stdio, connects a client and completes the handshake.
    pub fn session(&self) -> Session {
        Session::start(self.spawn(), &self.workspace())
    }

    /// Appends to the daemon's log of this home; shown when a test fails.
    pub fn log(&self) -> std::fs::File {
        std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.dir.path().join("stderr.log"))
            .unwrap()
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
    let target = std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned();
    let dir = if target.starts_with("/tmp") {
        PathBuf::from("/var/tmp/agentd-tests")
    } else {
        target.join("test-homes")
    };
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

    /// Asks it to end.
    pub fn terminate(&self) {
        let status = Command::new("kill")
            .arg("-TERM")
            .arg(self.pid().to_string())
            .status()
            .unwrap();
        assert!(status.success(), "cannot signal agentd");
    }

    /// A number from its `/proc/PID/status` in the unit it has there.
    pub fn status_number(&self, key: &str) -> u64 {
        status_number(&PathBuf::from(format!("/proc/{}/status", self.pid())), key)
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

/// A number from a `status` file of `/proc`.
pub fn status_number(path: &Path, key: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
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
    eventually(
        &format!("{} has content", path.display()),
        Duration::from_secs(10),
        || {
            text = std::fs::read_to_string(path).unwrap_or_default();
            text.ends_with('\n')
        },
    );
    text
}
