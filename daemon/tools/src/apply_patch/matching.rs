//! Where hunks fit in a file, and the file after them. Pure: bytes in, bytes out.
//!
//! Lines outside the hunks and kept lines inside them are copied byte for byte; only added lines are new bytes. A hunk
//! that fits in more than one place is refused: an edit in the wrong place is worse than a question.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::parse::{Hunk, HunkLine, LineKind, shorten};

/// Comparisons of two lines that one hunk may cost; a patch that needs more repeats itself endlessly.
const MAX_COMPARISONS: u64 = 200_000_000;
/// Places that an `@@` line may name.
const MAX_REGIONS: usize = 512;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The file after the hunks.
///
/// A hunk without old lines adds its lines below its `@@` header, or at the end of the file if it has none.
///
/// # Errors
/// A text for the model, without the name of the file.
pub(super) fn apply_hunks(before: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, String> {
    let file = File::split(before);
    let mut edits = Vec::with_capacity(hunks.len());
    let mut from = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let start = locate(&file, hunk, from)
            .map_err(|why| format!("hunk {} (line {} of the patch) {why}", index + 1, hunk.line))?;
        edits.push((start, hunk));
        from = start + old_lines(hunk).count();
    }
    Ok(file.rebuild(&edits))
}

fn old_lines(hunk: &Hunk) -> impl Iterator<Item = &HunkLine> {
    hunk.lines.iter().filter(|line| line.kind != LineKind::Add)
}

/// One line of the file: its bytes and its line end (empty for an unfinished last line).
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a [u8],
    end: &'a [u8],
}

struct File<'a> {
    bom: &'a [u8],
    lines: Vec<Line<'a>>,
}

impl<'a> File<'a> {
    fn split(bytes: &'a [u8]) -> Self {
        let (bom, body) = if bytes.starts_with(BOM) {
            bytes.split_at(BOM.len())
        } else {
            bytes.split_at(0)
        };
        let lines = body.split_inclusive(|&byte| byte == b'\n').map(|whole| {
            let end = if whole.ends_with(b"\r\n") {
                2
            } else {
                usize::from(whole.ends_with(b"\n"))
            };
            let (text, end) = whole.split_at(whole.len() - end);
            Line { text, end }
        });
        Self {
            bom,
            lines: lines.collect(),
        }
    }

    /// Line end for a line added before line `at`: that of the line above, else that of the next one, else LF.
    fn end_near(&self, at: usize) -> &'a [u8] {
        let above = self.lines[..at.min(self.lines.len())].iter().rev();
        let below = self.lines[at.min(self.lines.len())..].iter();
        above
            .chain(below)
            .map(|line| line.end)
            .find(|end| !end.is_empty())
            .unwrap_or(b"\n")
    }

    fn rebuild(&self, edits: &[(usize, &Hunk)]) -> Vec<u8> {
        let unfinished = self.lines.last().is_some_and(|line| line.end.is_empty());
        let mut out = Output {
            bytes: self.bom.to_vec(),
            last_end: 0,
            last_is_new: false,
            missing_end: None,
        };
        let mut at = 0;
        for (start, hunk) in edits {
            while at < *start {
                out.keep(self.lines[at], self.end_near(at));
                at += 1;
            }
            for line in &hunk.lines {
                match line.kind {
                    LineKind::Context => {
                        out.keep(self.lines[at], self.end_near(at));
                        at += 1;
                    }
                    LineKind::Remove => at += 1,
                    LineKind::Add => out.add(line.text.as_bytes(), self.end_near(at)),
                }
            }
        }
        while at < self.lines.len() {
            out.keep(self.lines[at], self.end_near(at));
            at += 1;
        }
        out.finish(unfinished)
    }
}

/// The new file while it grows.
struct Output<'a> {
    bytes: Vec<u8>,
    /// Length of the last line's end.
    last_end: usize,
    last_is_new: bool,
    /// The line end that the last line lacks; needed only if another line follows.
    missing_end: Option<&'a [u8]>,
}

impl<'a> Output<'a> {
    fn keep(&mut self, line: Line<'_>, near: &'a [u8]) {
        self.complete();
        self.bytes.extend_from_slice(line.text);
        self.bytes.extend_from_slice(line.end);
        self.last_end = line.end.len();
        self.last_is_new = false;
        self.missing_end = line.end.is_empty().then_some(near);
    }

    fn add(&mut self, text: &[u8], end: &[u8]) {
        self.complete();
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(end);
        self.last_end = end.len();
        self.last_is_new = true;
    }

    fn complete(&mut self) {
        if let Some(end) = self.missing_end.take() {
            self.bytes.extend_from_slice(end);
        }
    }

