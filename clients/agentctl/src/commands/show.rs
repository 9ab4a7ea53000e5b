//! `agentctl show`: a thread from its beginning, without loading it.

use std::io::Write;

use agentd_client::Home;
use anyhow::Context;

use super::find_thread;
use crate::access;
use crate::cli::ShowArgs;
use crate::exit::Exit;
use crate::render::screen::Layout;
use crate::render::{Renderer, one_line};

/// Longest title, in characters.
const TITLE: usize = 80;

pub(crate) fn run(home: &Home, args: &ShowArgs) -> anyhow::Result<Exit> {
    let client = access::open(home)?;
    let id = find_thread(&client, &args.id)?;
    let thread = client
        .thread_read(&id, true)
        .with_context(|| format!("read thread {id}"))?;
    if args.json {
        let text = serde_json::to_string_pretty(&thread).context("write the thread as JSON")?;
        writeln!(std::io::stdout().lock(), "{text}").context("write to standard output")?;
        return Ok(Exit::Completed);
    }
    let mut renderer = Renderer::new(Layout::Together, args.verbose);
    renderer.heading(&one_line(thread.name.as_deref().unwrap_or(&thread.preview), TITLE));
    renderer.note(&format!(
        "{} · {} ({}) · {}",
        thread.id, thread.model, thread.model_provider, thread.cwd
    ));
    renderer.history(&thread);
    Ok(Exit::Completed)
}
