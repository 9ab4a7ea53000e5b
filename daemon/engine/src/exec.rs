//! Commands: reading the call, running it, showing it, telling the model how it ended.

use std::path::Path;

use agentd_protocol::item::{CommandExecutionItem, CommandStatus, ThreadItem};
use agentd_protocol::notification::ServerNotification;
use agentd_protocol::settings::SandboxPolicy;
use serde::Deserialize;
use serde_json::Value;

use crate::approval::{self, Gate};
use crate::effect::{ExecAction, ToolAction};
use crate::input::ExecExit;
use crate::out::Out;
use crate::rollout::{ItemLine, RolloutLine, TextChannel};
use crate::thread::ThreadState;
use crate::tool_calls::{Work, ms_to_seconds, parse_arguments};
use crate::turn::ActiveTurn;
use crate::{command_line, tokens};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 3_600_000;

/// Item sources of the protocol.
const SOURCE_WAITING: &str = "agent";
const SOURCE_RUNNING: &str = "unifiedExecStartup";

/// A command the model wants to run.
#[derive(Clone, Debug)]
pub(crate) struct ExecCall {
    pub(crate) argv: Vec<String>,
    /// The script as the model wrote it, for display.
    script: String,
    pub(crate) cwd: String,
    timeout_ms: u64,
    max_output_tokens: usize,
    /// The model asked to leave the sandbox.
    pub(crate) escalated: bool,
    pub(crate) justification: Option<String>,
}

#[derive(Deserialize)]
struct ExecArguments {
    cmd: String,
    #[serde(flatten)]
    options: Options,
}

#[derive(Deserialize)]
struct ShellArguments {
    command: Command,
    #[serde(flatten)]
    options: Options,
}

#[derive(Deserialize)]
struct Options {
    #[serde(default, alias = "working_directory")]
    workdir: Option<String>,
    #[serde(default)]
    timeout_ms: Option<f64>,
    #[serde(default)]
    max_output_tokens: Option<f64>,
    #[serde(default)]
    sandbox_permissions: Option<String>,
    #[serde(default)]
    justification: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Command {
    Script(String),
    Argv(Vec<String>),
}

pub(crate) fn read_exec_command(arguments: &Value, cwd: &str, shell: &str) -> Result<ExecCall, String> {
    let fields = "cmd (string, required), workdir, timeout_ms, max_output_tokens, sandbox_permissions, justification";
    let ExecArguments { cmd, options } = parse_arguments("exec_command", fields, arguments)?;
    Ok(exec_call(Command::Script(cmd), options, cwd, shell))
}

/// `shell` and its cousins: not offered, but models know them by heart.
pub(crate) fn read_shell(name: &str, arguments: &Value, cwd: &str, shell: &str) -> Result<ExecCall, String> {
    let fields = "command (string or array of strings, required), workdir, timeout_ms";
    let ShellArguments { command, options } = parse_arguments(name, fields, arguments)?;
    not_empty(&command)?;
    Ok(exec_call(command, options, cwd, shell))
}

pub(crate) fn read_local_shell(action: &Value, cwd: &str) -> Result<ExecCall, String> {
    let fields = "action.command (array of strings, required), action.working_directory, action.timeout_ms";
    let ShellArguments { command, options } = parse_arguments("local_shell", fields, action)?;
    not_empty(&command)?;
    Ok(exec_call(command, options, cwd, "/bin/sh"))
}

fn not_empty(command: &Command) -> Result<(), String> {
    match command {
        Command::Argv(argv) if argv.is_empty() => {
            Err("failed to parse function arguments: command must not be an empty array".to_owned())
        }
        _ => Ok(()),
    }
}

fn exec_call(command: Command, options: Options, cwd: &str, shell: &str) -> ExecCall {
    let (argv, script) = match command {
        Command::Script(script) => (vec![shell.to_owned(), "-lc".to_owned(), script.clone()], script),
        Command::Argv(argv) => {
            let script = match argv.as_slice() {
                [_, flag, script] if flag == "-lc" || flag == "-c" => script.clone(),
                argv => command_line::quote(argv),
            };
            (argv, script)
        }
    };
    let max_tokens = options.max_output_tokens.map_or(tokens::MAX_OUTPUT_TOKENS, whole);
    ExecCall {
        argv,
        script,
        cwd: join(cwd, options.workdir.as_deref()),
        timeout_ms: options
            .timeout_ms
            .map_or(DEFAULT_TIMEOUT_MS, |ms| (whole(ms) as u64).clamp(1, MAX_TIMEOUT_MS)),
        max_output_tokens: max_tokens.min(tokens::MAX_OUTPUT_TOKENS),
        escalated: options.sandbox_permissions.as_deref() == Some("require_escalated"),
        justification: options.justification.filter(|text| !text.is_empty()),
    }
}

/// A JSON number as a count: negative and odd values become 0, huge ones the maximum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate"
)]
fn whole(number: f64) -> usize {
    number as usize
}

