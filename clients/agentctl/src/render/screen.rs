//! Where text goes. On a terminal all of it goes to standard output; otherwise the answer goes to standard output and the
//! progress to standard error. It owns line ends and blank lines, so that no two blocks run into each other.
//!
//! Errors of writing progress are ignored (a closed pager must not end a turn); errors of writing the answer are kept.

use std::io::{self, IsTerminal, Write};

use super::spinner::Spinner;
use super::style::Style;
use super::text::printable;

/// Which sinks there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Everything on standard output, in the order it happens.
    Together,
    /// The answer on standard output, the rest on standard error.
    AnswerApart,
}

impl Layout {
    /// Together on a terminal, apart otherwise.
    pub(crate) fn for_stdout() -> Self {
        if io::stdout().is_terminal() {
            Self::Together
        } else {
            Self::AnswerApart
        }
    }
}

/// The sinks and the state of the line.
pub(crate) struct Screen {
    layout: Layout,
    progress: Box<dyn Write>,
    pub(crate) style: Style,
    spinner: Spinner,
    /// Text was written since the last line end.
    line_open: bool,
    /// Whether the last line is blank, or nothing was written yet.
    blank: bool,
}

impl Screen {
    pub(crate) fn new(layout: Layout) -> Self {
        let (progress, is_terminal): (Box<dyn Write>, bool) = match layout {
            Layout::Together => (Box::new(io::stdout()), io::stdout().is_terminal()),
            Layout::AnswerApart => (Box::new(io::stderr()), io::stderr().is_terminal()),
        };
        let style = Style::of(is_terminal);
        Self {
            layout,
            progress,
            style,
            spinner: Spinner::new(),
            line_open: false,
            blank: true,
        }
    }

    /// Whether the answer has a sink of its own.
    pub(crate) fn answer_is_apart(&self) -> bool {
        self.layout == Layout::AnswerApart
    }

    /// Adds to the current line. The text is made safe; `paint` colours it afterwards.
    pub(crate) fn add(&mut self, text: &str, paint: impl Fn(Style, &str) -> String) {
        let text = printable(text);
        if text.is_empty() {
            return;
        }
        self.write(&paint(self.style, &text));
        self.line_open = !text.ends_with('\n');
        self.blank = text.ends_with("\n\n") || (self.blank && text.trim().is_empty());
    }

    /// Writes one whole line. The caller made its parts safe and coloured them.
    pub(crate) fn line(&mut self, line: &str) {
        self.end_line();
        self.write(line);
        self.write("\n");
        self.blank = line.is_empty();
    }

    /// Ends the current line if one is open.
    pub(crate) fn end_line(&mut self) {
        if std::mem::take(&mut self.line_open) {
            self.write("\n");
            self.blank = false;
        }
    }

    /// One blank line, unless there is one already.
    pub(crate) fn gap(&mut self) {
        self.end_line();
        if !self.blank {
            self.line("");
        }
    }

    /// Writes the answer to standard output where it has that to itself.
    pub(crate) fn answer(&mut self, text: &str) -> io::Result<()> {
        self.spinner.clear();
        let mut out = io::stdout().lock();
        writeln!(out, "{}", text.trim_end())?;
        out.flush()
    }

    /// Moves the spinner, if no line is open.
    pub(crate) fn tick(&mut self, doing: &str) {
        if !self.line_open {
            self.spinner.tick(doing);
        }
    }

    /// Takes the spinner away.
    pub(crate) fn quiet(&mut self) {
        self.spinner.clear();
    }

    fn write(&mut self, text: &str) {
        self.spinner.clear();
        let _ = self
            .progress
            .write_all(text.as_bytes())
            .and_then(|()| self.progress.flush());
    }
}
