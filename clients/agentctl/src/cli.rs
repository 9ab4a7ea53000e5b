//! The command line: every option, and the help that teaches it. It owns words and types, no behaviour.

use std::path::PathBuf;

use agentd_protocol::settings::{AskForApproval, SandboxMode};
use clap::{Args, Parser, Subcommand, ValueEnum};

const OVERVIEW: &str = "\
Examples:
  agentctl demo                               see it work: no key, no network, about 10 seconds
  agentctl exec 'what does this project do?'  one task; the answer goes to stdout
  (echo 'review this:'; git diff) | agentctl exec - > review.md
  agentctl exec --sandbox workspace-write 'fix the failing test'
  agentctl resume --last 'now add a test'     go on where you stopped
  agentctl threads                            what was done in this directory

Exit codes:
  0  completed        1  failed        2  wrong usage
  3  ended, but an approval was declined or cancelled
  130  interrupted by Ctrl-C

Environment:
  AGENTD_HOME     home of the daemon (default ~/.agentd)
  AGENTD_BIN      agentd binary to start (default: beside agentctl, else in PATH)
  OPENAI_API_KEY  key for the default provider
  NO_COLOR        no colours";

const EXEC_EXAMPLES: &str = "\
Examples:
  agentctl exec 'explain src/main.rs'
  agentctl exec --sandbox workspace-write --approval never 'run the tests and fix what fails'
  agentctl exec -C ../other -m gpt-5.5 -c model_reasoning_effort=high 'plan the migration'
  echo 'summarise the README' | agentctl exec - > summary.txt
  agentctl exec --json 'list the open questions' | jq -r .method
  agentctl exec --rehearsal 'rehearsal: tour'     a script plays the model; no key needed

On a terminal everything is shown as it happens, and you are asked before anything that needs your approval.
Otherwise stdout gets the final answer and stderr the progress; what would need approval is declined (see --yes).
The first Ctrl-C stops the turn and keeps the thread; the second one leaves at once.
Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 something was declined or cancelled, 130 interrupted.";

const RESUME_EXAMPLES: &str = "\
Examples:
  agentctl resume --last 'and now the tests'
  agentctl resume 019c3a 'what did we decide?'    the beginning of an id is enough
  agentctl resume --last                          shows the thread, then asks for input (on a terminal)";

const DEMO_TEXT: &str = "\
What happens, all of it inside a temporary directory, with a script in the place of the model:
  1. a daemon starts with a home of its own
  2. a turn: files are read by sandboxed commands, a write outside is refused, a patch is asked for and applied
  3. the daemon is killed with `kill -9` while a command runs: no process is left behind
  4. it starts again, the thread is resumed, and what you saw is compared with what was kept
  5. and 6. the same while a message streams
  7. the thread goes on with another turn
  8. the daemon ends, everything is removed
Exit code 0 means that every check held.";

/// Talk to agentd, the coding-agent daemon, from a terminal or a script.
#[derive(Debug, Parser)]
#[command(name = "agentctl", version, after_help = OVERVIEW, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Home directory of the daemon [default: $AGENTD_HOME, else ~/.agentd].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one task in a new thread.
    Exec(ExecArgs),
    /// Go on with a thread.
    Resume(ResumeArgs),
    /// List threads, newest first.
    Threads(ThreadsArgs),
    /// Show a thread from its beginning.
    Show(ShowArgs),
    /// Name a thread.
    Name(NameArgs),
    /// Put a thread away: it is not listed any more and cannot be used until `unarchive`.
    Archive(ThreadArgs),
    /// Bring a thread back that was put away.
    Unarchive(ThreadArgs),
    /// Start a thread that begins as another one does, and print its id.
    Fork(ThreadArgs),
    /// Start, stop or look at the daemon (other commands start it by themselves).
    Daemon {
        #[command(subcommand)]
        action: DaemonAction,
    },
    /// A guided tour that checks itself: sandbox, approval, crash and recovery. Needs no key and no network.
    Demo(DemoArgs),
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example:\n  agentctl completions bash > ~/.local/share/bash-completion/completions/agentctl"
    )]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// How a turn is run and shown; the same for new and resumed threads.
