//! Plays the daemon's part towards a helper.

use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use agentd_sandbox::{Confinement, Exit, HELPER_ARG, Launch, Order, SetupFailure, Status};

pub(crate) struct Daemon {
    pub(crate) helper: Child,
    pub(crate) socket: UnixStream,
    statuses: BufReader<UnixStream>,
    output: PipeReader,
}

/// How a command ended and what it wrote.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) exit: Result<Exit, SetupFailure>,
    pub(crate) output: String,
}

pub(crate) fn own_binary() -> PathBuf {
    std::env::current_exe().unwrap()
}

pub(crate) fn launch(argv: &[&str], cwd: &Path, confinement: Confinement) -> Launch {
    Launch {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: cwd.to_owned(),
        env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        confinement,
        assume_landlock_abi: None,
    }
}

impl Daemon {
    pub(crate) fn start(launch: &Launch) -> Self {
        let (mut socket, theirs) = UnixStream::pair().unwrap();
        let (output, writer) = std::io::pipe().unwrap();
        let helper = Command::new(own_binary())
            .arg(HELPER_ARG)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(writer.try_clone().unwrap()))
            .stderr(Stdio::from(writer))
            .spawn()
            .unwrap();
        socket.write_all(&launch.to_frame().unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let statuses = BufReader::new(socket.try_clone().unwrap());
        Self {
            helper,
            socket,
            statuses,
            output,
        }
    }

    pub(crate) fn status(&mut self) -> Status {
        let mut line = String::new();
        self.statuses.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
    }

    pub(crate) fn order(&mut self, order: Order) {
        self.socket.write_all(order.as_line()).unwrap();
    }

    /// Reads output until it holds `mark`.
    pub(crate) fn wait_for_output(&mut self, mark: &str) -> String {
        let mut text = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&text).contains(mark) {
            assert_eq!(
                self.output.read(&mut byte).unwrap(),
                1,
                "output ended: {}",
                String::from_utf8_lossy(&text)
            );
            text.push(byte[0]);
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Waits for the end of the command, and of the helper.
    pub(crate) fn finish(mut self) -> Ended {
        let exit = match self.status() {
            Status::Started { .. } => match self.status() {
                Status::Exited(exit) => Ok(exit),
                other => panic!("{other:?}"),
            },
            Status::SetupFailed(failure) => Err(failure),
            other => panic!("{other:?}"),
        };
        if exit.is_ok() {
            self.order(Order::Finish);
        }
        assert_eq!(self.status(), Status::Cleared { left: 0 });
        assert!(self.helper.wait().unwrap().success());
        let mut output = Vec::new();
        self.output.read_to_end(&mut output).unwrap();
        Ended {
            exit,
            output: String::from_utf8_lossy(&output).into_owned(),
        }
    }
}

/// Runs a command to its end.
pub(crate) fn run(argv: &[&str], cwd: &Path, confinement: Confinement) -> Ended {
    Daemon::start(&launch(argv, cwd, confinement)).finish()
}

/// Whether a process is there (zombies do not count).
pub(crate) fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .starts_with('Z')
    })
}

/// Waits until none of the processes is left; panics after `limit`.
pub(crate) fn assert_gone(pids: &[i32], limit: Duration) {
    let began = Instant::now();
    while pids.iter().any(|pid| alive(*pid)) {
        assert!(
            began.elapsed() < limit,
            "still alive: {:?}",
            pids.iter().filter(|pid| alive(**pid)).collect::<Vec<_>>()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}
