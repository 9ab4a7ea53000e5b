//! The helper's life: read one launch, fork the command, watch it, and end only when nothing of it is left. One thread, one
//! wait. It never confines itself (it must be able to kill what it started) and trusts only the daemon's socket.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::command::{self, READY};
use crate::sys::{self, Reaped};
use crate::wire::{Confinement, Exit, Launch, Order, SetupFailure, SetupKind, Status};
use crate::{probe, tree};

/// From SIGTERM to SIGKILL: enough for a shell to take its lock files away, and short of two seconds with what follows.
const GRACE: Duration = Duration::from_millis(800);

/// Between two looks while processes are being killed, in milliseconds: short at first, then long, because what is still
/// there hangs in the kernel.
const KILL_PAUSE: (i32, i32) = (5, 200);

/// Passes of killing between two words that it goes on.
const PASSES_PER_WORD: u32 = 16;

/// Runs the helper: everything happens here and the process ends here. Call it first thing in `main`, before any thread
/// exists, when the first argument is [`crate::HELPER_ARG`]. Exit code 0: the daemon was told all; 1: it could not be.
pub fn helper_main() -> ! {
    std::process::exit(i32::from(run().is_err()))
}

fn run() -> io::Result<()> {
    // The daemon's socket is on descriptor 0, the command's output on 1 and 2; everything else was inherited by mistake.
    sys::close_from(3)?;
    let mut socket = UnixStream::from(sys::inherited_fd(0)?);
    // A daemon that runs the helper as leader of a session is fine too.
    let _ = sys::new_session();
    sys::become_subreaper()?;
    // A command may stop us; the end of the daemon must be seen all the same.
    sys::wake_without_parent()?;
    sys::become_unreadable()?;
    let launch = Launch::read_frame(&mut socket)?;
    match start(&launch) {
        Ok(supervisor) => supervisor.run(socket).inspect_err(|_| {
            // Only a broken wait ends up here. Whatever happens, nothing may outlive the helper.
            tree::kill_below(sys::own_pid());
        }),
        Err(failure) => {
            tell(&mut socket, &Status::SetupFailed(failure));
            tell(&mut socket, &Status::Cleared { left: 0 });
            Ok(())
        }
    }
}

/// Checks what the launch needs and forks the command.
fn start(launch: &Launch) -> Result<Supervisor, SetupFailure> {
    let landlock_abi = require(launch)?;
    let failed = |step: &str, error: io::Error| SetupFailure {
        kind: SetupKind::SpawnFailed,
        message: format!("{step}: {error}"),
    };
    // Blocked before the fork, so that no end of a child can be missed.
    let signals = sys::receive_signals(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])
        .map_err(|error| failed("receive signals", error))?;
    let (report, report_writer) = io::pipe().map_err(|error| failed("make the report pipe", error))?;
    let helper = sys::own_pid();
    let Some(main) = sys::fork().map_err(|error| failed("fork", error))? else {
        drop(report);
        command::become_command(launch, landlock_abi, helper, File::from(OwnedFd::from(report_writer)))
    };
    drop(report_writer);
    let supervisor = Supervisor {
        own: helper,
        main,
        signals,
        report: Some(report),
        reported: Vec::new(),
        phase: Phase::Running,
        orders: Vec::new(),
    };
    // The command alone holds its output: its reader must see the end when the last of its processes is gone.
    let released = File::options().write(true).open("/dev/null").and_then(|null| {
        sys::replace_fd(null.as_fd(), 1)?;
        sys::replace_fd(null.as_fd(), 2)
    });
    match released {
        Ok(()) => Ok(supervisor),
        Err(error) => {
            tree::kill_trees(&[main]);
            Err(failed("release the command's output", error))
        }
    }
}

/// The landlock ABI to use; an error when the launch wants a confinement that cannot be enforced here.
fn require(launch: &Launch) -> Result<i32, SetupFailure> {
    if launch.confinement == Confinement::None {
        return Ok(0);
    }
    let abi = sys::landlock_abi().min(launch.assume_landlock_abi.unwrap_or(i32::MAX));
    let report = probe::report(abi, sys::seccomp_available());
    if report.missing.is_empty() {
        return Ok(abi);
    }
    Err(SetupFailure {
        kind: SetupKind::SandboxUnavailable,
        message: format!(
            "commands cannot be confined here; missing: {}",
            report.missing.join(", ")
        ),
    })
}

/// Tells the daemon. A daemon that is gone is noticed by the next read, so errors do not matter here.
fn tell(socket: &mut UnixStream, status: &Status) {
    if let Ok(mut line) = serde_json::to_vec(status) {
        line.push(b'\n');
        let _ = socket.write_all(&line);
    }
}

/// Where the command's tree is on its way.
#[derive(Clone, Copy)]
enum Phase {
    /// It lives.
    Running,
    /// It was told to end and is killed at this time.
    Grace(Instant),
    /// It is being killed; the number of passes so far.
    Killing(u32),
}

/// Watches one command.
struct Supervisor {
    own: i32,
    /// The command's first process.
    main: i32,
    signals: OwnedFd,
    /// Open until the command's process reached exec or failed.
    report: Option<PipeReader>,
    /// What came through it.
    reported: Vec<u8>,
    phase: Phase,
    /// Bytes of an order whose line end did not come yet.
    orders: Vec<u8>,
}

