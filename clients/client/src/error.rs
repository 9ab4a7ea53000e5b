//! Everything that can go wrong between a client and the daemon, as one typed list. It owns the wording, not the handling.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why an operation of this crate failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Neither `AGENTD_HOME` nor `HOME` says where the daemon lives.
    #[error("cannot find the home of agentd: set AGENTD_HOME (or HOME)")]
    NoHome,
    /// Nobody listens on the socket.
    #[error("no daemon runs in {home}")]
    NotRunning {
        /// The home directory that was looked at.
        home: PathBuf,
    },
    /// The daemon's binary is neither named, nor beside this program, nor in `PATH`.
    #[error("cannot find the agentd binary: set AGENTD_BIN, or put agentd beside this program or in PATH")]
    NoBinary,
    /// The daemon was started and ended, or did not open its socket in time.
    #[error("agentd did not come up in {home}: {reason}{}", tail_text(.stderr_tail))]
    StartFailed {
        /// The home directory it was started for.
        home: PathBuf,
        /// What was seen.
        reason: String,
        /// The end of what it wrote to its standard error; may be empty.
        stderr_tail: String,
    },
    /// The operating system refused something.
    #[error("{operation}")]
    Io {
        /// What was tried, with the path it was tried on.
        operation: String,
        /// What the system said.
        source: io::Error,
    },
    /// The connection is gone; no call on this client will succeed any more.
    #[error("the connection to agentd is closed ({reason})")]
    Closed {
        /// Why, as far as it is known.
        reason: String,
    },
    /// The daemon did not answer in time. A reply that comes later is dropped.
    #[error("agentd did not answer {method} within {} s", .after.as_secs_f32())]
    Timeout {
        /// The method that was called.
        method: String,
        /// How long the call waited.
        after: Duration,
    },
    /// The daemon answered with an error.
    #[error("{method}: {message}")]
    Rpc {
        /// The method that was called.
        method: String,
        /// JSON-RPC error code.
        code: i64,
        /// The daemon's wording; part of the protocol, clients may match on it.
        message: String,
        /// `data.kind`: whose fault it is, in one word, if the daemon said so.
        kind: Option<String>,
    },
    /// What crossed the wire was not what the protocol promises.
    #[error("{method}: unexpected answer")]
    Decode {
        /// The method that was called.
        method: String,
        /// What did not fit.
        source: serde_json::Error,
    },
}

impl ClientError {
    /// Wraps an IO error with what was tried.
    pub(crate) fn io(operation: impl Into<String>, source: io::Error) -> Self {
        Self::Io {
            operation: operation.into(),
            source,
        }
    }

    /// The JSON-RPC error code, if the daemon answered with an error.
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Rpc { code, .. } => Some(*code),
            _ => None,
        }
    }
}

fn tail_text(tail: &str) -> String {
    if tail.trim().is_empty() {
        String::new()
    } else {
        format!("\n{}", tail.trim_end())
    }
}
