//! Serving on standard input and output, and the life that goes with it: the process ends when its client has left, unless
//! others still need it.

use crate::rpc::connection::Server;
use crate::rpc::transport::json_lines::{LineReader, LineWriter};

/// Serves stdio; completes when the client closed standard input, nobody else is connected and no turn runs.
pub async fn serve_until_unused(server: Server) {
    let daemon = server.daemon.clone();
    server.serve(LineReader::new(tokio::io::stdin()), LineWriter::new(tokio::io::stdout())).await;
    daemon.unused().await;
}