    /// A new last line goes without line end if the old last line had none. A kept one stays as it is.
    fn finish(mut self, unfinished: bool) -> Vec<u8> {
        if unfinished && self.last_is_new {
            self.bytes.truncate(self.bytes.len() - self.last_end);
        }
        self.bytes
    }
}

/// How exactly lines are compared, strictest first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Exact,
    NoTrailingSpace,
    NoOuterSpace,
    PlainPunctuation,
}

const LEVELS: [Level; 4] = [
    Level::Exact,
    Level::NoTrailingSpace,
    Level::NoOuterSpace,
    Level::PlainPunctuation,
];

impl Level {
    fn same(self, file: &[u8], patch: &[u8]) -> bool {
        match self {
            Self::Exact => file == patch,
            Self::NoTrailingSpace => file.trim_ascii_end() == patch.trim_ascii_end(),
            Self::NoOuterSpace => file.trim_ascii() == patch.trim_ascii(),
            Self::PlainPunctuation => plain(file) == plain(patch),
        }
    }
}

/// Typographic punctuation and spaces as ASCII, so that a patch typed with plain quotes finds them.
fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let ascii = text.chars().map(|c| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    });
    ascii.collect::<String>().trim().to_owned()
}

/// Part of the file where a hunk may be: from the header's line to the end of its block, or of the file.
#[derive(Clone, Copy)]
struct Region {
    start: usize,
    block_end: usize,
}

/// Index of the first old line.
fn locate(file: &File<'_>, hunk: &Hunk, from: usize) -> Result<usize, String> {
    let regions = regions(file, &hunk.headers, from)?;
    let old: Vec<&[u8]> = old_lines(hunk).map(|line| line.text.as_bytes()).collect();
    if old.is_empty() {
        return insertion_point(file, hunk, &regions);
    }
    let comparisons = Cell::new(0_u64);
    for level in LEVELS {
        let compare = |line: &Line<'_>, old: &[u8]| {
            comparisons.set(comparisons.get() + 1);
            level.same(line.text, old)
        };
        let fits = |at: usize| {
            comparisons.get() < MAX_COMPARISONS
                && file.lines.get(at..at + old.len()).is_some_and(|lines| {
                    lines.iter().zip(&old).all(|(line, old)| compare(line, old))
                        && (!hunk.at_end || at + old.len() == file.lines.len())
                })
        };
        let in_blocks: BTreeSet<usize> = regions
            .iter()
            .flat_map(|region| region.start..region.block_end)
            .filter(|&at| fits(at))
            .collect();
        let first = regions.iter().map(|region| region.start).min().unwrap_or(from);
        let found = if in_blocks.is_empty() {
            (first..file.lines.len()).filter(|&at| fits(at)).collect()
        } else {
            in_blocks
        };
        if comparisons.get() >= MAX_COMPARISONS {
            return Err(
                "takes too long to place: its lines repeat too often in the file. Use fewer and more telling lines of \
                        context, or rewrite the file with a command."
                    .to_owned(),
            );
        }
        match found.len() {
            0 => {}
            1 => return Ok(found.into_iter().next().unwrap_or(first)),
            _ => {
                return Err(format!(
                    "fits in several places, at lines {}. Add more lines of context, or an `@@` line that names the \
                     enclosing function or class.",
                    numbers(found.iter().copied())
                ));
            }
        }
    }
    Err(mismatch(file, hunk, from))
}

fn insertion_point(file: &File<'_>, hunk: &Hunk, regions: &[Region]) -> Result<usize, String> {
    if hunk.at_end || hunk.headers.is_empty() {
        return Ok(file.lines.len());
    }
    match regions {
        [region] => Ok((region.start + 1).min(file.lines.len())),
        several => Err(format!(
            "only adds lines, and its `@@` line stands at lines {}. Add context lines around the new ones.",
            numbers(several.iter().map(|region| region.start))
        )),
    }
}

/// Narrows the file by the headers, outermost first. A header may stand in several places; the hunk then decides.
fn regions(file: &File<'_>, headers: &[String], from: usize) -> Result<Vec<Region>, String> {
    let mut regions = vec![Region {
        start: from,
        block_end: file.lines.len(),
    }];
    for (depth, header) in headers.iter().enumerate() {
        let after = usize::from(depth > 0);
        let inside: BTreeSet<usize> = regions
            .iter()
            .flat_map(|region| find_header(file, header, region.start + after, region.block_end))
            .collect();
        let found = if inside.is_empty() {
            let start = regions.iter().map(|region| region.start + after).min().unwrap_or(from);
            find_header(file, header, start, file.lines.len())
        } else {
            inside.into_iter().collect()
        };
        if found.is_empty() {
            return Err(format!(
                "names the line `{}` after `@@`, which is not in the file{}. Copy such a line exactly, or use `@@` alone.",
                shorten(header),
                if from > 0 {
                    format!(" after line {from}, where the previous hunk ends")
                } else {
                    String::new()
                }
            ));
        }
        if found.len() > MAX_REGIONS {
            return Err(format!(
                "names the line `{}` after `@@`, which stands in {} places. Name a line that tells one place from the others.",
                shorten(header),
                found.len()
            ));
        }
        regions = found
            .into_iter()
            .map(|start| Region {
                start,
                block_end: block_end(file, start),
            })
            .collect();
    }
    Ok(regions)
}

