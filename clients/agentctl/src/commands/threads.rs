//! `agentctl threads`: the threads of this directory, or of all.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use agentd_client::Home;
use agentd_protocol::thread::{Thread, ThreadStatus};
use anyhow::Context;

use super::{absolute_dir, in_directory, short_id};
use crate::access;
use crate::cli::ThreadsArgs;
use crate::exit::Exit;
use crate::render::{age, one_line};

/// Longest preview, in characters.
const PREVIEW: usize = 60;

pub(crate) fn run(home: &Home, args: &ThreadsArgs) -> anyhow::Result<Exit> {
    let client = access::open(home)?;
    let cwd = if args.all { None } else { Some(absolute_dir(None)?) };
    let page = client
        .thread_list(&in_directory(cwd, args.limit))
        .context("list threads")?;
    let mut text = String::new();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0));
    for thread in &page.data {
        if args.json {
            text.push_str(&serde_json::to_string(thread).context("write a thread as JSON")?);
        } else {
            text.push_str(&row(thread, now, args.all));
        }
        text.push('\n');
    }
    std::io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .context("write to standard output")?;
    if page.data.is_empty() && !args.json {
        let hint = if args.all {
            ""
        } else {
            " in this directory (--all shows those of others)"
        };
        eprintln!("no threads yet{hint}");
    } else if page.next_cursor.is_some() && !args.json {
        eprintln!("there are more; --limit shows them");
    }
    Ok(Exit::Completed)
}

fn row(thread: &Thread, now: i64, with_cwd: bool) -> String {
    let status = match thread.status {
        ThreadStatus::NotLoaded | ThreadStatus::Idle => "",
        ThreadStatus::SystemError => "failed ",
        ThreadStatus::Active { .. } => "active ",
    };
    let title = thread.name.as_deref().unwrap_or(&thread.preview);
    let place = if with_cwd {
        format!("  [{}]", one_line(&thread.cwd, PREVIEW))
    } else {
        String::new()
    };
    format!(
        "{}  {:>4}  {status}{}{place}",
        short_id(&thread.id),
        age(thread.recency_at, now),
        one_line(title, PREVIEW)
    )
}
