//! The running turn: each notification goes to the file that knows its kind. It owns what must be remembered between them
//! (open commands, streamed text, patches not shown yet) and forgets it when the turn ends.

use std::collections::HashMap;

use agentd_protocol::approval::ServerRequest;
use agentd_protocol::item::{FileChangeItem, ThreadItem};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::thread::Thread;
use agentd_protocol::turn::{Turn, TurnStatus};
use agentd_protocol::usage::TokenUsageBreakdown;

use super::command::Commands;
use super::message::Messages;
use super::screen::{Layout, Screen};
use super::text::{count, one_line, printable, seconds};
use super::{item, patch, plan, question};

/// Shows turns to people.
pub(crate) struct Renderer {
    screen: Screen,
    verbose: bool,
    /// Paths inside are shown without it.
    cwd: Option<String>,
    commands: Commands,
    messages: Messages,
    /// Patches that have begun and were not shown yet.
    patches: HashMap<String, FileChangeItem>,
    /// The user knows what they typed; messages that others add to the turn are shown.
    own_message_seen: bool,
    usage: TokenUsageBreakdown,
    /// The answer could not be written where it was to go.
    answer_lost: bool,
}

impl Renderer {
    pub(crate) fn new(layout: Layout, verbose: bool) -> Self {
        Self {
            screen: Screen::new(layout),
            verbose,
            cwd: None,
            commands: Commands::new(verbose),
            messages: Messages::default(),
            patches: HashMap::new(),
            own_message_seen: false,
            usage: TokenUsageBreakdown::default(),
            answer_lost: false,
        }
    }

    /// Whether an answer could not be written where it was to go.
    pub(crate) fn answer_lost(&self) -> bool {
        self.answer_lost
    }

    /// Where the thread works.
    pub(crate) fn set_cwd(&mut self, cwd: &str) {
        self.cwd = Some(cwd.to_owned());
    }

    /// A turn is about to begin.
    pub(crate) fn begin_turn(&mut self) {
        self.own_message_seen = false;
        self.usage = TokenUsageBreakdown::default();
    }

    /// Shows a notification.
    pub(crate) fn show(&mut self, notification: &ServerNotification) {
        use ServerNotification as N;
        let screen = &mut self.screen;
        match notification {
            N::ItemStarted { item, .. } => self.item_started(item),
            N::ItemCompleted { item, .. } => self.item_completed(item),
            N::AgentMessageDelta { item_id, delta, .. } => self.messages.more(item_id, delta, screen),
            N::ReasoningSummaryTextDelta { item_id, delta, .. } => {
                self.messages.more_reasoning(item_id, delta, screen);
            }
            N::ReasoningSummaryPartAdded { item_id, .. } => self.messages.reasoning_part(item_id, screen),
            N::CommandExecutionOutputDelta { item_id, delta, .. } => {
                self.commands.more_output(item_id, delta, screen);
            }
            N::TurnPlanUpdated { plan, .. } => plan::show(plan, screen),
            N::ThreadTokenUsageUpdated { token_usage, .. } => self.usage.add(&token_usage.last),
            N::Error {
                error,
                will_retry: true,
                ..
            } => {
                let cause = error
                    .additional_details
                    .as_deref()
                    .and_then(|details| details.lines().next());
                let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
                self.warn(&format!("{}{cause} (trying again)", error.message));
            }
            N::Warning { message, .. } => self.warn(message),
            N::ConfigWarning { summary, .. } => self.warn(summary),
            N::TurnCompleted { turn, .. } => self.turn_completed(turn),
            _ => {}
        }
    }

    /// Shows what an approval is about.
    pub(crate) fn question(&mut self, request: &ServerRequest) {
        self.messages.release(&mut self.screen);
        let change = match request {
            ServerRequest::FileChangeRequestApproval(ask) => self.patches.remove(&ask.item_id),
            ServerRequest::CommandExecutionRequestApproval(_) => None,
        };
        question::show(
            request,
            change.as_ref(),
            self.cwd.as_deref(),
            self.verbose,
            &mut self.screen,
        );
    }

    /// Shows a thread from its beginning.
    pub(crate) fn history(&mut self, thread: &Thread) {
        self.set_cwd(&thread.cwd);
        for turn in &thread.turns {
            for stored in &turn.items {
                item::show(stored, self.cwd.as_deref(), self.verbose, &mut self.screen);
            }
            self.messages.release(&mut self.screen);
            self.turn_line(turn);
        }
    }

