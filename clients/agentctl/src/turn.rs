//! One turn from prompt to end: the loop that hears the daemon, shows what it says, answers what it asks and passes on
//! Ctrl-C. Shared by `exec`, `resume` and `demo`.

use std::collections::VecDeque;
use std::io::Write;
use std::time::Duration;

use agentd_client::{Client, Event, Notified, RequestId, ServerAsk};
use agentd_protocol::approval::ApprovalDecision;
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::turn::{Turn, TurnStatus};
use anyhow::{Context, bail};

use crate::approve::{Approver, Verdict};
use crate::exit::{Exit, OutputLost};
use crate::interrupt::Interrupt;
use crate::render::Renderer;

/// Pause between two looks at Ctrl-C and the spinner while nothing arrives.
const TICK: Duration = Duration::from_millis(100);

/// How events are shown.
pub(crate) enum Output {
    /// For people.
    People(Box<Renderer>),
    /// For programs: the lines of the daemon as they are.
    Lines,
}

/// How a turn ended.
pub(crate) struct Ended {
    /// The turn as `turn/completed` had it.
    pub(crate) turn: Turn,
    /// Whether any approval was declined or cancelled from here.
    pub(crate) declined: bool,
    /// Whether Ctrl-C was pressed.
    pub(crate) by_user: bool,
}

impl Ended {
    /// The exit code this end stands for.
    pub(crate) fn exit(&self) -> Exit {
        match self.turn.status {
            _ if self.by_user => Exit::Interrupted,
            TurnStatus::Failed => Exit::Failed,
            _ if self.declined => Exit::Declined,
            TurnStatus::Completed => Exit::Completed,
            // Stopped by another client or by a shutdown.
            TurnStatus::Interrupted | TurnStatus::InProgress => Exit::Failed,
        }
    }
}

/// Everything a running turn needs.
pub(crate) struct TurnLoop<'a> {
    client: &'a Client,
    thread_id: &'a str,
    output: &'a mut Output,
    approver: &'a mut Approver,
    interrupt: &'a Interrupt,
    /// Events that arrived while a person was thinking; shown afterwards.
    waiting: VecDeque<Event>,
    declined: bool,
    by_user: bool,
}

impl<'a> TurnLoop<'a> {
    pub(crate) fn new(
        client: &'a Client,
        thread_id: &'a str,
        output: &'a mut Output,
        approver: &'a mut Approver,
        interrupt: &'a Interrupt,
    ) -> Self {
        let waiting = VecDeque::new();
        Self {
            client,
            thread_id,
            output,
            approver,
            interrupt,
            waiting,
            declined: false,
            by_user: false,
        }
    }

    /// Starts a turn with this text and stays until it has ended.
    pub(crate) fn run(mut self, prompt: &str) -> anyhow::Result<Ended> {
        if let Output::People(renderer) = self.output {
            renderer.begin_turn();
        }
        let turn_id = self
            .client
            .turn_start(self.thread_id, prompt)
            .context("start the turn")?
            .id;
        let ended = self.attend(&turn_id);
        if ended.as_ref().is_err_and(anyhow::Error::is::<OutputLost>) {
            // Nobody reads on, so nobody would see what the turn goes on to do. If this fails, the error is the first one.
            let _ = self.client.turn_interrupt(self.thread_id, &turn_id);
        }
        ended
    }

    /// Stays until the turn has ended.
    fn attend(&mut self, turn_id: &str) -> anyhow::Result<Ended> {
        loop {
            self.pass_on_interrupt(turn_id)?;
            match self.waiting.pop_front().or_else(|| self.client.next_event(TICK)) {
                None => self.tick(),
                Some(Event::Notification(notified)) => {
                    if let Some(turn) = self.hear(&notified, turn_id)? {
                        return Ok(Ended {
                            turn,
                            declined: self.declined,
                            by_user: self.by_user,
                        });
                    }
                }
                Some(Event::Request(ask)) => self.settle(&ask)?,
                Some(Event::Closed { reason }) => {
                    self.quiet();
                    bail!(
                        "lost the daemon in the middle of the turn ({reason}); go on with: agentctl resume {}",
                        self.thread_id
                    )
                }
            }
        }
    }

    fn hear(&mut self, notified: &Notified, turn_id: &str) -> anyhow::Result<Option<Turn>> {
        match self.output {
            Output::Lines => print_line(&notified.raw)?,
            Output::People(renderer) => {
                if let Some(known) = &notified.known {
                    renderer.show(known);
                }
            }
        }
        match notified.known.as_deref() {
            Some(ServerNotification::TurnCompleted { turn, .. }) if turn.id == turn_id => Ok(Some(turn.clone())),
            _ => Ok(None),
        }
    }

    fn settle(&mut self, ask: &ServerAsk) -> anyhow::Result<()> {
        let Some(request) = ask.known.as_deref() else {
            return self.client.refuse(&ask.id, &ask.method).context("refuse a request");
        };
        let verdict = match self.output {
            // The interrupt settles it; a question after "stopping the turn" would only puzzle.
            Output::People(_) if self.by_user => Verdict::Moot,
            Output::Lines => {
                print_line(&ask.raw)?;
                Verdict::Decided(self.approver.decide_unasked(&ask.method))
            }
            Output::People(renderer) => {
                let (client, interrupt, waiting) = (self.client, self.interrupt, &mut self.waiting);
                self.approver
                    .decide(request, renderer, || still_open(client, interrupt, waiting, &ask.id))?
            }
        };
        let decision = match verdict {
            Verdict::Decided(decision) => decision,
            // Ctrl-C at the question: the turn is interrupted right after this, which settles the request.
            Verdict::Moot => return Ok(()),
        };
        self.declined |= matches!(decision, ApprovalDecision::Decline | ApprovalDecision::Cancel);
        self.client.answer(&ask.id, decision).context("answer an approval")
    }

    fn pass_on_interrupt(&mut self, turn_id: &str) -> anyhow::Result<()> {
        if self.by_user || !self.interrupt.pressed() {
            return Ok(());
        }
        self.by_user = true;
        if let Output::People(renderer) = self.output {
            renderer.note("stopping the turn; Ctrl-C again leaves at once");
        }
        match self.client.turn_interrupt(self.thread_id, turn_id) {
            // It ended by itself in this moment: its `turn/completed` is on the way.
            Ok(()) | Err(agentd_client::ClientError::Rpc { .. }) => Ok(()),
            Err(error) => Err(error).context("interrupt the turn"),
        }
    }

    fn tick(&mut self) {
        if let Output::People(renderer) = self.output {
            renderer.tick();
        }
    }

    fn quiet(&mut self) {
        if let Output::People(renderer) = self.output {
            renderer.quiet();
        }
    }
}

/// Collects what arrives while a person thinks, and says whether the question is still open.
fn still_open(client: &Client, interrupt: &Interrupt, waiting: &mut VecDeque<Event>, asked: &RequestId) -> bool {
    while let Some(event) = client.next_event(Duration::ZERO) {
        waiting.push_back(event);
    }
    let settled = waiting.iter().any(|event| match event {
        Event::Closed { .. } => true,
        Event::Request(_) => false,
        Event::Notification(notified) => match notified.known.as_deref() {
            Some(ServerNotification::ServerRequestResolved { request_id, .. }) => {
                *asked == RequestId::Number(*request_id)
            }
            _ => false,
        },
    });
    !settled && !interrupt.pressed()
}

/// One line of the daemon on standard output. [`OutputLost`] if it takes no more.
fn print_line(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| anyhow::Error::new(OutputLost(error)))
}
