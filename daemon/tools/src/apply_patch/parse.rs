//! The patch format: text in, sections and hunks out. Knows no files.
//!
//! Tolerated around the patch: blank lines, a code fence, a heredoc (`apply_patch <<'EOF'`), CRLF line ends. Inside, a
//! line that does not fit is an error that names the line; guessing would edit the wrong place.

use thiserror::Error;

/// Why a text is no patch.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("invalid patch at line {line}: expected {expected}, found {found}")]
pub struct PatchError {
    /// Line of the given text, counted from 1.
    pub line: usize,
    /// What would have been right.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// A whole patch; at least one section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// In the order of the text.
    pub sections: Vec<Section>,
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Path as written.
    pub path: String,
    /// Line of the section's header, counted from 1.
    pub line: usize,
    /// What happens.
    pub kind: SectionKind,
}

/// What happens to the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// It is created with this text.
    Add {
        /// The whole text; every line ends with a newline.
        content: String,
    },
    /// It is removed.
    Delete,
    /// It is changed, moved, or both.
    Update {
        /// New path as written.
        move_to: Option<String>,
        /// The changes; empty only for a pure move.
        hunks: Vec<Hunk>,
    },
}

/// One place of change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Line where it starts, counted from 1.
    pub line: usize,
    /// Texts after `@@`, outermost first: lines of the file that stand above the change.
    pub headers: Vec<String>,
    /// The lines.
    pub lines: Vec<HunkLine>,
    /// `*** End of File`: the old lines are the last ones of the file.
    pub at_end: bool,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkLine {
    /// Its first character.
    pub kind: LineKind,
    /// The rest, without line end.
    pub text: String,
    /// Line of the given text, counted from 1.
    pub line: usize,
}

/// What a hunk line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Is there and stays.
    Context,
    /// Comes.
    Add,
    /// Goes.
    Remove,
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";
const SECTION: &str = "`*** Add File: PATH`, `*** Delete File: PATH`, `*** Update File: PATH` or `*** End Patch`";

/// Reads a patch.
///
/// # Errors
/// The first line that does not fit.
pub fn parse(text: &str) -> Result<Patch, PatchError> {
    let (lines, first_line) = unwrap_lines(text);
    let mut cursor = Cursor {
        lines,
        at: 0,
        first_line,
    };
    if cursor.peek().map(str::trim) != Some(BEGIN) {
        return Err(cursor.error(&format!("`{BEGIN}`")));
    }
    // A text whose markers end with CR was converted as a whole: then the CRs of added files are not meant either.
    let converted = cursor.raw().is_some_and(|line| line.ends_with('\r'));
    cursor.at += 1;
    let mut sections = Vec::new();
    loop {
        cursor.skip_blank();
        let Some(line) = cursor.peek() else {
            return Err(cursor.error(SECTION));
        };
        if line.trim() == END {
            break;
        }
        sections.push(section(&mut cursor, converted)?);
    }
    if sections.is_empty() {
        return Err(cursor.error("at least one file section before it"));
    }
    cursor.at += 1;
    cursor.skip_blank();
    if cursor.peek().is_some() {
        return Err(cursor.error(&format!("nothing after `{END}`")));
    }
    Ok(Patch { sections })
}

/// The lines inside any wrapping, and the number of the first of them.
fn unwrap_lines(text: &str) -> (Vec<&str>, usize) {
    let all: Vec<&str> = text.split('\n').collect();
    let (mut start, mut end) = (0, all.len());
    loop {
        while start < end && all[start].trim().is_empty() {
            start += 1;
        }
        while end > start && all[end - 1].trim().is_empty() {
            end -= 1;
        }
        if end < start + 2 || !closes(all[start], all[end - 1]) {
            return (all[start..end].to_vec(), (start + 1).min(all.len()));
        }
        start += 1;
        end -= 1;
    }
}

/// Whether `last` ends a wrapping (heredoc or code fence) that `first` opens.
fn closes(first: &str, last: &str) -> bool {
    let (first, last) = (first.trim(), last.trim());
    if first.starts_with("```") {
        return last == "```";
    }
    let Some((command, word)) = first.split_once("<<") else {
        return false;
    };
    let word = word.trim_start_matches('-').trim().trim_matches(['\'', '"']);
    !command.starts_with("***") && !word.is_empty() && word == last
}

fn section(cursor: &mut Cursor<'_>, converted: bool) -> Result<Section, PatchError> {
    let header = cursor.peek().unwrap_or_default().trim();
    let line = cursor.line();
    if let Some(path) = header.strip_prefix(ADD) {
        let path = cursor.path(path)?;
        let content = added_text(cursor, converted)?;
        return Ok(Section {
            path,
            line,
            kind: SectionKind::Add { content },
        });
    }
    if let Some(path) = header.strip_prefix(DELETE) {
        let path = cursor.path(path)?;
        return Ok(Section {
            path,
            line,
            kind: SectionKind::Delete,
        });
    }
    if let Some(path) = header.strip_prefix(UPDATE) {
        let path = cursor.path(path)?;
        return Ok(Section {
            path,
            line,
            kind: update(cursor)?,
        });
    }
    Err(cursor.error(SECTION))
}

fn added_text(cursor: &mut Cursor<'_>, converted: bool) -> Result<String, PatchError> {
    let mut content = String::new();
    loop {
        if cursor.only_blank_before_marker() {
            cursor.skip_blank();
            return Ok(content);
        }
        let Some(text) = cursor.raw().and_then(|line| line.strip_prefix('+')) else {
            return Err(cursor.error("a line of the new file that starts with `+`"));
        };
        content.push_str(if converted { text.trim_end_matches('\r') } else { text });
        content.push('\n');
        cursor.at += 1;
    }
}

