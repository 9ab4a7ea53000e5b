//! Forks: a new thread that begins as another one does. The store shares the history; nothing is copied.

use std::sync::Arc;

use agentd_engine::rollout::{RolloutLine, ThreadNamed, ThreadRecord};
use agentd_engine::{Engine, Now};
use agentd_protocol::settings::ThreadSettings;
use agentd_protocol::turn::Turn;
use agentd_store::ForkPoint;

use super::actor::now_ms;
use super::handle::ThreadHandle;
use super::registry::{Registry, blocking};
use crate::config::Config;
use crate::rpc::error::RpcError;

/// A thread to be.
pub struct NewFork {
    /// What is fixed at its start.
    pub record: ThreadRecord,
    /// Its settings.
    pub settings: ThreadSettings,
    /// Its name.
    pub name: Option<String>,
    /// What it shares with its source.
    pub point: ForkPoint,
}

impl NewFork {
    /// The lines that are its own.
    fn lines(&self) -> Vec<RolloutLine> {
        let named = self
            .name
            .clone()
            .map(|name| RolloutLine::ThreadNamed(ThreadNamed { name: Some(name) }));
        let beginning = [
            RolloutLine::ThreadStarted(self.record.clone()),
            RolloutLine::Settings(self.settings.clone()),
        ];
        beginning.into_iter().chain(named).collect()
    }
}

impl Registry {
    /// Makes a fork and puts it in memory. Of an ephemeral one, which no store will tell of, the shared turns come back too.
    ///
    /// # Errors
    /// The source or its last turn is not there, or the fork cannot be stored.
    pub async fn fork(
        &self,
        fork: NewFork,
        config: Arc<Config>,
    ) -> Result<(ThreadHandle, Option<Vec<Turn>>), RpcError> {
        let (id, mut lines) = (fork.record.id.clone(), fork.lines());
        if !fork.record.ephemeral {
            self.store().fork(&id, fork.point, lines).await?;
            return Ok((self.get_or_load(&id).await?, None));
        }
        let store = self.store().clone();
        let (shared, turns) = blocking(move || store.shared(&fork.point)).await?;
        lines.extend(shared);
        let mut ids = || uuid::Uuid::now_v7().to_string();
        let replayed = Engine::replay(
            lines,
            &mut Now {
                ms: now_ms(),
                ids: &mut ids,
            },
        );
        let (engine, _) =
            replayed.map_err(|error| RpcError::internal(format!("the source of {id} cannot be read: {error}")))?;
        Ok((self.put(engine, config), Some(turns)))
    }
}
