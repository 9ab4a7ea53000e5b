//! Runs one command under the sandbox helper and reports it as [`ToolEvent`]s. Owns the order of events, the limits of time
//! and the stopping; what the command may do is the sandbox crate's business, whether it may run the engine's.
//!
//! A run is one loop over everything that can happen ([`Run::step`]). The command's processes belong to the helper, and the
//! helper ends when [`Link`]'s socket closes: dropping the future of [`run`] kills the command.

mod clearing;
mod ending;
mod environment;
mod link;
mod output;
mod spec;

use std::time::Duration;

use agentd_engine::input::{ExecExit, ToolEvent};
use agentd_sandbox::{Exit, Order, Status};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use ending::Ending;
pub use environment::base_environment;
use link::{Link, OutputPipe};
use output::{Kept, MAX_EVENT_BYTES, Repair};
pub use spec::ExecSpec;

/// How long output may stay silent, after the first process ended, before what still holds the pipe is left behind.
const QUIET_AFTER_EXIT: Duration = Duration::from_millis(100);
/// How long output is read at most after the first process ended.
const DRAIN_AFTER_EXIT: Duration = Duration::from_secs(1);
/// Between two wakings of a helper that did not tell the start: a command may stop it before it could, and then we do not
/// know whose end to wait for.
const WAKE_UNTIL_STARTED: Duration = Duration::from_millis(100);
/// How long the helper may be silent while it clears the process tree before we do it ourselves.
const CLEAR_LIMIT: Duration = Duration::from_secs(2);
/// How long clearing may take in all, however much the helper says.
const CLEAR_LIMIT_IN_ALL: Duration = Duration::from_secs(8);
/// Most commands that run at once in this process. More would only slow each other down, up to their time-outs.
const MAX_RUNNING: usize = 64;

/// The right to run a command. Who waits is served in the order of coming.
static RUNNING: Semaphore = Semaphore::const_new(MAX_RUNNING);

/// Runs a command to its end. Sends `ExecStarted` if it ran, `ExecOutput` as it comes, and exactly one `ExecEnded`, last.
///
/// A full `events` channel stalls the reading of output, and so in time the command; it never stalls `cancel` or the
/// time-out, which stop the whole process tree within two seconds. Processes that the command leaves behind are killed.
/// When too many commands run, it waits for others to end; neither the time-out nor the told duration counts that.
pub async fn run(spec: ExecSpec, events: Sender<ToolEvent>, cancel: CancellationToken) {
    // `None`: cancelled before it was its turn.
    let turn = cancel.run_until_cancelled(RUNNING.acquire()).await;
    let began = Instant::now();
    if turn.is_none() {
        return end(&events, ExecExit::Cancelled, String::new(), began).await;
    }
    let (exit, output) = match Link::open(&spec.helper, &spec.launch()).await {
        Ok((link, pipe)) => {
            Run::new(link, pipe, end_of(began, spec.timeout))
                .finish(&events, &cancel)
                .await
        }
        Err(message) => (not_started("spawnFailed", message), String::new()),
    };
    // Before the end is told: who hears of it may count on the free place.
    drop(turn);
    end(&events, exit, output, began).await;
}

/// Tells the end of a run.
async fn end(events: &Sender<ToolEvent>, exit: ExecExit, output: String, began: Instant) {
    let duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
    // Nobody listens any more: then nobody misses it.
    let _ = events
        .send(ToolEvent::ExecEnded {
            exit,
            output,
            duration_ms,
        })
        .await;
}

/// `limit` after `began`, or a year after it when an instant cannot hold that.
fn end_of(began: Instant, limit: Duration) -> Instant {
    began
        .checked_add(limit)
        .unwrap_or_else(|| began + Duration::from_secs(365 * 24 * 60 * 60))
}

fn not_started(kind: &str, message: String) -> ExecExit {
    ExecExit::NotStarted {
        kind: kind.to_owned(),
        message,
    }
}

/// Where a run is on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The helper sets the command up. Output waits until the start was told.
    Starting,
    /// The command runs.
    Running,
    /// Its first process ended; output is read until it falls silent.
    Draining { quiet: Instant, limit: Instant },
    /// The helper clears the process tree. It is heard of before `limit`, and is done before `last`.
    Clearing { limit: Instant, last: Instant },
    /// Nobody is left.
    Over,
}