/// The folder a command runs in: the thread's, or one named from there.
fn join(cwd: &str, workdir: Option<&str>) -> String {
    match workdir {
        Some(dir) if !dir.is_empty() && dir != "." => Path::new(cwd).join(dir).to_string_lossy().into_owned(),
        _ => cwd.to_owned(),
    }
}

impl ActiveTurn {
    pub(crate) fn start_exec(&mut self, thread: &mut ThreadState, at: usize, exec: ExecCall, out: &mut Out<'_, '_>) {
        match approval::exec_gate(thread, &exec) {
            Gate::Refuse(output) => self.answer_call(at, output),
            Gate::Run => {
                let item = self.new_exec_item(thread, at, &exec, SOURCE_RUNNING, out);
                self.store_item_started(&item, out);
                self.calls[at].item = Some(self.open_item(item, out));
                self.run_exec(thread, at, &exec, false, out);
            }
            Gate::Ask => {
                let item = self.new_exec_item(thread, at, &exec, SOURCE_WAITING, out);
                self.ask_exec(thread, at, &exec, item, out);
            }
        }
    }

    /// Runs a command whose item is shown and stored.
    pub(crate) fn run_exec(
        &mut self,
        thread: &mut ThreadState,
        at: usize,
        exec: &ExecCall,
        approved: bool,
        out: &mut Out<'_, '_>,
    ) {
        if let Some(item) = self.exec_item(at) {
            item.source = SOURCE_RUNNING.to_owned();
        }
        let policy = match exec.escalated && (approved || approval::exec_granted(thread, exec)) {
            true => SandboxPolicy::DangerFullAccess,
            false => thread.settings.sandbox_policy.clone(),
        };
        let action = ExecAction {
            argv: exec.argv.clone(),
            cwd: exec.cwd.clone(),
            policy,
            writable_roots: self.facts.writable_roots.clone(),
            timeout_ms: exec.timeout_ms,
        };
        self.run_tool(thread, at, ToolAction::Exec(action), out);
    }

    fn new_exec_item(
        &self,
        thread: &mut ThreadState,
        at: usize,
        exec: &ExecCall,
        source: &str,
        out: &mut Out<'_, '_>,
    ) -> ThreadItem {
        ThreadItem::CommandExecution(CommandExecutionItem {
            id: thread.unique_item_id(Some(&self.calls[at].call_id), out),
            plugin_id: None,
            script_path: None,
            command: command_line::quote(&exec.argv),
            cwd: exec.cwd.clone(),
            process_id: None,
            source: source.to_owned(),
            status: CommandStatus::InProgress,
            command_actions: command_line::actions(&exec.script),
            aggregated_output: None,
            exit_code: None,
            duration_ms: None,
            started_at_ms: Some(out.ms()),
            completed_at_ms: None,
        })
    }

