//! How a command is shown: one line as a shell would take it, and what it seems to do.
//!
//! For display only. Nothing that decides about permission may look at the result.

use agentd_protocol::item::CommandAction;

/// The argument vector as one shell command line.
pub(crate) fn quote(argv: &[String]) -> String {
    argv.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")
}

fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r#"'"'"'"#))
}

/// What a shell script does, as far as one simple command can be understood.
pub(crate) fn actions(script: &str) -> Vec<CommandAction> {
    vec![simple_action(script).unwrap_or_else(|| CommandAction::Unknown {
        command: script.to_owned(),
    })]
}

fn simple_action(script: &str) -> Option<CommandAction> {
    let words = split(script)?;
    let (program, rest) = words.split_first()?;
    let command = script.to_owned();
    let operands: Vec<&String> = rest.iter().filter(|word| !word.starts_with('-')).collect();
    match (program.as_str(), operands.as_slice()) {
        ("cat" | "nl" | "less", [path]) => Some(read(command, path)),
        ("head" | "tail", operands) => operands.last().map(|path| read(command, path)),
        ("sed", [_script, path]) if rest.first().is_some_and(|word| word == "-n") => Some(read(command, path)),
        ("ls" | "tree" | "find", operands) => Some(CommandAction::ListFiles {
            command,
            path: operands.first().map(|path| (*path).clone()),
        }),
        ("rg" | "grep", operands) => Some(CommandAction::Search {
            command,
            query: operands.first().map(|query| (*query).clone()),
            path: operands.get(1).map(|path| (*path).clone()),
        }),
        _ => None,
    }
}

fn read(command: String, path: &str) -> CommandAction {
    let name = path
        .rsplit('/')
        .find(|part| !part.is_empty())
        .unwrap_or(path)
        .to_owned();
    CommandAction::Read {
        command,
        name,
        path: path.to_owned(),
    }
}

/// Words of one simple command; `None` as soon as anything but words and plain quotes appears.
fn split(script: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = script.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' if c == '"' => return None,
                        inner => word.push(inner),
                    }
                }
            }
            '|' | '&' | ';' | '<' | '>' | '$' | '`' | '(' | ')' | '\\' | '\n' | '#' | '*' | '?' | '{' | '=' => {
                return None;
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use agentd_protocol::item::CommandAction;

    use super::{actions, quote};

    #[test]
    fn quotes_as_a_shell_reads() {
        let line = |words: &[&str]| quote(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(line(&["/bin/bash", "-lc", "ls"]), "/bin/bash -lc ls");
        assert_eq!(line(&["/bin/bash", "-lc", "echo a"]), "/bin/bash -lc 'echo a'");
        assert_eq!(line(&["echo", "it's", ""]), r#"echo 'it'"'"'s' ''"#);
    }

    #[test]
    fn classifies_simple_commands_only() {
        let kind = |script: &str| match &actions(script)[0] {
            CommandAction::Read { name, path, .. } => format!("read {name} {path}"),
            CommandAction::ListFiles { path, .. } => format!("list {path:?}"),
            CommandAction::Search { query, path, .. } => format!("search {query:?} {path:?}"),
            CommandAction::Unknown { .. } => "unknown".to_owned(),
        };
        let table = [
            ("cat src/lib.rs", "read lib.rs src/lib.rs"),
            ("sed -n 1,20p a.txt", "read a.txt a.txt"),
            ("head -n 5 'a b'", "read a b a b"),
            ("ls", "list None"),
            ("ls -la src", "list Some(\"src\")"),
            ("rg -n foo src", "search Some(\"foo\") Some(\"src\")"),
            ("cat a > b", "unknown"),
            ("ls; rm -rf x", "unknown"),
            ("sed -i s/a/b/ f", "unknown"),
            ("cat \"$HOME/x\"", "unknown"),
            ("", "unknown"),
        ];
        for (script, expected) in table {
            assert_eq!(kind(script), expected, "{script}");
        }
    }
}
