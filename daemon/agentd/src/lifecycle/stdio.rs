//! Serving on standard input and output, and the life that goes with it: the process ends when its client has left, unless
//! others still need it.

use crate::rpc::connection::Server;
use crate::rpc::transport::json_lines::{LineReader, LineWriter};

/// Serves stdio; completes when the client closed standard input, nobody else is connected and no turn runs. A turn that
/// nobody can answer or that takes far too long is interrupted for it ([`crate::daemon::Daemon::unused`]).
pub async fn serve_until_unused(server: Server) {
    let daemon = server.daemon.clone();
    // A task of its own: when the process is asked to end, its client is served until its turns have ended.
    let serving = server.serve(
        LineReader::new(tokio::io::stdin()),
        LineWriter::new(tokio::io::stdout()),
    );
    if let Err(error) = daemon.tracker.spawn(serving).await {
        tracing::error!(%error, "serving standard input died");
    }
    daemon.unused().await;
}