fn find_header(file: &File<'_>, header: &str, start: usize, end: usize) -> Vec<usize> {
    let lines = start..end.min(file.lines.len());
    for level in LEVELS {
        let found: Vec<usize> = lines
            .clone()
            .filter(|&at| level.same(file.lines[at].text, header.as_bytes()))
            .collect();
        if !found.is_empty() {
            return found;
        }
    }
    // A header is often only the beginning of its line, e.g. without the opening brace.
    let begin = header.trim().as_bytes();
    lines
        .filter(|&at| file.lines[at].text.trim_ascii_start().starts_with(begin))
        .collect()
}

/// Where the block that starts at a header ends: before the next line that is indented no deeper and opens something
/// of its own.
fn block_end(file: &File<'_>, header: usize) -> usize {
    let indent = |line: &[u8]| line.len() - line.trim_ascii_start().len();
    let own = indent(file.lines[header].text);
    let ends = |line: &Line<'_>| {
        let text = line.text.trim_ascii();
        text.first().is_some_and(|first| !b"})]{#".contains(first)) && indent(line.text) <= own
    };
    let below = file.lines[header + 1..].iter().position(ends);
    below.map_or(file.lines.len(), |offset| header + 1 + offset)
}

/// Why nothing fits, with the nearest candidate.
fn mismatch(file: &File<'_>, hunk: &Hunk, from: usize) -> String {
    let old: Vec<&HunkLine> = old_lines(hunk).collect();
    let same = |at: usize, index: usize| {
        let line = file.lines.get(at + index).map(|line| line.text);
        line.is_some_and(|line| Level::NoOuterSpace.same(line, old[index].text.as_bytes()))
    };
    let filled = |index: usize| !old[index].text.trim().is_empty();
    // The nearest place is a help, not worth minutes: in a crowd of lines only the first line of the hunk is looked for.
    let compared = if file.lines.len().saturating_mul(old.len()) > 50_000_000 {
        old.len().min(1)
    } else {
        old.len()
    };
    let score = |at: usize| (0..compared).filter(|&index| filled(index) && same(at, index)).count();
    let best = (0..file.lines.len())
        .map(|at| (score(at), at))
        .max_by_key(|&(score, at)| (score, usize::MAX - at));
    let mut text = String::from("does not match the file");
    match best {
        _ if file.lines.is_empty() => text.push_str(", which is empty. "),
        Some((score, at)) if score > 0 => match (0..old.len()).find(|&index| !same(at, index)) {
            Some(index) => describe_difference(&mut text, file, old[index], at + index),
            None if at < from => {
                let _ = write!(
                    text,
                    " after line {from}, where the previous hunk ends; its lines stand at line {}. Hunks must follow \
                     the order of the file and must not overlap. ",
                    at + 1
                );
            }
            None if hunk.at_end => {
                let _ = write!(
                    text,
                    "'s end: its lines stand at line {}, not last. Leave out `*** End of File`. ",
                    at + 1
                );
            }
            None => text.push_str(" below its `@@` line. "),
        },
        _ => {
            let first = old.first().map(|line| shorten(&line.text)).unwrap_or_default();
            let _ = write!(text, ": none of its lines is there (the first one is `{first}`). ");
        }
    }
    text.push_str("Read the file again and copy the lines exactly.");
    text
}

fn describe_difference(text: &mut String, file: &File<'_>, expected: &HunkLine, at: usize) {
    let found = match file.lines.get(at) {
        Some(line) => format!(
            "line {} of the file is `{}`",
            at + 1,
            shorten(&String::from_utf8_lossy(line.text))
        ),
        None => format!("the file ends after line {}", file.lines.len()),
    };
    let _ = write!(
        text,
        ": line {} of the patch expects `{}`, but {found}. ",
        expected.line,
        shorten(&expected.text)
    );
}

/// Line numbers counted from 1, at most ten.
fn numbers(at: impl Iterator<Item = usize>) -> String {
    let all: Vec<String> = at.map(|at| (at + 1).to_string()).collect();
    if all.len() <= 10 {
        all.join(", ")
    } else {
        format!("{} and {} more", all[..10].join(", "), all.len() - 10)
    }
}