impl Phase {
    /// The helper was told to clear, or does so by itself.
    fn clearing() -> Self {
        let now = Instant::now();
        Self::Clearing {
            limit: now + CLEAR_LIMIT,
            last: now + CLEAR_LIMIT_IN_ALL,
        }
    }
}

/// One running command.
struct Run {
    link: Link,
    pipe: OutputPipe,
    /// The end of the command's first process.
    ending: Ending,
    phase: Phase,
    /// Whether the helper said that nobody is left. If it never does, we see to it.
    cleared: bool,
    /// When the time is up.
    timeout: Instant,
    /// How it ended, once known.
    exit: Option<ExecExit>,
    /// The start, until it was told.
    started: Option<String>,
    /// Text that was not told yet. Above [`MAX_EVENT_BYTES`] nothing more is read.
    untold: String,
    repair: Repair,
    kept: Kept,
}

impl Run {
    fn new(link: Link, pipe: OutputPipe, timeout: Instant) -> Self {
        Self {
            link,
            pipe,
            ending: Ending::none(),
            phase: Phase::Starting,
            cleared: false,
            timeout,
            exit: None,
            started: None,
            untold: String::new(),
            repair: Repair::default(),
            kept: Kept::default(),
        }
    }

    /// Goes on to the end and tells all output. Returns how the command ended and what is kept of its output.
    async fn finish(mut self, events: &Sender<ToolEvent>, cancel: &CancellationToken) -> (ExecExit, String) {
        while self.phase != Phase::Over {
            self.step(events, cancel).await;
        }
        if !self.cleared {
            self.link.clear().await;
        }
        // All writers are gone, so this ends: at most what a pipe holds.
        while let Some(chunk) = self.pipe.read_now() {
            let text = self.repair.push(&chunk);
            self.take(&text);
        }
        let rest = self.repair.finish();
        self.take(&rest);
        self.link.close().await;
        while let Some(event) = self.next_event() {
            if events.send(event).await.is_err() {
                break;
            }
        }
        let exit = self
            .exit
            .unwrap_or_else(|| not_started("spawnFailed", "the sandbox helper ended without an answer".to_owned()));
        (exit, self.kept.into_text())
    }

    /// Waits for one thing and handles it. Stopping goes first, then the helper's word, then output, then telling: so
    /// output is gathered while the listener is busy, up to one event.
    async fn step(&mut self, events: &Sender<ToolEvent>, cancel: &CancellationToken) {
        let stoppable = !matches!(self.phase, Phase::Clearing { .. } | Phase::Over);
        let reading =
            !matches!(self.phase, Phase::Starting) && self.untold.len() < MAX_EVENT_BYTES && !self.pipe.ended();
        let telling = self.started.is_some() || !self.untold.is_empty();
        let deadline = self.deadline(reading);
        tokio::select! {
            biased;
            () = cancel.cancelled(), if stoppable => self.stop(ExecExit::Cancelled).await,
            () = sleep_until(deadline) => self.time_passed().await,
            status = self.link.status() => self.heard(status).await,
            // The helper has something to tell; if it was stopped it does not know yet.
            () = self.ending.wait() => self.link.wake(),
            () = sleep(WAKE_UNTIL_STARTED), if self.phase == Phase::Starting => self.link.wake(),
            chunk = self.pipe.read(), if reading => self.read(chunk).await,
            permit = events.reserve(), if telling => match permit {
                Ok(permit) => if let Some(event) = self.next_event() { permit.send(event) },
                // Nobody listens: the text is still kept for the end, and the command runs on until its owner stops it.
                Err(_) => { self.started = None; self.untold.clear(); }
            },
        }
    }

    /// When [`Run::time_passed`] is due. Silence counts only while we listen.
    fn deadline(&self, reading: bool) -> Instant {
        match self.phase {
            Phase::Draining { quiet, limit } if reading => quiet.min(limit),
            Phase::Draining { limit, .. } => limit,
            Phase::Clearing { limit, last } => limit.min(last),
            Phase::Starting | Phase::Running | Phase::Over => self.timeout,
        }
    }

