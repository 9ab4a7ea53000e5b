//! A whole item at once, as history shows it.

use agentd_protocol::item::{ThreadItem, UserInput, UserMessageItem};

use super::command::Commands;
use super::message::Messages;
use super::patch;
use super::screen::Screen;
use super::text::printable;

/// Shows a stored item.
pub(crate) fn show(item: &ThreadItem, cwd: Option<&str>, verbose: bool, screen: &mut Screen) {
    match item {
        ThreadItem::UserMessage(message) => user_message(message, screen),
        ThreadItem::AgentMessage(message) => Messages::default().ended(message, screen),
        ThreadItem::Reasoning(reasoning) => Messages::default().reasoning_ended(reasoning, screen),
        ThreadItem::CommandExecution(command) => Commands::new(verbose).ended(command, screen),
        ThreadItem::FileChange(change) => {
            patch::show_changes(change, cwd, verbose, screen);
            patch::show_verdict(change, screen);
        }
    }
}

/// Shows what the user said.
pub(crate) fn user_message(message: &UserMessageItem, screen: &mut Screen) {
    screen.gap();
    for input in &message.content {
        let text = match input {
            UserInput::Text { text, .. } => printable(text),
            UserInput::Image { .. } => "[image]".to_owned(),
            UserInput::LocalImage { path, .. } => format!("[image {}]", printable(path)),
            UserInput::Skill { name, .. } => format!("[skill {}]", printable(name)),
            UserInput::Mention { path, .. } => format!("[{}]", printable(path)),
        };
        for line in text.lines() {
            let line = format!("> {line}");
            screen.line(&screen.style.cyan(&line));
        }
    }
    screen.gap();
}
