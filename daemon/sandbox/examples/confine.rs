//! Runs a command under the sandbox, to try it by hand or to measure it. Not shipped.
//!
//! `confine read-only|workspace-write|full <folder> [--network] -- <command>…`

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use agentd_sandbox::{Confinement, Exit, HELPER_ARG, Launch, Order, Status};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|argument| argument == HELPER_ARG) {
        agentd_sandbox::helper_main();
    }
    run(&launch(&arguments)
        .ok_or("usage: confine read-only|workspace-write|full <folder> [--network] -- <command>…")?)
}

fn launch(arguments: &[String]) -> Option<Launch> {
    let split = arguments.iter().position(|argument| argument == "--")?;
    let (options, argv) = (arguments.get(..split)?, arguments.get(split + 1..)?);
    let cwd = PathBuf::from(options.get(1)?).canonicalize().ok()?;
    let network = options.iter().any(|option| option == "--network");
    let mut writable_roots = vec![cwd.clone()];
    writable_roots.extend(PathBuf::from("/tmp").canonicalize());
    let confinement = match options.first()?.as_str() {
        "read-only" => Confinement::ReadOnly { network },
        "workspace-write" => Confinement::WorkspaceWrite {
            writable_roots,
            network,
        },
        "full" => Confinement::None,
        _ => return None,
    };
    Some(Launch {
        argv: argv.to_vec(),
        cwd,
        env: std::env::vars().collect(),
        confinement,
        assume_landlock_abi: None,
    })
}

fn run(launch: &Launch) -> Result<ExitCode, Failure> {
    let (mut socket, theirs) = UnixStream::pair()?;
    let mut helper = Command::new("/proc/self/exe")
        .arg(HELPER_ARG)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    socket.write_all(&launch.to_frame()?)?;
    let mut code = 1;
    for line in BufReader::new(socket.try_clone()?).lines() {
        match serde_json::from_str(&line?)? {
            Status::Started { .. } => {}
            Status::SetupFailed(failure) => {
                eprintln!("{}: {}", failure.kind.as_str(), failure.message);
                code = 125;
            }
            Status::Exited(exit) => {
                code = match exit {
                    Exit::Code(code) => u8::try_from(code)?,
                    Exit::Signal(signal) => 128 + u8::try_from(signal)?,
                };
                socket.write_all(Order::Finish.as_line())?;
            }
            Status::Clearing => {}
            Status::Cleared { .. } => break,
        }
    }
    helper.wait()?;
    Ok(ExitCode::from(code))
}