    /// One line for the person, not part of any answer.
    pub(crate) fn note(&mut self, text: &str) {
        let line = self.screen.style.dim(text).into_owned();
        self.screen.line(&line);
    }

    /// One plain line.
    pub(crate) fn line(&mut self, text: &str) {
        self.screen.line(text);
    }

    /// A line that passes or fails.
    pub(crate) fn check(&mut self, holds: bool, text: &str) {
        let style = self.screen.style;
        let mark = if holds { style.green("ok  ") } else { style.red("FAIL") };
        self.screen.line(&format!("  {mark} {text}"));
    }

    /// A heading.
    pub(crate) fn heading(&mut self, text: &str) {
        self.screen.gap();
        let line = self.screen.style.bold(text).into_owned();
        self.screen.line(&line);
    }

    /// Nothing happened for a moment.
    pub(crate) fn tick(&mut self) {
        let doing = self
            .commands
            .live()
            .map_or_else(|| "working".to_owned(), |c| format!("$ {}", one_line(c, 40)));
        self.screen.tick(&doing);
    }

    /// Ends what is half-drawn, because somebody else is about to write.
    pub(crate) fn quiet(&mut self) {
        self.messages.release(&mut self.screen);
        self.screen.end_line();
        self.screen.quiet();
    }

    /// Forgets what the turn left open; `why` is said of commands that have no end yet.
    pub(crate) fn forget_turn(&mut self, why: &str) {
        self.commands.flush(why, &mut self.screen);
        self.patches.clear();
        self.messages = Messages::default();
    }

    fn item_started(&mut self, item: &ThreadItem) {
        if !matches!(item, ThreadItem::UserMessage(_)) {
            self.messages.release(&mut self.screen);
        }
        match item {
            ThreadItem::CommandExecution(command) => self.commands.began(command, &mut self.screen),
            ThreadItem::FileChange(change) => {
                self.patches.insert(change.id.clone(), change.clone());
            }
            ThreadItem::UserMessage(_) | ThreadItem::AgentMessage(_) | ThreadItem::Reasoning(_) => {}
        }
    }

    fn item_completed(&mut self, item: &ThreadItem) {
        let screen = &mut self.screen;
        match item {
            ThreadItem::UserMessage(message) => {
                if std::mem::replace(&mut self.own_message_seen, true) {
                    item::user_message(message, screen);
                }
            }
            ThreadItem::AgentMessage(message) => self.messages.ended(message, screen),
            ThreadItem::Reasoning(reasoning) => self.messages.reasoning_ended(reasoning, screen),
            ThreadItem::CommandExecution(command) => self.commands.ended(command, screen),
            ThreadItem::FileChange(change) => {
                if self.patches.remove(&change.id).is_some() {
                    patch::show_changes(change, self.cwd.as_deref(), self.verbose, screen);
                }
                patch::show_verdict(change, screen);
            }
        }
    }

    fn turn_completed(&mut self, turn: &Turn) {
        let answer = self.messages.take_answer();
        self.forget_turn("still running when the turn ended");
        self.turn_line(turn);
        self.screen.quiet();
        if let Some(text) = answer
            && let Err(error) = self.screen.answer(&text)
        {
            self.answer_lost = true;
            self.warn(&format!("the answer could not be written to standard output: {error}"));
        }
    }

    fn turn_line(&mut self, turn: &Turn) {
        self.screen.gap();
        let mut line = match turn.status {
            TurnStatus::Completed => "completed".to_owned(),
            TurnStatus::Interrupted => "interrupted".to_owned(),
            TurnStatus::InProgress => "running".to_owned(),
            TurnStatus::Failed => "failed".to_owned(),
        };
        if let Some(ms) = turn.duration_ms {
            line.push_str(&format!(" · {}", seconds(ms)));
        }
        if self.usage.total_tokens > 0 {
            let usage = &self.usage;
            line.push_str(&format!(
                " · {} tokens in ({} cached), {} out",
                count(usage.input_tokens),
                count(usage.cached_input_tokens),
                count(usage.output_tokens)
            ));
        }
        self.note(&line);
        if let Some(error) = &turn.error {
            let text = format!("error: {}", printable(&error.message));
            let painted = self.screen.style.red(&text).into_owned();
            self.screen.line(&painted);
            if let Some(details) = &error.additional_details {
                self.note(&format!("  {}", printable(details)));
            }
        }
    }

    fn warn(&mut self, text: &str) {
        let line = format!("! {}", printable(text));
        let painted = self.screen.style.yellow(&line).into_owned();
        self.screen.line(&painted);
    }
}
