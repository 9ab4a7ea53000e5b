//! One file per command. A command gets its arguments and the home, and says how the program ends.

mod archive;
mod completions;
mod daemon;
mod demo;
mod exec;
mod fork;
mod name;
mod resume;
mod show;
mod threads;
mod unarchive;

use std::io::Read;
use std::path::{Path, PathBuf};

use agentd_client::{Client, ClientError, Home};
use agentd_protocol::methods::thread_list::{CwdFilter, ThreadListParams};
use anyhow::{Context, bail};
use serde_json::Value;

use crate::cli::{Cli, Command};
use crate::exit::{Exit, UsageError};

/// Longest prompt read from standard input, in bytes.
const MAX_PROMPT: u64 = 8 * 1024 * 1024;

/// Runs the command that was asked for.
pub(crate) fn run(cli: Cli) -> anyhow::Result<Exit> {
    let home = || match &cli.home {
        Some(path) => Home::at(path.clone()),
        None => Home::from_env(),
    };
    match cli.command {
        Command::Exec(args) => exec::run(&home()?, &args),
        Command::Resume(args) => resume::run(&home()?, &args),
        Command::Threads(args) => threads::run(&home()?, &args),
        Command::Show(args) => show::run(&home()?, &args),
        Command::Name(args) => name::run(&home()?, &args),
        Command::Archive(args) => archive::run(&home()?, &args),
        Command::Unarchive(args) => unarchive::run(&home()?, &args),
        Command::Fork(args) => fork::run(&home()?, &args),
        Command::Daemon { action } => daemon::run(&home()?, &action),
        Command::Demo(args) => demo::run(&args),
        Command::Completions { shell } => completions::run(shell),
    }
}

/// The prompt itself, or standard input for `-`.
fn read_prompt(word: &str) -> anyhow::Result<String> {
    if word != "-" {
        return Ok(word.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_PROMPT)
        .read_to_string(&mut text)
        .context("read the prompt from standard input")?;
    Ok(text)
}

/// The working directory as the daemon needs it.
fn absolute_dir(directory: Option<&Path>) -> anyhow::Result<String> {
    let path = match directory {
        Some(path) => path.to_path_buf(),
        None => PathBuf::from("."),
    };
    let path = path
        .canonicalize()
        .with_context(|| format!("working directory {}", path.display()))?;
    if !path.is_dir() {
        return Err(UsageError::of(format!(
            "working directory {}: not a directory",
            path.display()
        )));
    }
    path.into_os_string()
        .into_string()
        .map_err(|path| anyhow::anyhow!("{} is not valid UTF-8", path.display()))
}

/// Splits `key=value`; the value is JSON if it reads as JSON, else text.
fn read_setting(setting: &str) -> anyhow::Result<(String, Value)> {
    match setting.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
            Ok((key.trim().to_owned(), value))
        }
        _ => Err(UsageError::of(format!("-c wants KEY=VALUE, not `{setting}`"))),
    }
}

/// The one thread whose id begins or ends with `word`. Ids begin with a time, so the end tells new threads apart.
fn find_thread(client: &Client, word: &str) -> anyhow::Result<String> {
    find_among(client, word, false)
}

/// The same among the threads that were put away, or among the others.
fn find_among(client: &Client, word: &str, archived: bool) -> anyhow::Result<String> {
    const WHOLE: usize = 36;
    const PAGES: usize = 20;
    if word.is_empty() {
        return Err(UsageError::of("an id, or its beginning or end, is needed"));
    }
    if word.len() >= WHOLE {
        return Ok(word.to_owned());
    }
    let mut found = Vec::new();
    let mut filter = ThreadListParams {
        limit: Some(100),
        archived: Some(archived),
        ..ThreadListParams::default()
    };
    for _ in 0..PAGES {
        let page = client.thread_list(&filter).context("look for the thread")?;
        found.extend(
            page.data
                .into_iter()
                .map(|t| t.id)
                .filter(|id| id.starts_with(word) || id.ends_with(word)),
        );
        match page.next_cursor {
            Some(cursor) => filter.cursor = Some(cursor),
            None => break,
        }
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] if archived => bail!("no thread that was put away has an id that begins or ends with `{word}`"),
        [] => bail!("no thread has an id that begins or ends with `{word}` (see: agentctl threads --all)"),
        many => bail!("`{word}` could be any of:\n  {}", many.join("\n  ")),
    }
}

/// The end of an id: enough for a person to name the thread by.
fn short_id(id: &str) -> &str {
    const SHORT: usize = 8;
    id.len()
        .checked_sub(SHORT)
        .and_then(|from| id.get(from..))
        .unwrap_or(id)
}

/// The newest threads of a directory, or of all.
fn in_directory(cwd: Option<String>, limit: u32) -> ThreadListParams {
    ThreadListParams {
        cwd: cwd.map(CwdFilter::One),
        limit: Some(limit),
        ..ThreadListParams::default()
    }
}

/// The newest thread of a directory.
fn newest_thread(client: &Client, cwd: String) -> Result<Option<String>, ClientError> {
    let page = client.thread_list(&in_directory(Some(cwd), 1))?;
    Ok(page.data.into_iter().next().map(|thread| thread.id))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_json_or_text() {
        let read = |text| read_setting(text).expect(text);
        assert_eq!(read("a.b=3"), ("a.b".into(), json!(3)));
        assert_eq!(read("effort=high"), ("effort".into(), json!("high")));
        assert_eq!(read("x=[1]"), ("x".into(), json!([1])));
        assert_eq!(read("url=http://h?a=b"), ("url".into(), json!("http://h?a=b")));
        assert!(read_setting("novalue").is_err());
        assert!(read_setting("=3").is_err());
    }
}
