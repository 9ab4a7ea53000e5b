//! Colours, or none: `NO_COLOR`, `TERM=dumb` and anything that is no terminal get plain text.

use std::borrow::Cow;
use std::env;

/// Paints text, if the place it goes to shows colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colours: bool,
}

impl Style {
    /// The style for a sink that is (or is not) a terminal.
    pub(crate) fn of(is_terminal: bool) -> Self {
        let refused = env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            colours: is_terminal && !refused,
        }
    }

    fn paint<'t>(self, code: &str, text: &'t str) -> Cow<'t, str> {
        if self.colours && !text.is_empty() {
            Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
        } else {
            Cow::Borrowed(text)
        }
    }

    pub(crate) fn bold(self, text: &str) -> Cow<'_, str> {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> Cow<'_, str> {
        self.paint("2", text)
    }

    pub(crate) fn red(self, text: &str) -> Cow<'_, str> {
        self.paint("31", text)
    }

    pub(crate) fn green(self, text: &str) -> Cow<'_, str> {
        self.paint("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> Cow<'_, str> {
        self.paint("33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> Cow<'_, str> {
        self.paint("36", text)
    }
}
