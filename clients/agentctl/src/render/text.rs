//! Text for terminals: what must not reach one is taken out, commands are shown as they were typed, times are short.

/// Text without control characters other than line ends and tabs, so that neither a model nor a command can move the
/// cursor, set the title or hide what it prints.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(*c)))
        .collect()
}

/// Characters that reorder or hide text: bidirectional controls.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of command output as a terminal would leave it: what follows the last carriage return, without escape
/// sequences.
pub(crate) fn output_line(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let shown = line.rsplit('\r').next().unwrap_or(line);
    printable(&without_escapes(shown))
}

fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\x1b' {
            out.push(c);
        } else if chars.next_if_eq(&'[').is_some() {
            // A control sequence ends with a character from @ to ~.
            while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
        } else {
            chars.next();
        }
    }
    out
}

/// The command as it was typed: `/bin/bash -lc 'ls -l'` is shown as `ls -l`.
pub(crate) fn typed_command(command: &str) -> String {
    let script = ["/bin/bash -lc ", "bash -lc ", "/bin/sh -c ", "sh -c "]
        .iter()
        .find_map(|p| command.strip_prefix(p));
    printable(&script.and_then(unquote).unwrap_or_else(|| command.to_owned()))
}

/// Undoes the quoting of one shell word; `None` if it is more than one word or needs a real shell.
fn unquote(word: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        match first {
            '\'' => {
                let (inside, after) = rest.get(1..)?.split_once('\'')?;
                out.push_str(inside);
                rest = after;
            }
            '"' => {
                let (inside, after) = rest.get(1..)?.split_once('"')?;
                if inside.contains(['\\', '$', '`']) {
                    return None;
                }
                out.push_str(inside);
                rest = after;
            }
            '\\' => {
                let next = rest.chars().nth(1)?;
                out.push(next);
                rest = rest.get(1 + next.len_utf8()..)?;
            }
            c if c.is_whitespace() || "$`;&|<>()*?~#".contains(c) => return None,
            c => {
                out.push(c);
                rest = rest.get(c.len_utf8()..)?;
            }
        }
    }
    Some(out)
}

/// A path inside `cwd` without it.
pub(crate) fn short_path(path: &str, cwd: Option<&str>) -> String {
    let inside = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    printable(inside.unwrap_or(path))
}

/// The first `limit` characters of a text as one line.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let line = printable(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// A duration in milliseconds as `0.4s`, `12s`, `3m 05s`.
pub(crate) fn seconds(ms: i64) -> String {
    match ms {
        ms if ms < 10_000 => format!("{}.{}s", ms / 1000, (ms % 1000) / 100),
        ms if ms < 60_000 => format!("{}s", ms / 1000),
        _ => format!("{}m {:02}s", ms / 60_000, (ms / 1000) % 60),
    }
}

/// How long ago, in one word; both times in unix seconds.
pub(crate) fn age(then: i64, now: i64) -> String {
    match (now - then).max(0) {
        s @ ..60 => format!("{s}s"),
        s @ ..3_600 => format!("{}m", s / 60),
        s @ ..86_400 => format!("{}h", s / 3_600),
        s => format!("{}d", s / 86_400),
    }
}

/// A count with thousands set apart: `12,345`.
pub(crate) fn count(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::from(if n < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(
            printable("a\x1b]0;title\x07b\u{9b}2J\u{202e}c\n\td"),
            "a]0;titleb2Jc\n\td"
        );
        assert_eq!(output_line("\x1b[31mred\x1b[0m\r"), "red");
        assert_eq!(output_line("10%\r50%\r100%"), "100%");
    }

    #[test]
    fn commands_are_shown_as_typed() {
        let cases = [
            ("/bin/bash -lc 'ls -l'", "ls -l"),
            ("/bin/bash -lc ls", "ls"),
            (r"/bin/bash -lc 'echo '\''hi'\'''", "echo 'hi'"),
            (r#"/bin/bash -lc 'echo '"'"'hi'"'"''"#, "echo 'hi'"),
            (r#"bash -lc "echo hi""#, "echo hi"),
            (r#"bash -lc "echo $HOME""#, r#"bash -lc "echo $HOME""#),
            ("/bin/bash -lc ls -l", "/bin/bash -lc ls -l"),
            ("/bin/bash -lc 'open", "/bin/bash -lc 'open"),
            ("git status", "git status"),
        ];
        for (command, shown) in cases {
            assert_eq!(typed_command(command), shown, "{command}");
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [seconds(0), seconds(1_250), seconds(12_900), seconds(125_000)],
            ["0.0s", "1.2s", "12s", "2m 05s"]
        );
        assert_eq!(
            [age(0, 5), age(0, 120), age(0, 7_300), age(0, 200_000), age(9, 5)],
            ["5s", "2m", "2h", "2d", "0s"]
        );
        assert_eq!(
            [count(0), count(999), count(1_000), count(-1_234_567)],
            ["0", "999", "1,000", "-1,234,567"]
        );
    }

    #[test]
    fn long_texts_become_one_line() {
        assert_eq!(one_line("a\n  b\tc", 10), "a b c");
        assert_eq!(one_line("äöüß", 2), "äö…");
    }

    #[test]
    fn only_whole_path_parts_are_cut() {
        assert_eq!(short_path("/w/a.txt", Some("/w")), "a.txt");
        assert_eq!(short_path("/srv/a.txt", Some("/w")), "/srv/a.txt");
        assert_eq!(short_path("/w/a.txt", None), "/w/a.txt");
    }
}
