//! Threads in memory: one task each, reached through typed handles.
//!
//! [`registry`] finds or loads them, [`handle`] speaks to them, [`actor`] is their loop, [`children`] what it started,
//! [`effects`] carries out what the engine decided, [`publish`] tells subscribers, [`metadata`] names and archives, [`fork`]
//! forks, [`prepare`] gathers what a turn needs to know, [`thread_view`] shapes what clients see. Decisions belong to the
//! engine, storage to the store crate.

pub mod actor;
pub mod children;
pub mod effects;
pub mod fork;
pub mod handle;
pub mod metadata;
pub mod outage;
pub mod prepare;
pub mod providers;
pub mod publish;
pub mod registry;
pub mod thread_view;

pub(crate) use actor::now_ms;
pub use handle::Snapshot;
pub use registry::{Deps, Registry};
