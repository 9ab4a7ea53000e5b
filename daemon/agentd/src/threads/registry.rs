//! Finds, loads and starts threads; makes sure that each is in memory once.
//!
//! The map is held for a lookup, never across an await. A thread that is being loaded has a cell that everybody who wants
//! it waits on.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agentd_engine::rollout::{RolloutLine, ThreadRecord};
use agentd_engine::{Engine, Now};
use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::thread::ThreadStatus;
use agentd_store::{Store, StoreError, ThreadRow};
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

use super::actor::{self, now_ms};
use super::handle::ThreadHandle;
use super::providers::Providers;
use crate::config::Config;
use crate::rpc::connections::Connections;
use crate::rpc::error::RpcError;
use crate::rpc::server_requests::ServerRequests;

/// What thread tasks use of the daemon.
pub struct Deps {
    /// Rollouts.
    pub store: agentd_store::Store,
    /// The model service.
    pub models: agentd_model::ModelClient,
    /// Provider ids to endpoints.
    pub providers: Providers,
    /// Open requests to clients.
    pub server_requests: Arc<ServerRequests>,
    /// All connections, for what everybody is told.
    pub connections: Arc<Connections>,
    /// Owns the tasks.
    pub tracker: TaskTracker,
    /// The daemon's configuration, without any thread's overrides.
    pub config: Arc<Config>,
    /// Program that is run as the sandbox helper: the daemon's own binary.
    pub helper: PathBuf,
}

type Cell = Arc<OnceCell<ThreadHandle>>;

/// What [`Registry::loaded_or`] found.
pub(super) enum Access<T> {
    /// The thread is in memory.
    Loaded(ThreadHandle),
    /// It is not, and this was done instead.
    Done(T),
}

/// The threads in memory.
pub struct Registry {
    deps: Arc<Deps>,
    loaded: Mutex<HashMap<String, Cell>>,
}

impl Registry {
    /// An empty registry.
    pub fn new(deps: Deps) -> Self {
        Self {
            deps: Arc::new(deps),
            loaded: Mutex::new(HashMap::new()),
        }
    }

    /// The store that threads are written to.
    pub fn store(&self) -> &agentd_store::Store {
        &self.deps.store
    }

    pub(super) fn deps(&self) -> &Arc<Deps> {
        &self.deps
    }

