//! The log: standard error, since standard output belongs to the protocol. Level from `AGENTD_LOG`, else `RUST_LOG`, else
//! `warn`. Opens no file.

use tracing_subscriber::EnvFilter;

/// Starts the log. Call once.
pub fn start() {
    let directives = ["AGENTD_LOG", "RUST_LOG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    let filter = EnvFilter::try_new(directives.as_deref().unwrap_or("warn")).unwrap_or_else(|_| EnvFilter::new("warn"));
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
    // The only error is that a log runs already, which is as good.
    drop(started);
}
