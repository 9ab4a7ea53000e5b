//! `agentctl demo`: a tour that checks itself. It owns the order of the steps and what they promise; the stage (directory,
//! daemon), the crash, the record of what was shown and the comparison are files of their own.

mod checks;
mod crash;
mod processes;
mod record;
mod stage;

use std::time::{Duration, Instant};

use agentd_client::{Client, ThreadOverrides};
use agentd_protocol::settings::{AskForApproval, SandboxMode};
use agentd_protocol::thread::Thread;
use agentd_protocol::turn::TurnStatus;
use anyhow::{Context, bail};

use self::checks::Finding;
use self::crash::Moment;
use self::stage::Stage;
use crate::access::{self, REHEARSAL, REHEARSAL_NOTE};
use crate::approve::Approver;
use crate::cli::DemoArgs;
use crate::exit::{Exit, UsageError};
use crate::interrupt::Interrupt;
use crate::render::screen::Layout;
use crate::render::{Renderer, seconds};
use crate::tty::Tty;
use crate::turn::{Ended, Output, TurnLoop};

const STEPS: usize = 8;
const TOUR: &str = "rehearsal: tour";
const LONG: &str = "rehearsal: long";
const AFTERWARDS: &str = "What is in this folder now?";
/// How long the processes of a killed daemon may take to disappear.
const GONE_LIMIT: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let approver = if args.interactive {
        let Some(tty) = Tty::open() else {
            return Err(UsageError::of("--interactive needs a terminal"));
        };
        Approver::Ask(tty)
    } else {
        Approver::Yes {
            words: "y (demo answers for you)",
        }
    };
    let stage = Stage::build(args.keep)?;
    let mut renderer = Renderer::new(Layout::Together, false);
    renderer.set_cwd(&stage.workspace());
    let mut tour = Tour {
        stage,
        output: Output::People(Box::new(renderer)),
        approver,
        interrupt: Interrupt::install()?,
        began: Instant::now(),
        step: 0,
        failed: 0,
    };
    let outcome = tour.go();
    if let (Err(_), Output::People(renderer)) = (&outcome, &mut tour.output) {
        renderer.quiet();
    }
    outcome
}

/// The state that the steps share.
struct Tour {
    stage: Stage,
    output: Output,
    approver: Approver,
    interrupt: Interrupt,
    began: Instant,
    step: usize,
    /// Checks that did not hold.
    failed: usize,
}

impl Tour {
    fn go(&mut self) -> anyhow::Result<Exit> {
        self.say(&format!(
            "agentd demo in {} (home and workspace); no key, no network",
            self.stage.root().display()
        ));
        self.say(REHEARSAL_NOTE);

        self.heading("a daemon with a home of its own");
        let client = self.stage.start_daemon()?;
        self.say(&format!(
            "  agentd runs, pid {}: {}",
            self.stage.daemon_pid(),
            access::version(client.user_agent())
        ));

        self.heading("a turn: read, try to write outside, patch");
        let thread = client.thread_start(&self.settings()).context("start a thread")?;
        let ended = self.turn(&client, &thread.id, TOUR)?;
        self.check_first_turn(&client, &thread.id, &ended)?;

        let client = self.crash_and_return(client, &thread.id, Moment::CommandRuns)?;
        let client = self.crash_and_return(client, &thread.id, Moment::MessageStreams)?;

        self.heading("the thread goes on");
        let ended = self.turn(&client, &thread.id, AFTERWARDS)?;
        self.completed("the turn after the crash completed", &ended);

        self.heading("the end");
        drop(client);
        self.shut_down()?;
        self.verdict()
    }

    fn settings(&self) -> ThreadOverrides {
        ThreadOverrides {
            cwd: Some(self.stage.workspace()),
            model: Some(REHEARSAL.to_owned()),
            model_provider: Some(REHEARSAL.to_owned()),
            sandbox: Some(SandboxMode::WorkspaceWrite),
            approval_policy: Some(AskForApproval::Untrusted),
            ..ThreadOverrides::default()
        }
    }

    fn turn(&mut self, client: &Client, thread_id: &str, prompt: &str) -> anyhow::Result<Ended> {
        self.say(&format!("> {prompt}"));
        let ended =
            TurnLoop::new(client, thread_id, &mut self.output, &mut self.approver, &self.interrupt).run(prompt)?;
        if ended.by_user {
            bail!("stopped by Ctrl-C");
        }
        Ok(ended)
    }