fn update(cursor: &mut Cursor<'_>) -> Result<SectionKind, PatchError> {
    let mut move_to = None;
    if let Some(path) = cursor.peek().and_then(|line| line.trim().strip_prefix(MOVE)) {
        move_to = Some(cursor.path(path)?);
    }
    let mut hunks = Vec::new();
    loop {
        if cursor.only_blank_before_marker() && !cursor.is_end_of_file_marker() {
            cursor.skip_blank();
            break;
        }
        hunks.push(hunk(cursor, hunks.is_empty())?);
    }
    if hunks.is_empty() && move_to.is_none() {
        return Err(cursor.error("a hunk (`@@`, then lines that start with ` `, `+` or `-`) or `*** Move to: PATH`"));
    }
    Ok(SectionKind::Update { move_to, hunks })
}

fn hunk(cursor: &mut Cursor<'_>, first: bool) -> Result<Hunk, PatchError> {
    let mut hunk = Hunk {
        line: cursor.line(),
        ..Hunk::default()
    };
    let mut opened = false;
    while let Some(header) = cursor.peek().and_then(|line| line.strip_prefix("@@")) {
        opened = true;
        hunk.headers.extend(header_text(header));
        cursor.at += 1;
    }
    if !opened && !first {
        return Err(cursor.error("`@@` before the next hunk, or the next file section"));
    }
    loop {
        if cursor.is_end_of_file_marker() {
            hunk.at_end = true;
            cursor.skip_blank();
            cursor.at += 1;
            break;
        }
        if cursor.only_blank_before_marker() || cursor.next_filled().is_some_and(|line| line.starts_with("@@")) {
            cursor.skip_empty();
            break;
        }
        let line = cursor.line();
        let Some((kind, text)) = cursor.peek().and_then(hunk_line) else {
            return Err(cursor.error("a hunk line that starts with ` ` (kept), `+` (added) or `-` (removed)"));
        };
        hunk.lines.push(HunkLine {
            kind,
            text: text.to_owned(),
            line,
        });
        cursor.at += 1;
    }
    if hunk.lines.is_empty() {
        return Err(cursor.error("a hunk line that starts with ` `, `+` or `-`"));
    }
    Ok(hunk)
}

/// Kind and text. An empty line is an empty line of context: many writers drop the single space.
fn hunk_line(line: &str) -> Option<(LineKind, &str)> {
    if line.is_empty() {
        return Some((LineKind::Context, ""));
    }
    let kind = match line.as_bytes()[0] {
        b' ' => LineKind::Context,
        b'+' => LineKind::Add,
        b'-' => LineKind::Remove,
        _ => return None,
    };
    Some((kind, &line[1..]))
}

/// Text after `@@` that names a line of the file. Line numbers of unified diffs (`-1,3 +1,4 @@`) are left out: they
/// are usually wrong.
fn header_text(after: &str) -> Option<String> {
    let text = after.strip_prefix(' ').unwrap_or(after);
    let numbers = |part: &str, sign: char| {
        part.strip_prefix(sign).is_some_and(|n| {
            n.starts_with(|c: char| c.is_ascii_digit()) && n.chars().all(|c| c.is_ascii_digit() || c == ',')
        })
    };
    let mut parts = text.trim_start().splitn(3, ' ');
    let (old, new) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let named = if numbers(old, '-') && numbers(new, '+') {
        parts
            .next()
            .unwrap_or_default()
            .trim_start()
            .trim_start_matches("@@")
            .trim()
    } else {
        text
    };
    (!named.trim().is_empty()).then(|| named.to_owned())
}

struct Cursor<'a> {
    lines: Vec<&'a str>,
    at: usize,
    first_line: usize,
}

impl<'a> Cursor<'a> {
    /// The current line as it is, perhaps with CR.
    fn raw(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    /// The current line without CR.
    fn peek(&self) -> Option<&'a str> {
        self.raw().map(|line| line.strip_suffix('\r').unwrap_or(line))
    }

    fn line(&self) -> usize {
        self.first_line + self.at
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.at += 1;
        }
    }

    /// Steps over lines without any character: at the end of a hunk they are layout, not context.
    fn skip_empty(&mut self) {
        while self.peek() == Some("") {
            self.at += 1;
        }
    }

    /// The next line that is not entirely empty.
    fn next_filled(&self) -> Option<&'a str> {
        let rest = self.lines.get(self.at..).unwrap_or_default();
        rest.iter()
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .find(|line| !line.is_empty())
    }

    /// Whether nothing but empty lines stands before the next marker or the end.
    fn only_blank_before_marker(&self) -> bool {
        self.next_filled().is_none_or(|line| line.starts_with("*** "))
    }

    fn is_end_of_file_marker(&self) -> bool {
        self.next_filled().is_some_and(|line| line.trim_end() == END_OF_FILE)
    }

    /// Takes the path of the current line and steps on.
    fn path(&mut self, text: &str) -> Result<String, PatchError> {
        let path = text.trim();
        if path.is_empty() || path.contains('\0') {
            return Err(self.error("a path without NUL after the colon"));
        }
        self.at += 1;
        Ok(path.to_owned())
    }

    fn error(&self, expected: &str) -> PatchError {
        let found = match self.peek() {
            None => "the end of the text".to_owned(),
            Some("") => "an empty line".to_owned(),
            Some(line) => format!("`{}`", shorten(line)),
        };
        PatchError {
            line: self.line(),
            expected: expected.to_owned(),
            found,
        }
    }
}

/// At most 120 characters, for messages.
pub(super) fn shorten(line: &str) -> String {
    if line.chars().count() <= 120 {
        return line.to_owned();
    }
    line.chars().take(119).chain(['…']).collect()
}
