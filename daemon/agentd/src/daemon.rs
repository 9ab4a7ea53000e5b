//! What the process owns for its whole life, and the order in which it comes up and goes down.
//!
//! Knows no transport. Handlers reach everything through it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentd_protocol::thread::{ActiveFlag, ThreadStatus};
use anyhow::Context;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::lifecycle::home::Home;
use crate::rpc::connections::Connections;
use crate::rpc::error::RpcError;
use crate::rpc::large::LargeResults;
use crate::rpc::server_requests::ServerRequests;
use crate::threads;

/// Pause between two looks at whether a turn still runs. Only while the daemon waits to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How many times the configured grace a working turn may go on while nobody is connected and standard input has ended.
const ALONE_GRACES: u32 = 60;
/// How long interrupted turns may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// How long connections may take to write what they have queued, and how long tasks may take to end.
const FLUSH_LIMIT: Duration = Duration::from_secs(3);

/// The daemon.
pub struct Daemon {
    /// Its home directory, and the lock on it.
    pub home: Home,
    /// Its configuration, without any thread's overrides.
    pub config: Arc<Config>,
    /// All open connections.
    pub connections: Arc<Connections>,
    /// Requests to clients that wait for an answer.
    pub server_requests: Arc<ServerRequests>,
    /// Places for building results that may be large.
    pub large_results: LargeResults,
    /// The threads in memory.
    pub threads: threads::Registry,
    /// Owns the tasks that no thread and no connection owns.
    pub tracker: TaskTracker,
    /// Ends what runs for the process's whole life.
    pub shutdown: CancellationToken,
}

impl Daemon {
    /// Opens the store, completes what a crash left open, and is ready for connections.
    ///
    /// # Errors
    /// The database cannot be opened or repaired.
    pub async fn start(home: Home, config: Config) -> anyhow::Result<Arc<Self>> {
        let store = agentd_store::Store::open(home.path())
            .with_context(|| format!("open the database in {}", home.path().display()))?;
        let (config, tracker, shutdown) = (Arc::new(config), TaskTracker::new(), CancellationToken::new());
        let (connections, server_requests) = (Arc::<Connections>::default(), Arc::<ServerRequests>::default());
        let threads = threads::Registry::new(threads::Deps {
            store,
            models: agentd_model::ModelClient::new(),
            providers: threads::providers::Providers::new(tracker.clone(), shutdown.clone()),
            server_requests: server_requests.clone(),
            connections: connections.clone(),
            tracker: tracker.clone(),
            config: config.clone(),
            helper: own_binary(),
        });
        threads
            .recover()
            .await
            .context("complete what the last run left open")?;
        Ok(Arc::new(Self {
            home,
            config,
            connections,
            server_requests,
            large_results: LargeResults::default(),
            threads,
            tracker,
            shutdown,
        }))
    }

    /// Completes when nobody is connected and no turn runs. While nobody is there, turns that wait for an approval are
    /// interrupted at once, and the others after [`ALONE_GRACES`] times the configured grace.
    pub async fn unused(&self) {
        let limit = self.config.shutdown_grace.saturating_mul(ALONE_GRACES);
        let mut alone_since = Instant::now();
        loop {
            if self.connections.count() > 0 {
                self.connections.none_left().await;
                alone_since = Instant::now();
            }
            if !self.threads.any_active() {
                return;
            }
            self.interrupt_forsaken(alone_since.elapsed() >= limit).await;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Interrupts the turns that wait for an approval, or all.
    async fn interrupt_forsaken(&self, all: bool) {
        for thread_id in self.threads.loaded_ids() {
            let Some(handle) = self.threads.loaded(&thread_id) else {
                continue;
            };
            let ThreadStatus::Active { active_flags } = handle.status() else {
                continue;
            };
            if !all && !active_flags.contains(&ActiveFlag::WaitingOnApproval) {
                continue;
            }
            let interrupted = async {
                if let Some(turn) = handle.snapshot().await?.active_turn {
                    tracing::info!(
                        thread = thread_id,
                        turn = turn.id,
                        "interrupting a turn: nobody is connected"
                    );
                    handle.interrupt(turn.id).await?;
                }
                Ok::<(), RpcError>(())
            };
            // An error means that it has ended meanwhile; should it take longer, the next look asks again.
            let _ = tokio::time::timeout(STOP_LIMIT, interrupted).await;
        }
    }

    /// Completes when no turn runs.
    pub async fn quiet(&self) {
        while self.threads.any_active() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Ends everything: interrupts turns, lets clients read to the end, closes the store. Each step has its limit.
    pub async fn stop(&self) {
        if tokio::time::timeout(STOP_LIMIT, self.threads.shutdown()).await.is_err() {
            tracing::warn!("some threads did not end in time; their last turns are completed at the next start");
        }
        self.connections.finish_all();
        if tokio::time::timeout(FLUSH_LIMIT, self.connections.none_left())
            .await
            .is_err()
        {
            self.connections
                .close_all("the daemon ends and the client does not read");
        }
        self.shutdown.cancel();
        self.tracker.close();
        let _ = tokio::time::timeout(FLUSH_LIMIT, self.tracker.wait()).await;
        let store = self.threads.store().clone();
        if let Err(error) = tokio::task::spawn_blocking(move || store.close()).await {
            tracing::error!(%error, "closing the store died");
        }
    }
}

/// The program to run as the sandbox helper. The path keeps its meaning when the file is replaced by an update.
fn own_binary() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}