    fn check_first_turn(&mut self, client: &Client, thread_id: &str, ended: &Ended) -> anyhow::Result<()> {
        self.completed("the turn completed", ended);
        let thread: Thread = client.thread_read(thread_id, true).context("read the thread back")?;
        self.findings(checks::first_turn(&thread, &ended.turn.id, ended.declined));
        Ok(())
    }

    /// Kills the daemon in the middle of a turn, starts it again, resumes the thread and compares.
    fn crash_and_return(&mut self, client: Client, thread_id: &str, moment: Moment) -> anyhow::Result<Client> {
        self.heading(match moment {
            Moment::CommandRuns => "kill -9 while a command runs",
            Moment::MessageStreams => "kill -9 while a message streams",
        });
        self.say(&format!("> {LONG}"));
        let Output::People(renderer) = &mut self.output else {
            bail!("the demo has no screen")
        };
        let crash = crash::provoke(
            &mut self.stage,
            client,
            thread_id,
            LONG,
            moment,
            renderer,
            &self.interrupt,
        )?;
        self.say(&format!("  kill -9 {}: {}", crash.daemon_pid, crash.record.summary()));
        let began = Instant::now();
        let left = processes::wait_gone(&crash.children, GONE_LIMIT);
        let count = crash.children.len();
        if moment == Moment::CommandRuns {
            let text = format!("{count} process(es) below the daemon were at work when it was killed");
            self.findings(vec![Finding::new(count > 0, text)]);
        }
        let text = match left.as_slice() {
            [] => format!("no process is left, {} after the kill", millis(began)),
            pids => format!("still there: {pids:?}"),
        };
        self.findings(vec![Finding::new(left.is_empty(), text)]);

        self.heading("the daemon starts again, the thread is resumed and compared with what was shown");
        let client = self.stage.start_daemon()?;
        self.say(&format!("  agentd runs, pid {}", self.stage.daemon_pid()));
        let resumed = client
            .thread_resume(thread_id, &ThreadOverrides::default())
            .with_context(|| format!("resume thread {thread_id}"))?;
        self.findings(checks::after_crash(&crash, &resumed));
        Ok(client)
    }

    fn shut_down(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        let ended_well = self.stage.stop_daemon()?;
        self.findings(vec![Finding::new(
            ended_well,
            format!("the daemon ended on SIGTERM in {}", millis(began)),
        )]);
        let root = self.stage.root().to_owned();
        if self.stage.clear()? {
            self.findings(vec![Finding::new(
                !root.exists(),
                format!("{} was removed", root.display()),
            )]);
        } else {
            self.say(&format!(
                "  kept: {} (agentctl --home {} threads --all)",
                root.display(),
                root.join("home").display()
            ));
        }
        Ok(())
    }

    fn verdict(&mut self) -> anyhow::Result<Exit> {
        let elapsed = seconds(i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX));
        let (exit, text) = match self.failed {
            0 => (Exit::Completed, format!("all checks hold ({elapsed})")),
            n => (Exit::Failed, format!("{n} check(s) did not hold ({elapsed})")),
        };
        if let Output::People(renderer) = &mut self.output {
            renderer.heading(&text);
        }
        Ok(exit)
    }

    fn completed(&mut self, what: &str, ended: &Ended) {
        self.findings(vec![Finding::new(
            ended.turn.status == TurnStatus::Completed,
            what.to_owned(),
        )]);
    }

    fn findings(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            self.failed += usize::from(!finding.holds);
            if let Output::People(renderer) = &mut self.output {
                renderer.check(finding.holds, &finding.text);
            }
        }
    }

    fn heading(&mut self, title: &str) {
        self.step += 1;
        let elapsed = seconds(i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX));
        let text = format!("[{}/{STEPS}] {title}  ({elapsed})", self.step);
        if let Output::People(renderer) = &mut self.output {
            renderer.heading(&text);
        }
    }

    fn say(&mut self, text: &str) {
        if let Output::People(renderer) = &mut self.output {
            renderer.line(text);
        }
    }
}

fn millis(since: Instant) -> String {
    format!("{} ms", since.elapsed().as_millis())
}
