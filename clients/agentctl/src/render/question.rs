//! What an approval is about: the command with its directory, or the patch, and the model's reason.

use agentd_protocol::approval::ServerRequest;
use agentd_protocol::item::FileChangeItem;

use super::patch;
use super::screen::Screen;
use super::text::{one_line, printable, typed_command};

/// Longest reason shown, in characters.
const REASON_LIMIT: usize = 500;

/// Shows the question. `patch` is the file change it is about, if it was announced and not shown yet.
pub(crate) fn show(
    request: &ServerRequest,
    change: Option<&FileChangeItem>,
    cwd: Option<&str>,
    verbose: bool,
    screen: &mut Screen,
) {
    screen.end_line();
    let reason = match request {
        ServerRequest::CommandExecutionRequestApproval(ask) => {
            title("run this command?", screen);
            for line in typed_command(&ask.command).lines() {
                screen.line(&format!("  $ {line}"));
            }
            screen.line(&screen.style.dim(&format!("  in {}", printable(&ask.cwd))));
            &ask.reason
        }
        ServerRequest::FileChangeRequestApproval(ask) => {
            if let Some(change) = change {
                patch::show_changes(change, cwd, verbose, screen);
            }
            title("apply this patch?", screen);
            &ask.reason
        }
    };
    if let Some(reason) = reason {
        screen.line(&format!("  because: {}", one_line(reason, REASON_LIMIT)));
    }
}

fn title(text: &str, screen: &mut Screen) {
    screen.line(&screen.style.yellow(&format!("? {text}")));
}
