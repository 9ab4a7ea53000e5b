//! Starting a daemon: find its binary, spawn it detached from this terminal, wait for its socket. It owns the waiting and
//! its limit; the daemon itself decides (by its lock) whether it may live.

use std::env;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::connection::{Client, ClientName};
use crate::error::ClientError;
use crate::home::Home;

/// How long a daemon may take to open its socket.
const START_LIMIT: Duration = Duration::from_secs(10);
/// How long to go on trying when our daemon ended: another client may have started one at the same time.
const RACE_GRACE: Duration = Duration::from_secs(1);
/// Pause between two looks at the socket.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Bytes of the daemon's standard error that go into an error message.
const TAIL_BYTES: usize = 2_000;

/// A client, and the daemon process if it was started for it.
pub struct Launch {
    /// The connection.
    pub client: Client,
    /// The daemon, if this call started it. Dropping it does not end the daemon.
    pub started: Option<Child>,
}

/// Connects to the daemon of `home`, and starts one first if none runs.
pub fn connect_or_start(home: &Home, name: ClientName<'_>) -> Result<Launch, ClientError> {
    match Client::connect(home, name) {
        Ok(client) => Ok(Launch { client, started: None }),
        Err(ClientError::NotRunning { .. }) => {
            let (client, child) = start_daemon(home, &find_agentd()?, name)?;
            Ok(Launch {
                client,
                started: Some(child),
            })
        }
        Err(error) => Err(error),
    }
}

/// Starts `binary` as the daemon of `home`, with this process's environment, and connects to it.
pub fn start_daemon(home: &Home, binary: &Path, name: ClientName<'_>) -> Result<(Client, Child), ClientError> {
    home.create()?;
    let log_path = home.stderr_log();
    let log = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&log_path)
        .map_err(|source| ClientError::io(format!("open {}", log_path.display()), source))?;
    let mut child = Command::new(binary)
        .args(["app-server", "--listen", "unix://"])
        .env("AGENTD_HOME", home.root())
        .current_dir(home.root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        // Its own process group: Ctrl-C in this terminal is not for the daemon.
        .process_group(0)
        .spawn()
        .map_err(|source| ClientError::io(format!("start {}", binary.display()), source))?;
    match wait_for_socket(home, name, &mut child) {
        Ok(client) => Ok((client, child)),
        Err(error) => {
            // Ours and useless: do not leave it behind. If it already ended this does nothing.
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

fn wait_for_socket(home: &Home, name: ClientName<'_>, child: &mut Child) -> Result<Client, ClientError> {
    let failed = |reason: String| ClientError::StartFailed {
        home: home.root().to_path_buf(),
        reason,
        stderr_tail: stderr_tail(home),
    };
    let mut deadline = Instant::now() + START_LIMIT;
    let mut ended = None;
    loop {
        match Client::connect(home, name) {
            Ok(client) => return Ok(client),
            Err(ClientError::NotRunning { .. } | ClientError::Closed { .. }) => {}
            Err(error) => return Err(error),
        }
        if ended.is_none() {
            ended = child
                .try_wait()
                .map_err(|source| ClientError::io("wait for agentd", source))?;
            if ended.is_some() {
                deadline = deadline.min(Instant::now() + RACE_GRACE);
            }
        }
        if Instant::now() >= deadline {
            return Err(failed(match ended {
                Some(status) => format!("it ended with {status}"),
                None => format!("no socket after {} s", START_LIMIT.as_secs()),
            }));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The end of what a daemon that a client started wrote to its standard error.
pub fn stderr_tail(home: &Home) -> String {
    let bytes = fs::read(home.stderr_log()).unwrap_or_default();
    let tail = bytes.get(bytes.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
    String::from_utf8_lossy(tail).into_owned()
}

/// The daemon's binary: `$AGENTD_BIN`, else `agentd` beside this program, else the first one in `PATH`.
pub fn find_agentd() -> Result<PathBuf, ClientError> {
    if let Some(path) = env::var_os("AGENTD_BIN").filter(|v| !v.is_empty()) {
        let path = PathBuf::from(path);
        return std::path::absolute(&path)
            .map_err(|source| ClientError::io(format!("resolve AGENTD_BIN {}", path.display()), source));
    }
    let beside = env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.join("agentd")));
    let in_path = env::var_os("PATH")
        .into_iter()
        .flat_map(|paths| env::split_paths(&paths).collect::<Vec<_>>());
    beside
        .into_iter()
        .chain(in_path.map(|dir| dir.join("agentd")))
        .find(|path| is_executable(path))
        .ok_or(ClientError::NoBinary)
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
