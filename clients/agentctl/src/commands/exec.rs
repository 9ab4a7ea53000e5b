//! `agentctl exec`: one task in a new thread. The running of a turn that `resume` shares is here too.

use agentd_client::{Client, Home, ThreadOverrides};
use anyhow::Context;

use super::{absolute_dir, read_prompt, read_setting};
use crate::access::{self, REHEARSAL, REHEARSAL_NOTE};
use crate::approve::Approver;
use crate::cli::{ExecArgs, TurnArgs};
use crate::exit::{Exit, UsageError};
use crate::interrupt::Interrupt;
use crate::render::Renderer;
use crate::render::screen::Layout;
use crate::turn::{Output, TurnLoop};

pub(crate) fn run(home: &Home, args: &ExecArgs) -> anyhow::Result<Exit> {
    let prompt = read_prompt(&args.prompt)?;
    if prompt.trim().is_empty() {
        return Err(UsageError::of("the prompt is empty"));
    }
    let mut start = overrides(&args.turn)?;
    start.cwd = Some(absolute_dir(args.turn.directory.as_deref())?);
    start.model_provider = args.provider.clone();
    let rehearsal = args.rehearsal || args.provider.as_deref() == Some(REHEARSAL);
    if rehearsal {
        start.model_provider = Some(REHEARSAL.to_owned());
        start.model.get_or_insert_with(|| REHEARSAL.to_owned());
    }
    let interrupt = Interrupt::install()?;
    let mut client = access::open(home)?;
    // A provider that was named on the command line answers for itself.
    if start.model_provider.is_none() {
        client = access::with_credentials(client, home)?;
    }
    let thread = client.thread_start(&start).context("start a thread")?;
    if rehearsal && !args.turn.json {
        eprintln!("{REHEARSAL_NOTE}");
    }
    let mut seat = Seat::new(&args.turn, &thread.cwd);
    let exit = seat.run(&client, &thread.id, &prompt, &interrupt)?;
    seat.farewell(&thread.id);
    Ok(exit)
}

/// What of the command line overrides the daemon's settings.
pub(crate) fn overrides(args: &TurnArgs) -> anyhow::Result<ThreadOverrides> {
    let config = args
        .config
        .iter()
        .map(|setting| read_setting(setting))
        .collect::<anyhow::Result<_>>()?;
    Ok(ThreadOverrides {
        cwd: None,
        model: args.model.clone(),
        model_provider: None,
        sandbox: args.sandbox.map(Into::into),
        approval_policy: args.approval.map(Into::into),
        config,
    })
}

/// The place in front of the terminal: how turns are shown and who answers approvals.
pub(crate) struct Seat {
    pub(crate) output: Output,
    approver: Approver,
}

impl Seat {
    pub(crate) fn new(args: &TurnArgs, cwd: &str) -> Self {
        let output = if args.json {
            Output::Lines
        } else {
            let mut renderer = Renderer::new(Layout::for_stdout(), args.verbose);
            renderer.set_cwd(cwd);
            Output::People(Box::new(renderer))
        };
        // Lines are for programs: nobody is asked in between.
        let approver = if args.json && !args.yes {
            Approver::Nobody
        } else {
            Approver::choose(args.yes)
        };
        Self { output, approver }
    }

    /// Runs one turn.
    pub(crate) fn run(
        &mut self,
        client: &Client,
        thread_id: &str,
        prompt: &str,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Exit> {
        let ended = TurnLoop::new(client, thread_id, &mut self.output, &mut self.approver, interrupt).run(prompt)?;
        if let Some(advice) = ended
            .turn
            .error
            .as_ref()
            .and_then(|error| access::advice(&error.message))
        {
            eprintln!("agentctl: {advice}");
        }
        match &self.output {
            Output::People(renderer) if renderer.answer_lost() => Ok(Exit::Failed),
            _ => Ok(ended.exit()),
        }
    }

    /// Says how to go on.
    pub(crate) fn farewell(&mut self, thread_id: &str) {
        if let Output::People(renderer) = &mut self.output {
            renderer.note(&format!("go on with: agentctl resume {thread_id}"));
        }
    }
}
