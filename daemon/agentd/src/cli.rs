//! The command line. Parsing only; what it asks for is done in `lifecycle`.
//!
//! Clients start the daemon with the argument forms of `codex app-server`, so those are what is understood.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};

use crate::config::Overrides;

/// A coding-agent daemon that speaks the Codex app-server protocol.
#[derive(Debug, Parser)]
#[command(name = "agentd", version = VERSION)]
pub struct Cli {
    #[command(flatten)]
    serve: ServeArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The protocol's version comes first: clients take the first `x.y.z` for what they may rely on.
const VERSION: &str = concat!(
    "0.171.0 (version of the app-server protocol; agentd ",
    env!("CARGO_PKG_VERSION"),
    ")"
);

#[derive(Debug, Default, Args)]
struct ConfigArgs {
    /// Override a configuration value; the value is TOML, or else a string. May be repeated.
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// Use the table of this name below `profiles` in config.toml.
    #[arg(short = 'p', long, value_name = "NAME")]
    profile: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the app-server protocol (the default).
    AppServer(Box<AppServer>),
}

/// Understood with and without `app-server`.
#[derive(Debug, Default, Args)]
struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Where to listen: stdio:// (the default), unix:// (the home's socket), unix://PATH or ws://IP:PORT.
    #[arg(long, value_name = "URL")]
    listen: Option<Listen>,
    /// Same as --listen stdio://.
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,
    /// Bearer token that clients of ws:// must present.
    #[arg(long, value_name = "TOKEN", env = "AGENTD_WS_TOKEN", hide_env_values = true)]
    ws_token: Option<String>,
}

#[derive(Debug, Args)]
struct AppServer {
    #[command(flatten)]
    serve: ServeArgs,
    #[command(subcommand)]
    command: Option<AppServerCommand>,
}

#[derive(Debug, Subcommand)]
enum AppServerCommand {
    /// Write the JSON schema of the protocol.
    GenerateJsonSchema {
        /// Folder to write to.
        #[arg(short, long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Write the TypeScript types of the protocol.
    GenerateTs {
        /// Folder to write to.
        #[arg(short, long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Connect standard input and output to the running daemon's socket, byte for byte.
    Proxy,
}

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Standard input and output.
    Stdio,
    /// The home's socket, and one more if a path is given.
    Unix(Option<PathBuf>),
    /// WebSocket over TCP.
    WebSocket(SocketAddr),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        if url == "stdio://" {
            return Ok(Self::Stdio);
        }
        if let Some(path) = url.strip_prefix("unix://") {
            return Ok(Self::Unix(
                Some(path).filter(|path| !path.is_empty()).map(PathBuf::from),
            ));
        }
        let address = url
            .strip_prefix("ws://")
            .ok_or("expected stdio://, unix://, unix://PATH or ws://IP:PORT")?;
        let parsed = address.trim_end_matches('/').replace("localhost", "127.0.0.1").parse();
        parsed
            .map(Self::WebSocket)
            .map_err(|_| format!("`{address}` is no IP:PORT"))
    }
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Task {
    /// Serve.
    Serve(Serve),
    /// Write the JSON schema to a folder.
    WriteJsonSchema(PathBuf),
    /// Write the TypeScript types to a folder.
    WriteTypeScript(PathBuf),
    /// Be a pipe to the running daemon.
    Proxy,
}

/// How to serve.
#[derive(Debug)]
pub struct Serve {
    /// Where.
    pub listen: Listen,
    /// Bearer token of `ws://`.
    pub ws_token: Option<String>,
    /// Configuration from the command line.
    pub overrides: Overrides,
}

impl Cli {
    /// What is asked for. Options before and after `app-server` count alike, later ones more.
    pub fn task(self) -> Task {
        let Some(Command::AppServer(app_server)) = self.command else {
            return Task::Serve(self.serve.followed_by(ServeArgs::default()));
        };
        match app_server.command {
            Some(AppServerCommand::GenerateJsonSchema { out }) => Task::WriteJsonSchema(out),
            Some(AppServerCommand::GenerateTs { out }) => Task::WriteTypeScript(out),
            Some(AppServerCommand::Proxy) => Task::Proxy,
            None => Task::Serve(self.serve.followed_by(app_server.serve)),
        }
    }
}

impl ServeArgs {
    fn followed_by(self, later: Self) -> Serve {
        let place = |args: &Self| args.listen.clone().or(args.stdio.then_some(Listen::Stdio));
        Serve {
            listen: place(&later).or(place(&self)).unwrap_or(Listen::Stdio),
            ws_token: later.ws_token.or(self.ws_token),
            overrides: Overrides {
                pairs: self.config.config.into_iter().chain(later.config.config).collect(),
                profile: later.config.profile.or(self.config.profile),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(line: &str) -> Serve {
        let words = line.split_whitespace();
        match Cli::try_parse_from(words)
            .unwrap_or_else(|error| panic!("{line}: {error}"))
            .task()
        {
            Task::Serve(serve) => serve,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_form_that_clients_use_is_understood() {
        for (line, listen, pairs) in [
            ("agentd", Listen::Stdio, vec![]),
            ("agentd app-server", Listen::Stdio, vec![]),
            ("agentd app-server --stdio", Listen::Stdio, vec![]),
            ("agentd app-server --listen stdio://", Listen::Stdio, vec![]),
            (
                "agentd --config a=1 app-server -c b=2",
                Listen::Stdio,
                vec!["a=1", "b=2"],
            ),
            (
                "agentd app-server --config a=1 --config b=2",
                Listen::Stdio,
                vec!["a=1", "b=2"],
            ),
            (
                "agentd -c a=1 -c b=2 app-server --listen stdio://",
                Listen::Stdio,
                vec!["a=1", "b=2"],
            ),
            ("agentd app-server --listen unix://", Listen::Unix(None), vec![]),
            ("agentd --listen unix://", Listen::Unix(None), vec![]),
            ("agentd --listen unix:// app-server --stdio", Listen::Stdio, vec![]),
            (
                "agentd app-server --listen unix:///x/y",
                Listen::Unix(Some("/x/y".into())),
                vec![],
            ),
            (
                "agentd app-server --listen ws://127.0.0.1:0",
                Listen::WebSocket(([127, 0, 0, 1], 0).into()),
                vec![],
            ),
        ] {
            let serve = serve(line);
            assert_eq!(
                (serve.listen, serve.overrides.pairs),
                (listen, pairs.iter().map(|p| (*p).to_owned()).collect()),
                "{line}"
            );
        }
        assert_eq!(
            serve("agentd app-server --profile p").overrides.profile.as_deref(),
            Some("p")
        );
    }

    #[test]
    fn other_forms_are_refused() {
        for line in [
            "agentd nonsense",
            "agentd app-server --listen http://x",
            "agentd app-server --listen ws://host:1",
        ] {
            assert!(Cli::try_parse_from(line.split_whitespace()).is_err(), "{line}");
        }
    }
}