    /// Completes what a crash left open: every unfinished turn is recorded as interrupted, every open call as aborted.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub async fn recover(&self) -> Result<(), RpcError> {
        let store = self.deps.store.clone();
        let unfinished = blocking(move || store.unfinished_threads()).await?;
        for thread_id in unfinished {
            match self.read_engine(&thread_id).await {
                Ok(_) => tracing::info!(thread = thread_id, "completed what a crash left open"),
                // One damaged thread must not keep the others from being served.
                Err(error) => {
                    tracing::error!(thread = thread_id, error = %error.message(), "cannot recover the thread")
                }
            }
        }
        Ok(())
    }

    /// Starts a new thread: stores it, then puts it in memory.
    ///
    /// # Errors
    /// The store refused it.
    pub async fn start(
        &self,
        record: ThreadRecord,
        settings: ThreadSettings,
        config: Arc<Config>,
    ) -> Result<ThreadHandle, RpcError> {
        let (id, ephemeral) = (record.id.clone(), record.ephemeral);
        let (engine, lines) = Engine::new(record, settings);
        if !ephemeral {
            self.deps.store.append(&id, lines).await?;
        }
        Ok(self.put(engine, config))
    }

    /// Puts a new thread in memory.
    pub(super) fn put(&self, engine: Engine, config: Arc<Config>) -> ThreadHandle {
        let id = engine.record().id.clone();
        let handle = actor::spawn(engine, self.deps.clone(), config);
        let cell = Arc::new(OnceCell::new_with(Some(handle.clone())));
        self.map().insert(id, cell);
        handle
    }

    /// The thread if it is in memory.
    pub fn loaded(&self, thread_id: &str) -> Option<ThreadHandle> {
        let cell = self.map().get(thread_id).cloned()?;
        cell.get().filter(|handle| !handle.is_gone()).cloned()
    }

    /// Ids of the threads in memory, in order.
    pub fn loaded_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = {
            let mut map = self.map();
            map.retain(|_, cell| cell.get().is_none_or(|handle| !handle.is_gone()));
            map.iter()
                .filter(|(_, cell)| cell.initialized())
                .map(|(id, _)| id.clone())
                .collect()
        };
        ids.sort();
        ids
    }

    /// How a thread stands in memory; `NotLoaded` if it is not there.
    pub fn status(&self, thread_id: &str) -> ThreadStatus {
        self.loaded(thread_id)
            .map_or(ThreadStatus::NotLoaded, |handle| handle.status())
    }

    /// Whether the thread is stored.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn exists(&self, thread_id: &str) -> Result<bool, RpcError> {
        Ok(self.row(thread_id).await?.is_some())
    }

    /// The thread, from memory or from the store.
    ///
    /// # Errors
    /// There is no such thread, or it cannot be read.
    pub async fn get_or_load(&self, thread_id: &str) -> Result<ThreadHandle, RpcError> {
        let cell = self.cell(thread_id);
        let handle = cell.get_or_try_init(|| self.load(thread_id)).await.cloned();
        self.forget_unloaded(thread_id, &cell);
        handle
    }

    /// The thread if it is in memory; otherwise the result of `work`, during which nobody can load it.
    pub(super) async fn loaded_or<T>(
        &self,
        thread_id: &str,
        work: impl Future<Output = Result<T, RpcError>>,
    ) -> Result<Access<T>, RpcError> {
        let cell = self.cell(thread_id);
        // The work takes the place of loading: it always "fails", so that the thread stays unloaded.
        let access = match cell.get_or_try_init(|| async { Err(work.await) }).await {
            Ok(handle) => Ok(Access::Loaded(handle.clone())),
            Err(done) => done.map(Access::Done),
        };
        self.forget_unloaded(thread_id, &cell);
        access
    }

    /// Whether any thread runs a turn.
    pub fn any_active(&self) -> bool {
        let handles = self.handles();
        handles
            .iter()
            .any(|handle| matches!(handle.status(), ThreadStatus::Active { .. }))
    }

    /// Ends all threads; running turns are interrupted first.
    pub async fn shutdown(&self) {
        let stops: Vec<_> = self
            .handles()
            .into_iter()
            .map(|handle| async move { handle.stop(RpcError::shutting_down()).await })
            .collect();
        futures_util::future::join_all(stops).await;
    }

    async fn load(&self, thread_id: &str) -> Result<ThreadHandle, RpcError> {
        if self.row(thread_id).await?.is_some_and(|row| row.archived) {
            return Err(RpcError::archived(thread_id));
        }
        let engine = self.read_engine(thread_id).await?;
        let config = match &engine.record().config {
            Some(serde_json::Value::Object(overrides)) => Arc::new(self.deps.config.with_overrides(overrides)?),
            _ => self.deps.config.clone(),
        };
        Ok(actor::spawn(engine, self.deps.clone(), config))
    }

    /// What the store knows of a thread without its rollout.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn row(&self, thread_id: &str) -> Result<Option<ThreadRow>, RpcError> {
        let (store, id) = (self.deps.store.clone(), thread_id.to_owned());
        blocking(move || store.thread(&id)).await
    }

    /// Rebuilds a thread's engine from its rollout; stores the repairs that a crash made necessary.
    async fn read_engine(&self, thread_id: &str) -> Result<Engine, RpcError> {
        let (engine, repairs) = read_rollout(&self.deps.store, thread_id).await?;
        if !repairs.is_empty() {
            self.deps.store.append(thread_id, repairs).await?;
        }
        Ok(engine)
    }

    /// The place of a thread in the map; a new one if its task has ended.
    fn cell(&self, thread_id: &str) -> Cell {
        let mut map = self.map();
        if map
            .get(thread_id)
            .is_some_and(|cell| cell.get().is_some_and(ThreadHandle::is_gone))
        {
            map.remove(thread_id);
        }
        map.entry(thread_id.to_owned()).or_default().clone()
    }

    /// Gives up a place that nobody has filled and nobody else waits at.
    fn forget_unloaded(&self, thread_id: &str, cell: &Cell) {
        /// The map and the caller.
        const HOLDERS: usize = 2;
        let mut map = self.map();
        let same = map.get(thread_id).is_some_and(|there| Arc::ptr_eq(there, cell));
        if same && !cell.initialized() && Arc::strong_count(cell) <= HOLDERS {
            map.remove(thread_id);
        }
    }

    fn handles(&self) -> Vec<ThreadHandle> {
        self.map().values().filter_map(|cell| cell.get().cloned()).collect()
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<String, Cell>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread's engine as its rollout tells it, and the lines that repair a turn which was cut off; they are to be stored
/// before the engine is used.
pub(super) async fn read_rollout(store: &Store, thread_id: &str) -> Result<(Engine, Vec<RolloutLine>), RpcError> {
    let (store, id) = (store.clone(), thread_id.to_owned());
    let lines = blocking(move || match store.rollout(&id) {
        Err(StoreError::UnknownThread(_)) => Ok(Vec::new()),
        read => read,
    });
    let lines = lines.await?;
    if lines.is_empty() {
        return Err(RpcError::no_rollout(thread_id));
    }
    let mut ids = || uuid::Uuid::now_v7().to_string();
    let mut now = Now {
        ms: now_ms(),
        ids: &mut ids,
    };
    Engine::replay(lines, &mut now)
        .map_err(|error| RpcError::internal(format!("thread {thread_id} cannot be read: {error}")))
}

/// Runs a blocking read of the store on the blocking pool.
pub(crate) async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, agentd_store::StoreError> + Send + 'static,
) -> Result<T, RpcError> {
    let done = tokio::task::spawn_blocking(read).await;
    Ok(done.map_err(|error| RpcError::internal(format!("a read of the store died: {error}")))??)
}
