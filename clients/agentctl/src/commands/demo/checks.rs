//! What the demo promises, as checks on data: a turn read back, and what was shown against what was kept.

use std::time::{Duration, Instant};

use agentd_protocol::item::{CommandExecutionItem, PatchStatus, ThreadItem};
use agentd_protocol::thread::Thread;
use agentd_protocol::turn::{Turn, TurnStatus};

use super::crash::Crash;
use super::record::Shown;

/// Most bytes of streaming text that a crash may take, as long as they are also young.
const LOSS_BYTES: usize = 4 * 1024;
/// Age of text that must survive a crash.
const LOSS_AGE: Duration = Duration::from_millis(250);
/// What the way from the daemon to us and a busy machine may add to that age.
const TOLERANCE: Duration = Duration::from_millis(250);

/// One check and how it came out.
pub(super) struct Finding {
    pub(super) holds: bool,
    pub(super) text: String,
}

impl Finding {
    pub(super) fn new(holds: bool, text: String) -> Self {
        Self { holds, text }
    }
}

/// The first turn: commands ran side by side, the sandbox refused a write, a patch was applied.
/// `declined` says that the person declined something, which takes the last two off the list.
pub(super) fn first_turn(thread: &Thread, turn_id: &str, declined: bool) -> Vec<Finding> {
    let Some(turn) = thread.turns.iter().find(|turn| turn.id == turn_id) else {
        return vec![Finding::new(false, "the turn can be read back".into())];
    };
    let commands: Vec<&CommandExecutionItem> = commands(turn).collect();
    let parallel = commands
        .iter()
        .enumerate()
        .any(|(n, a)| commands.iter().skip(n + 1).any(|b| overlap(a, b)));
    let refused = commands.iter().find(|command| was_refused(command));
    let mut findings = vec![Finding::new(
        parallel && commands.len() > 1,
        format!("{} commands ran in the sandbox, some at the same time", commands.len()),
    )];
    if !declined {
        findings.push(Finding::new(
            refused.is_some(),
            "a write outside the workspace was refused by the sandbox".into(),
        ));
        findings.push(Finding::new(
            turn.items.iter().any(was_applied),
            "a patch was asked for and applied".into(),
        ));
    }
    findings
}

/// After the crash: the turn reads as interrupted, completed items are the same, open ones kept their text.
pub(super) fn after_crash(crash: &Crash, resumed: &Thread) -> Vec<Finding> {
    let Some(turn) = resumed.turns.iter().find(|turn| turn.id == crash.turn_id) else {
        return vec![Finding::new(false, "the killed turn is in the resumed thread".into())];
    };
    let interrupted = turn.status == TurnStatus::Interrupted;
    let mut findings = vec![Finding::new(
        interrupted,
        format!("the killed turn reads as {:?}", turn.status).to_lowercase(),
    )];
    let complete: Vec<&Shown> = crash
        .record
        .items
        .iter()
        .filter(|shown| shown.complete.is_some())
        .collect();
    let kept = complete
        .iter()
        .filter(|shown| stored(turn, &shown.id) == shown.complete.as_ref())
        .count();
    findings.push(Finding::new(
        kept == complete.len(),
        format!(
            "{kept} of {} completed items are exactly as they were shown",
            complete.len()
        ),
    ));
    let open = crash.record.items.iter().filter(|shown| shown.complete.is_none());
    findings.extend(open.map(|shown| open_item(shown, stored(turn, &shown.id), crash.killed_at)));
    findings
}

fn open_item(shown: &Shown, stored: Option<&ThreadItem>, killed_at: Instant) -> Finding {
    let kind = shown.kind();
    let Some(stored) = stored else {
        return Finding::new(false, format!("the {kind} is in the resumed thread"));
    };
    let kept = text_of(stored);
    let same = shown.text.starts_with(&kept) || kept.starts_with(&shown.text);
    let lost = shown.text.len().saturating_sub(kept.len());
    let age = age_of_loss(shown, kept.len(), killed_at);
    let holds = same && lost <= LOSS_BYTES && age <= LOSS_AGE + TOLERANCE;
    let loss = if lost == 0 {
        "nothing lost".to_owned()
    } else {
        format!("lost {lost} bytes, {} ms old", age.as_millis())
    };
    let text = if same { loss } else { "the text differs".to_owned() };
    Finding::new(
        holds,
        format!("{kind}: {} bytes shown, {} kept, {text}", shown.text.len(), kept.len()),
    )
}

/// How old the oldest shown byte beyond `kept` was at the kill.
fn age_of_loss(shown: &Shown, kept: usize, killed_at: Instant) -> Duration {
    let first_lost = shown.arrivals.iter().find(|(_, length)| *length > kept);
    first_lost.map_or(Duration::ZERO, |(arrived, _)| {
        killed_at.saturating_duration_since(*arrived)
    })
}

fn stored<'t>(turn: &'t Turn, id: &str) -> Option<&'t ThreadItem> {
    turn.items.iter().find(|item| item.id() == id)
}

fn text_of(item: &ThreadItem) -> String {
    match item {
        ThreadItem::AgentMessage(message) => message.text.clone(),
        ThreadItem::Reasoning(reasoning) => reasoning.summary.concat(),
        ThreadItem::CommandExecution(command) => command.aggregated_output.clone().unwrap_or_default(),
        ThreadItem::UserMessage(_) | ThreadItem::FileChange(_) => String::new(),
    }
}

fn commands(turn: &Turn) -> impl Iterator<Item = &CommandExecutionItem> {
    turn.items.iter().filter_map(|item| match item {
        ThreadItem::CommandExecution(command) => Some(command),
        _ => None,
    })
}

fn overlap(a: &CommandExecutionItem, b: &CommandExecutionItem) -> bool {
    match (a.started_at_ms, a.completed_at_ms, b.started_at_ms, b.completed_at_ms) {
        (Some(a_start), Some(a_end), Some(b_start), Some(b_end)) => a_start <= b_end && b_start <= a_end,
        _ => false,
    }
}

/// The command failed, and the last thing it said is what a sandbox makes the system say. (Earlier lines may come from the
/// person's own shell profile, which the sandbox may have refused things too.)
fn was_refused(command: &CommandExecutionItem) -> bool {
    const WORDS: [&str; 3] = ["Read-only file system", "Permission denied", "Operation not permitted"];
    let output = command.aggregated_output.as_deref().unwrap_or_default();
    let last = output.trim_end().lines().next_back().unwrap_or_default();
    command.exit_code.is_some_and(|code| code != 0) && WORDS.iter().any(|words| last.contains(words))
}

fn was_applied(item: &ThreadItem) -> bool {
    matches!(item, ThreadItem::FileChange(change) if change.status == PatchStatus::Completed)
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
