//! The crash: run a turn until its moment has come, then kill the daemon with SIGKILL and keep everything that had been
//! shown until then.

use std::time::{Duration, Instant};

use agentd_client::{Client, Event, Owner};
use agentd_protocol::approval::ApprovalDecision;
use agentd_protocol::notification::ServerNotification;
use anyhow::{Context, bail};

use super::processes;
use super::record::Record;
use super::stage::Stage;
use crate::interrupt::Interrupt;
use crate::render::Renderer;

const TICK: Duration = Duration::from_millis(50);
/// How long to go on once the moment has come, so that there is something to lose.
const SWING: Duration = Duration::from_millis(600);
/// How long the moment may be in coming.
const LIMIT: Duration = Duration::from_secs(15);
/// How long the end of the connection may take to be seen.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// When to kill the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// While a command runs and writes.
    CommandRuns,
    /// While a message streams.
    MessageStreams,
}

impl Moment {
    fn has_come(self, record: &Record) -> bool {
        match self {
            Self::CommandRuns => record.has_running_command(),
            Self::MessageStreams => record.has_streaming_message(),
        }
    }
}

/// What was true at the moment of the kill.
pub(super) struct Crash {
    pub(super) turn_id: String,
    pub(super) daemon_pid: u32,
    pub(super) record: Record,
    pub(super) killed_at: Instant,
    /// The processes below the daemon.
    pub(super) children: Vec<Owner>,
}

/// Starts the turn and kills the daemon in the middle of it.
pub(super) fn provoke(
    stage: &mut Stage,
    client: Client,
    thread_id: &str,
    prompt: &str,
    moment: Moment,
    renderer: &mut Renderer,
    interrupt: &Interrupt,
) -> anyhow::Result<Crash> {
    let daemon_pid = stage.daemon_pid();
    let mut record = Record::default();
    renderer.begin_turn();
    let turn_id = client.turn_start(thread_id, prompt).context("start the long turn")?.id;
    let began = Instant::now();
    let mut since: Option<Instant> = None;
    while since.is_none_or(|since| since.elapsed() < SWING) {
        if interrupt.pressed() {
            bail!("stopped by Ctrl-C");
        }
        if began.elapsed() >= LIMIT {
            bail!(
                "the moment to kill the daemon did not come within {} s",
                LIMIT.as_secs()
            );
        }
        if let Some(event) = client.next_event(TICK) {
            watch(event, &client, &turn_id, &mut record, renderer)?;
        }
        since = if moment.has_come(&record) {
            since.or_else(|| Some(Instant::now()))
        } else {
            None
        };
    }
    let children = processes::descendants(daemon_pid);
    let killed_at = Instant::now();
    stage.kill_daemon()?;
    drain(&client, &mut record, renderer);
    Ok(Crash {
        turn_id,
        daemon_pid,
        record,
        killed_at,
        children,
    })
}

fn watch(
    event: Event,
    client: &Client,
    turn_id: &str,
    record: &mut Record,
    renderer: &mut Renderer,
) -> anyhow::Result<()> {
    match event {
        Event::Notification(notified) => {
            let Some(known) = notified.known.as_deref() else {
                return Ok(());
            };
            renderer.show(known);
            record.note(known);
            match known {
                ServerNotification::TurnCompleted { turn, .. } if turn.id == turn_id => {
                    bail!("the long turn ended before it could be cut")
                }
                _ => Ok(()),
            }
        }
        Event::Request(ask) => {
            if let Some(request) = ask.known.as_deref() {
                renderer.question(request);
                renderer.note("  allow? y (demo answers for you)");
            }
            client
                .answer(&ask.id, ApprovalDecision::Accept)
                .context("answer an approval")
        }
        Event::Closed { reason } => bail!("the daemon went away by itself: {reason}"),
    }
}

/// Takes what was still on its way when the daemon died: it was sent, so it counts as shown.
fn drain(client: &Client, record: &mut Record, renderer: &mut Renderer) {
    let deadline = Instant::now() + DRAIN_LIMIT;
    while Instant::now() < deadline {
        match client.next_event(TICK) {
            Some(Event::Notification(notified)) => {
                if let Some(known) = notified.known.as_deref() {
                    renderer.show(known);
                    record.note(known);
                }
            }
            Some(Event::Closed { .. }) => break,
            Some(Event::Request(_)) | None => {}
        }
    }
    renderer.quiet();
    renderer.forget_turn("was running when the daemon was killed");
}
