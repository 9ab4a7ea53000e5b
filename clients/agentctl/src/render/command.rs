//! Commands and their output. Commands may run at the same time; the oldest one is shown live, the others are kept and
//! shown in the order they began, so that no two outputs mix.

use std::collections::VecDeque;

use agentd_protocol::item::{CommandExecutionItem, CommandStatus};

use super::screen::Screen;
use super::text::{output_line, seconds, typed_command};

/// Lines of output shown from the beginning of a command.
const HEAD_LINES: usize = 12;
/// Lines shown from its end.
const TAIL_LINES: usize = 4;
/// Longest line shown, in characters.
const LINE_LIMIT: usize = 400;

/// The commands that have begun and are not fully shown.
pub(crate) struct Commands {
    open: VecDeque<OpenCommand>,
    verbose: bool,
}

struct OpenCommand {
    id: String,
    command: String,
    announced: bool,
    output: Output,
    end: Option<CommandExecutionItem>,
}

impl Commands {
    pub(crate) fn new(verbose: bool) -> Self {
        Self {
            open: VecDeque::new(),
            verbose,
        }
    }

    /// The command that is shown live, for the spinner.
    pub(crate) fn live(&self) -> Option<&str> {
        self.open.front().map(|c| c.command.as_str())
    }

    pub(crate) fn began(&mut self, item: &CommandExecutionItem, screen: &mut Screen) {
        self.open.push_back(OpenCommand {
            id: item.id.clone(),
            command: typed_command(&item.command),
            announced: false,
            output: Output::new(self.verbose),
            end: None,
        });
        self.show_front(screen);
    }

    pub(crate) fn more_output(&mut self, id: &str, delta: &str, screen: &mut Screen) {
        let Some(place) = self.open.iter().position(|c| c.id == id) else {
            return;
        };
        if let Some(command) = self.open.get_mut(place) {
            command.output.push(delta);
            if place == 0 {
                command.output.show(screen);
            }
        }
    }

    pub(crate) fn ended(&mut self, item: &CommandExecutionItem, screen: &mut Screen) {
        if !self.open.iter().any(|c| c.id == item.id) {
            self.began(item, screen);
        }
        if let Some(command) = self.open.iter_mut().find(|c| c.id == item.id) {
            command.end = Some(item.clone());
        }
        self.show_front(screen);
    }

    /// Shows whatever is still kept, because nothing more will come; `why` says so.
    pub(crate) fn flush(&mut self, why: &str, screen: &mut Screen) {
        while let Some(mut command) = self.open.pop_front() {
            command.announce(screen);
            command.output.finish(screen);
            screen.line(&format!("  {}", screen.style.dim(why)));
        }
    }

    /// Shows the oldest command as far as it has come, and those after it once it has ended.
    fn show_front(&mut self, screen: &mut Screen) {
        while let Some(front) = self.open.front_mut() {
            front.announce(screen);
            front.output.show(screen);
            let Some(item) = front.end.take() else { return };
            if front.output.is_empty() {
                front.output.push(item.aggregated_output.as_deref().unwrap_or_default());
            }
            front.output.finish(screen);
            screen.line(&format!("  {}", verdict(&item, screen)));
            self.open.pop_front();
        }
    }
}

impl OpenCommand {
    fn announce(&mut self, screen: &mut Screen) {
        if std::mem::replace(&mut self.announced, true) {
            return;
        }
        screen.end_line();
        let mut lines = self.command.lines();
        let first = format!("$ {}", lines.next().unwrap_or_default());
        screen.line(&screen.style.bold(&first));
        for line in lines {
            let line = format!("  {line}");
            screen.line(&screen.style.bold(&line));
        }
    }
}

fn verdict(item: &CommandExecutionItem, screen: &Screen) -> String {
    let style = screen.style;
    let time = item
        .duration_ms
        .map(|ms| format!(" · {}", seconds(ms)))
        .unwrap_or_default();
    match (item.status, item.exit_code) {
        (CommandStatus::Declined, _) => style.yellow("declined").into_owned(),
        (_, Some(0)) => style.dim(&format!("exit 0{time}")).into_owned(),
        (_, Some(code)) => style.red(&format!("exit {code}{time}")).into_owned(),
        (CommandStatus::InProgress, None) => style.dim("running").into_owned(),
        (_, None) => style.red(&format!("stopped{time}")).into_owned(),
    }
}

/// Output of one command: the first lines as they come, the last ones at its end, a count of those between.
struct Output {
    verbose: bool,
    /// The line that has no end yet.
    partial: String,
    /// Lines to show that are not shown yet; at most `HEAD_LINES` unless verbose.
    ready: VecDeque<String>,
    lines: usize,
    /// The last lines beyond the head; at most `TAIL_LINES`.
    tail: VecDeque<String>,
}

impl Output {
    fn new(verbose: bool) -> Self {
        Self {
            verbose,
            partial: String::new(),
            ready: VecDeque::new(),
            lines: 0,
            tail: VecDeque::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.lines == 0 && self.partial.is_empty()
    }

    fn push(&mut self, text: &str) {
        self.partial.push_str(text);
        while let Some((line, rest)) = self.partial.split_once('\n') {
            let (line, rest) = (output_line(line), rest.to_owned());
            self.keep(line);
            self.partial = rest;
        }
    }

    fn keep(&mut self, line: String) {
        self.lines += 1;
        let line = match line.char_indices().nth(LINE_LIMIT) {
            Some((end, _)) if !self.verbose => format!("{}…", line.get(..end).unwrap_or_default()),
            _ => line,
        };
        if self.verbose || self.lines <= HEAD_LINES {
            self.ready.push_back(line);
            return;
        }
        self.tail.push_back(line);
        if self.tail.len() > TAIL_LINES {
            self.tail.pop_front();
        }
    }

    fn show(&mut self, screen: &mut Screen) {
        for line in self.ready.drain(..) {
            screen.line(&screen.style.dim(&format!("  {line}")));
        }
    }

    fn finish(&mut self, screen: &mut Screen) {
        if !self.partial.is_empty() {
            let line = output_line(&std::mem::take(&mut self.partial));
            self.keep(line);
        }
        self.show(screen);
        let hidden = self.lines.saturating_sub(HEAD_LINES + self.tail.len());
        if hidden > 0 && !self.verbose {
            screen.line(&screen.style.dim(&format!("  … {hidden} more lines")));
        }
        for line in self.tail.drain(..) {
            screen.line(&screen.style.dim(&format!("  {line}")));
        }
    }
}
