//! What crosses the socket between the daemon and the helper: one [`Launch`] in, then lines of [`Status`] out and lines of
//! [`Order`] in. Data and framing only; nothing here acts.

use std::io::{self, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Largest [`Launch`] the helper reads, in bytes.
pub const MAX_LAUNCH_BYTES: u32 = 16 * 1024 * 1024;

/// What a command is kept from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Confinement {
    /// Nothing; the helper still owns its processes.
    None,
    /// All files can be read, nothing but a few harmless device files can be written; other devices are closed.
    ReadOnly {
        /// Whether the command reaches the network.
        network: bool,
    },
    /// As `ReadOnly`, and the roots and `/dev/shm` can be written.
    WorkspaceWrite {
        /// Absolute, canonical paths. Those that do not exist are skipped; one that leads through a symlink is refused.
        writable_roots: Vec<PathBuf>,
        /// Whether the command reaches the network.
        network: bool,
    },
}

/// One command to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Program and arguments. A program without a slash is looked up in the `PATH` of `env`.
    pub argv: Vec<String>,
    /// Absolute working directory.
    pub cwd: PathBuf,
    /// The whole environment of the command.
    pub env: Vec<(String, String)>,
    /// What it is kept from.
    pub confinement: Confinement,
    /// For tests: behave as on a kernel with this landlock ABI, if the real one is newer. It cannot weaken what is
    /// required, only make it unavailable or use the substitutes for older kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assume_landlock_abi: Option<i32>,
}

impl Launch {
    /// The bytes to send: length (four bytes, little endian) and JSON.
    ///
    /// # Errors
    /// When a path is not UTF-8 or the launch is larger than [`MAX_LAUNCH_BYTES`].
    pub fn to_frame(&self) -> io::Result<Vec<u8>> {
        let body = serde_json::to_vec(self)?;
        let length = u32::try_from(body.len())
            .ok()
            .filter(|length| *length <= MAX_LAUNCH_BYTES)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "launch is too large"))?;
        let mut frame = Vec::with_capacity(body.len() + 4);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&body);
        Ok(frame)
    }

    /// Reads what [`Launch::to_frame`] wrote.
    ///
    /// # Errors
    /// When the stream ends early, the length is beyond [`MAX_LAUNCH_BYTES`], or a field is unknown.
    pub fn read_frame(stream: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_LAUNCH_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "launch is too large"));
        }
        let mut body = vec![0; length as usize];
        stream.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}

/// What the helper says; one JSON line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The command runs, confined as asked.
    Started {
        /// Its process id.
        pid: i32,
    },
    /// The command never ran. `Cleared` follows.
    SetupFailed(SetupFailure),
    /// The command's first process ended; processes it left behind may still run.
    Exited(Exit),
    /// Processes are being killed and it takes a while; comes again as long as it goes on.
    Clearing,
    /// No process of the command is left. The last line.
    Cleared {
        /// How many processes could not be killed because they belong to somebody else (a set-uid program under
        /// [`Confinement::None`]); normally 0.
        left: u32,
    },
}

/// How the command's first process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Exit code, 0–255.
    Code(i32),
    /// Signal number.
    Signal(i32),
}

/// Why a command never ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupFailure {
    /// Whose fault it is.
    pub kind: SetupKind,
    /// For people; names the step and the thing.
    pub message: String,
}

/// The kinds of [`SetupFailure`]; on the wire they are the stable words of the daemon's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SetupKind {
    /// The confinement cannot be enforced here.
    SandboxUnavailable,
    /// No such program.
    ProgramNotFound,
    /// The working directory cannot be entered.
    CwdNotFound,
    /// Anything else that kept the command from starting.
    SpawnFailed,
}

impl SetupKind {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SandboxUnavailable => "sandboxUnavailable",
            Self::ProgramNotFound => "programNotFound",
            Self::CwdNotFound => "cwdNotFound",
            Self::SpawnFailed => "spawnFailed",
        }
    }
}

/// What the daemon asks of the helper; one line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Stop the command: SIGTERM to all its processes, SIGKILL to what is left 800 ms later.
    Terminate,
    /// The command ended and its output was read: SIGKILL to what it left behind.
    Finish,
}

impl Order {
    /// The line to send, with its line end.
    pub fn as_line(self) -> &'static [u8] {
        match self {
            Self::Terminate => b"terminate\n",
            Self::Finish => b"finish\n",
        }
    }

    /// The order a line (without line end) stands for.
    pub fn from_line(line: &[u8]) -> Option<Self> {
        match line {
            b"terminate" => Some(Self::Terminate),
            b"finish" => Some(Self::Finish),
            _ => None,
        }
    }
}