    /// Writes down that a command or patch is about to begin. The item comes next in the turn.
    pub(crate) fn store_item_started(&mut self, item: &ThreadItem, out: &mut Out<'_, '_>) {
        out.append(RolloutLine::ItemStarted(ItemLine {
            turn_id: self.id.clone(),
            item: item.clone(),
        }));
        self.checkpoints.note_stored(self.items.len());
    }

    pub(crate) fn exec_item(&mut self, at: usize) -> Option<&mut CommandExecutionItem> {
        match self.items.get_mut(self.calls.get(at)?.item?) {
            Some(ThreadItem::CommandExecution(item)) => Some(item),
            _ => None,
        }
    }

    pub(crate) fn exec_started(&mut self, at: usize, process_id: String) {
        if let Some(item) = self.exec_item(at) {
            item.process_id = Some(process_id);
        }
    }

    pub(crate) fn exec_output(&mut self, at: usize, text: String, out: &mut Out<'_, '_>) {
        let Some(index) = self.calls[at].item else { return };
        for text in self.calls[at].flow.admit(text, out.ms()) {
            self.show_output(index, text, out);
        }
    }

    fn show_output(&mut self, index: usize, text: String, out: &mut Out<'_, '_>) {
        self.add_text(index, TextChannel::CommandOutput, 0, &text, out);
        let (thread_id, turn_id, item_id) = (out.thread_id(), self.id.clone(), self.items[index].id().to_owned());
        out.emit(ServerNotification::CommandExecutionOutputDelta {
            thread_id,
            turn_id,
            item_id,
            delta: text,
        });
    }

    pub(crate) fn exec_ended(
        &mut self,
        at: usize,
        exit: &ExecExit,
        output: String,
        duration_ms: i64,
        out: &mut Out<'_, '_>,
    ) {
        let Work::Exec(exec) = &self.calls[at].work else { return };
        let timeout_ms = exec.timeout_ms;
        let text = match exit {
            ExecExit::Cancelled => self.aborted_text(at, out.ms()),
            exit => model_text(
                &exit_line(exit, exec.timeout_ms),
                &output,
                duration_ms,
                exec.max_output_tokens,
            ),
        };
        if let Some(item) = self.exec_item(at) {
            item.status = if *exit == ExecExit::Code(0) {
                CommandStatus::Completed
            } else {
                CommandStatus::Failed
            };
            item.exit_code = exit_code(exit);
            item.aggregated_output = Some(match exit {
                // Nobody but the item can tell the user why nothing ran.
                ExecExit::NotStarted { .. } => exit_line(exit, timeout_ms),
                _ => output,
            });
            item.duration_ms = Some(duration_ms);
        }
        if let Some(index) = self.calls[at].item {
            self.complete_item(index, out);
        }
        self.answer_call(at, text);
    }
}

fn exit_code(exit: &ExecExit) -> Option<i32> {
    match exit {
        ExecExit::Code(code) => Some(*code),
        ExecExit::Signal(signal) => Some(128 + signal),
        ExecExit::TimedOut | ExecExit::Cancelled | ExecExit::NotStarted { .. } => None,
    }
}

fn exit_line(exit: &ExecExit, timeout_ms: u64) -> String {
    match exit {
        ExecExit::Code(code) => format!("Process exited with code {code}"),
        ExecExit::Signal(signal) => format!("Process was ended by signal {signal}"),
        ExecExit::TimedOut => format!("Process was stopped after its time limit of {timeout_ms} ms"),
        ExecExit::Cancelled => "Process was stopped".to_owned(),
        ExecExit::NotStarted { kind, message } => format!("Process could not be started ({kind}): {message}"),
    }
}

/// The result of a command as the model reads it.
pub(crate) fn model_text(exit_line: &str, output: &str, duration_ms: i64, max_tokens: usize) -> String {
    let output = tokens::cut(output, max_tokens);
    format!(
        "Wall time: {:.4} seconds\n{exit_line}\nOutput:\n{output}",
        ms_to_seconds(duration_ms)
    )
}