impl Supervisor {
    fn run(mut self, mut socket: UnixStream) -> io::Result<()> {
        let mut daemon_gone = false;
        loop {
            let listened = (!daemon_gone).then(|| socket.as_fd());
            let report = self.report.as_ref().map(AsFd::as_fd);
            let [order, signal, reported] =
                sys::wait_readable([listened, Some(self.signals.as_fd()), report], self.pause())?;
            if reported {
                self.read_report(&mut socket);
            }
            if signal {
                self.take_signals();
            }
            if order && !self.take_orders(&mut socket) {
                daemon_gone = true;
                self.kill_now();
            }
            let empty = self.reap(&mut socket);
            let before = self.phase;
            if let Some(left) = self.advance(empty) {
                tell(&mut socket, &Status::Cleared { left });
                return Ok(());
            }
            self.tell_progress(before, &mut socket);
        }
    }

    /// Lets the daemon know that the clearing goes on, so that it does not take a busy machine for a dead helper.
    fn tell_progress(&self, before: Phase, socket: &mut UnixStream) {
        let worth_a_word = match (before, self.phase) {
            (Phase::Grace(_), Phase::Killing(_)) => true,
            (Phase::Killing(earlier), Phase::Killing(now)) => earlier != now && now % PASSES_PER_WORD == 0,
            _ => false,
        };
        if worth_a_word {
            tell(socket, &Status::Clearing);
        }
    }

    /// How long the next wait may last, in milliseconds; -1: until something happens.
    fn pause(&self) -> i32 {
        match self.phase {
            Phase::Running => -1,
            Phase::Grace(until) => {
                let left = until.saturating_duration_since(Instant::now()).as_millis();
                i32::try_from(left).unwrap_or(i32::MAX).saturating_add(1)
            }
            Phase::Killing(0) => 0,
            Phase::Killing(passes) if passes < 100 => KILL_PAUSE.0,
            Phase::Killing(_) => KILL_PAUSE.1,
        }
    }

    /// One step on the way to the end. `Some` when it is reached: nobody is left, or only processes we may not kill.
    fn advance(&mut self, empty: bool) -> Option<u32> {
        match self.phase {
            Phase::Running => None,
            Phase::Grace(_) | Phase::Killing(_) if empty => Some(0),
            Phase::Grace(until) => {
                if Instant::now() >= until {
                    self.kill_now();
                }
                None
            }
            Phase::Killing(passes) => {
                let pass = tree::kill_below(self.own);
                self.phase = Phase::Killing(passes.saturating_add(1));
                (pass.signalled == 0 && pass.refused > 0).then_some(pass.refused)
            }
        }
    }

    fn kill_now(&mut self) {
        if !matches!(self.phase, Phase::Killing(_)) {
            self.phase = Phase::Killing(0);
        }
    }

    fn terminate(&mut self) {
        if matches!(self.phase, Phase::Running) {
            tree::terminate_below(self.own);
            self.phase = Phase::Grace(Instant::now() + GRACE);
        }
    }

    /// A signal that asks a process to end asks for the end of the command.
    fn take_signals(&mut self) {
        while let Some(signal) = sys::next_signal(self.signals.as_fd()) {
            if signal != libc::SIGCHLD {
                self.terminate();
            }
        }
    }

    /// Reads and follows orders. `false`: the daemon is gone.
    fn take_orders(&mut self, socket: &mut UnixStream) -> bool {
        let mut chunk = [0; 256];
        match socket.read(&mut chunk) {
            Ok(0) => return false,
            Ok(length) => self.orders.extend_from_slice(chunk.get(..length).unwrap_or_default()),
            Err(error) => return error.kind() == io::ErrorKind::Interrupted,
        }
        while let Some(end) = self.orders.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.orders.drain(..=end).collect();
            match Order::from_line(line.trim_ascii_end()) {
                Some(Order::Terminate) => self.terminate(),
                Some(Order::Finish) => self.kill_now(),
                None => {}
            }
        }
        true
    }

    /// Reads what the command's process says on its way to exec; at the end tells the daemon.
    fn read_report(&mut self, socket: &mut UnixStream) {
        let Some(report) = &mut self.report else { return };
        let mut chunk = [0; 4096];
        match report.read(&mut chunk) {
            Ok(length) if length > 0 => self.reported.extend_from_slice(chunk.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => {
                self.report = None;
                self.tell_start(socket);
            }
        }
    }

    fn tell_start(&mut self, socket: &mut UnixStream) {
        if self.reported == [READY] {
            tell(socket, &Status::Started { pid: self.main });
            return;
        }
        let text = self.reported.strip_prefix(&[READY]).unwrap_or(&self.reported);
        let failure = serde_json::from_slice(text).unwrap_or_else(|_| SetupFailure {
            kind: SetupKind::SpawnFailed,
            message: "the command's process ended while it was set up".to_owned(),
        });
        tell(socket, &Status::SetupFailed(failure));
        // Its end is no end of a command.
        self.main = 0;
        self.kill_now();
    }

    /// Takes all ended children; tells the end of the first process. Whether no child, and so no descendant, is left.
    fn reap(&mut self, socket: &mut UnixStream) -> bool {
        loop {
            match sys::reap() {
                Reaped::Child(pid, status) if pid == self.main => {
                    // The report ends with the process that held it; the daemon hears of the start first.
                    while self.report.is_some() {
                        self.read_report(socket);
                    }
                    if self.main != 0 {
                        tell(socket, &Status::Exited(exit_of(status)));
                    }
                }
                Reaped::Child(..) => {}
                Reaped::AllAlive => return false,
                Reaped::NoChildren => return true,
            }
        }
    }
}

fn exit_of(status: i32) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    }
}