#[derive(Debug, Args)]
pub(crate) struct TurnArgs {
    /// Print each event of the daemon as one line of JSON, and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
    /// Model to use.
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What commands may do.
    #[arg(short, long, value_name = "MODE")]
    pub(crate) sandbox: Option<Sandbox>,
    /// When to ask you.
    #[arg(short, long, value_name = "POLICY")]
    pub(crate) approval: Option<Approval>,
    /// Answer every approval with yes. Only where you would run anything yourself.
    #[arg(short, long, conflicts_with = "approval")]
    pub(crate) yes: bool,
    /// Working directory [default: the current one].
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Override a setting, e.g. -c model_reasoning_effort=high (the value is read as JSON if it is JSON).
    #[arg(short, long = "config", value_name = "KEY=VALUE")]
    pub(crate) config: Vec<String>,
    /// Show all lines of command output.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXEC_EXAMPLES)]
pub(crate) struct ExecArgs {
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    /// Model provider, a name under model_providers in config.toml.
    #[arg(short, long, value_name = "PROVIDER", conflicts_with = "rehearsal")]
    pub(crate) provider: Option<String>,
    /// Let a script play the model: no key, no network.
    #[arg(long)]
    pub(crate) rehearsal: bool,
    /// What to do; `-` reads it from standard input.
    pub(crate) prompt: String,
}

#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    /// The newest thread of this directory.
    #[arg(long)]
    pub(crate) last: bool,
    /// Thread id (its beginning is enough), unless --last; then what to do; `-` reads that from standard input.
    #[arg(value_name = "ID|PROMPT", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ThreadsArgs {
    /// Threads of all directories, not only of this one.
    #[arg(short, long)]
    pub(crate) all: bool,
    /// At most so many.
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// One thread per line, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Thread id; its beginning is enough.
    pub(crate) id: String,
    /// The thread with its turns and items, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show all lines of command output.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ThreadArgs {
    /// Thread id; its beginning is enough.
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// Thread id; its beginning is enough.
    pub(crate) id: String,
    /// The name.
    pub(crate) name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonAction {
    /// Start it, if it does not run.
    Start,
    /// Ask it to end; turns that run may finish first.
    Stop {
        /// Seconds to wait.
        #[arg(long, default_value_t = 30, value_name = "SECONDS")]
        timeout: u64,
        /// Kill it when the time is over. Completed items are kept, and all but the last 250 ms or 4 KiB of text that was still streaming; running turns read as interrupted.
        #[arg(long)]
        force: bool,
    },
    /// Stop it and start it again, e.g. after a change of keys or configuration.
    Restart,
    /// Say whether it runs, and where. Exit code 1 if it does not.
    Status,
}

#[derive(Debug, Args)]
#[command(after_help = DEMO_TEXT)]
pub(crate) struct DemoArgs {
    /// Keep the temporary directory for a look around.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Ask you about the approvals instead of answering for you (needs a terminal).
    #[arg(long)]
    pub(crate) interactive: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Sandbox {
    /// Read everything, write nothing.
    ReadOnly,
    /// Also write in the working directory and the temporary folders.
    WorkspaceWrite,
    /// No confinement.
    DangerFullAccess,
}

impl From<Sandbox> for SandboxMode {
    fn from(mode: Sandbox) -> Self {
        match mode {
            Sandbox::ReadOnly => Self::ReadOnly,
            Sandbox::WorkspaceWrite => Self::WorkspaceWrite,
            Sandbox::DangerFullAccess => Self::DangerFullAccess,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Approval {
    /// Ask before every command and every patch.
    Untrusted,
    /// Ask when the model wants to leave the sandbox.
    OnRequest,
    /// Never ask; what would need an approval is refused.
    Never,
}

impl From<Approval> for AskForApproval {
    fn from(policy: Approval) -> Self {
        match policy {
            Approval::Untrusted => Self::Untrusted,
            Approval::OnRequest => Self::OnRequest,
            Approval::Never => Self::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