    async fn time_passed(&mut self) {
        match self.phase {
            Phase::Starting | Phase::Running => self.stop(ExecExit::TimedOut).await,
            Phase::Draining { .. } => self.order(Order::Finish).await,
            Phase::Clearing { .. } => {
                tracing::warn!(
                    helper = self.link.helper_pid(),
                    "the sandbox helper did not clear its processes in time; killing them"
                );
                self.phase = Phase::Over;
            }
            Phase::Over => {}
        }
    }

    /// Stops the command for this reason. One that ended by itself keeps its own; what it left behind is stopped.
    async fn stop(&mut self, exit: ExecExit) {
        let order = if self.exit.is_some() {
            Order::Finish
        } else {
            Order::Terminate
        };
        self.exit.get_or_insert(exit);
        self.order(order).await;
    }

    async fn order(&mut self, order: Order) {
        self.phase = Phase::clearing();
        // A helper that is gone shows as the end of its words.
        let _ = self.link.order(order).await;
    }

    /// The helper said something; `None`: it is gone.
    async fn heard(&mut self, status: Option<Status>) {
        match status {
            Some(Status::Started { pid }) => self.has_started(pid),
            Some(Status::SetupFailed(failure)) => {
                self.exit
                    .get_or_insert(not_started(failure.kind.as_str(), failure.message));
                self.phase = Phase::clearing();
            }
            Some(Status::Exited(exit)) => self.has_exited(exit).await,
            Some(Status::Clearing) => self.clears_still(),
            Some(Status::Cleared { left }) => {
                if left > 0 {
                    tracing::warn!(left, "processes of other users could not be killed");
                }
                self.cleared = true;
                self.phase = Phase::Over;
            }
            None => self.helper_gone(),
        }
    }

    fn clears_still(&mut self) {
        if let Phase::Clearing { limit, .. } = &mut self.phase {
            *limit = Instant::now() + CLEAR_LIMIT;
        }
    }

    fn has_started(&mut self, pid: i32) {
        self.started = Some(pid.to_string());
        self.ending = Ending::of(pid);
        if self.phase == Phase::Starting {
            self.phase = Phase::Running;
        }
    }

    async fn has_exited(&mut self, exit: Exit) {
        // Stopped by us: that is the reason that counts, and the tree is being cleared already.
        if self.exit.is_some() {
            return;
        }
        self.exit = Some(match exit {
            Exit::Code(code) => ExecExit::Code(code),
            Exit::Signal(signal) => ExecExit::Signal(signal),
        });
        if self.pipe.ended() {
            self.order(Order::Finish).await;
        } else {
            let now = Instant::now();
            self.phase = Phase::Draining {
                quiet: now + QUIET_AFTER_EXIT,
                limit: now + DRAIN_AFTER_EXIT,
            };
        }
    }

    /// The helper ended without clearing (somebody killed it). The kernel killed the command's first process with it; the
    /// others are ours now.
    fn helper_gone(&mut self) {
        tracing::warn!(helper = self.link.helper_pid(), "the sandbox helper is gone");
        if self.phase != Phase::Starting {
            self.exit.get_or_insert(ExecExit::Signal(9));
        }
        self.phase = Phase::Over;
    }

    /// Output came; `None`: it ended.
    async fn read(&mut self, chunk: Option<Vec<u8>>) {
        if let Some(chunk) = &chunk {
            let text = self.repair.push(chunk);
            self.take(&text);
        }
        if let Phase::Draining { limit, .. } = self.phase {
            if chunk.is_none() {
                self.order(Order::Finish).await;
            } else {
                self.phase = Phase::Draining {
                    quiet: Instant::now() + QUIET_AFTER_EXIT,
                    limit,
                };
            }
        }
    }

    fn take(&mut self, text: &str) {
        self.kept.push(text);
        self.untold.push_str(text);
    }

    /// The next event to tell.
    fn next_event(&mut self) -> Option<ToolEvent> {
        if let Some(process_id) = self.started.take() {
            return Some(ToolEvent::ExecStarted { process_id });
        }
        if self.untold.is_empty() {
            return None;
        }
        let rest = self.untold.split_off(self.untold.floor_char_boundary(MAX_EVENT_BYTES));
        Some(ToolEvent::ExecOutput {
            text: std::mem::replace(&mut self.untold, rest),
        })
    }
}
