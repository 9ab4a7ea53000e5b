//! `agentctl resume`: go on with a thread, with one prompt or, on a terminal, with as many as the person types.

use agentd_client::{Client, Home};
use agentd_protocol::thread::Thread;
use anyhow::Context;

use super::exec::{Seat, overrides};
use super::{absolute_dir, find_thread, newest_thread, read_prompt};
use crate::access::{self, OPENAI, REHEARSAL, REHEARSAL_NOTE};
use crate::cli::ResumeArgs;
use crate::exit::{Exit, UsageError};
use crate::interrupt::Interrupt;
use crate::tty::{Tty, Typed};
use crate::turn::Output;

pub(crate) fn run(home: &Home, args: &ResumeArgs) -> anyhow::Result<Exit> {
    let (word, prompt) = read_words(args)?;
    let tty = if prompt.is_none() { Tty::open() } else { None };
    if prompt.is_none() && (tty.is_none() || args.turn.json) {
        return Err(UsageError::of(
            "without a terminal a prompt is needed (`-` reads it from standard input)",
        ));
    }
    let mut overrides = overrides(&args.turn)?;
    let interrupt = Interrupt::install()?;
    let mut client = access::open(home)?;
    let here = absolute_dir(args.turn.directory.as_deref())?;
    let id = match word {
        Some(word) => find_thread(&client, word)?,
        None => newest_thread(&client, here.clone())
            .context("look for the newest thread")?
            .with_context(|| format!("no thread was started in {here} (see: agentctl threads --all)"))?,
    };
    if args.turn.directory.is_some() && !args.last {
        overrides.cwd = Some(here);
    }
    let stored = client
        .thread_read(&id, false)
        .with_context(|| format!("look at thread {id}"))?;
    if stored.model_provider == OPENAI {
        client = access::with_credentials(client, home)?;
    }
    let thread = client
        .thread_resume(&id, &overrides)
        .with_context(|| format!("resume thread {id}"))?;
    if thread.model_provider == REHEARSAL && !args.turn.json {
        eprintln!("{REHEARSAL_NOTE}");
    }
    let mut seat = Seat::new(&args.turn, &thread.cwd);
    match (prompt, tty) {
        (Some(prompt), _) => {
            let exit = seat.run(&client, &id, &prompt, &interrupt)?;
            seat.farewell(&id);
            Ok(exit)
        }
        (None, Some(tty)) => converse(&client, &thread, &mut seat, tty, &interrupt),
        (None, None) => Ok(Exit::Usage),
    }
}

/// Sorts the words of the command line into a thread (`None` for `--last`) and a prompt.
fn read_words(args: &ResumeArgs) -> anyhow::Result<(Option<&str>, Option<String>)> {
    let (word, prompt) = match (args.last, args.words.as_slice()) {
        (true, []) => (None, None),
        (true, [prompt]) => (None, Some(prompt)),
        (false, [id]) => (Some(id.as_str()), None),
        (false, [id, prompt]) => (Some(id.as_str()), Some(prompt)),
        _ => return Err(UsageError::of("give a thread id or --last, and at most one prompt")),
    };
    let prompt = prompt.map(|word| read_prompt(word)).transpose()?;
    if prompt.as_deref().is_some_and(|text| text.trim().is_empty()) {
        return Err(UsageError::of("the prompt is empty"));
    }
    Ok((word, prompt))
}

/// Prompt after prompt until the person ends it with Ctrl-D or Ctrl-C.
fn converse(
    client: &Client,
    thread: &Thread,
    seat: &mut Seat,
    mut tty: Tty,
    interrupt: &Interrupt,
) -> anyhow::Result<Exit> {
    if let Output::People(renderer) = &mut seat.output {
        renderer.history(thread);
    }
    let mut exit = Exit::Completed;
    loop {
        match tty.ask("> ", || !interrupt.pressed())? {
            Typed::End | Typed::Withdrawn => {
                seat.farewell(&thread.id);
                return Ok(exit);
            }
            Typed::Line(line) if line.trim().is_empty() => {}
            Typed::Line(line) => {
                exit = seat.run(client, &thread.id, &line, interrupt)?;
                interrupt.reset();
            }
        }
    }
}
