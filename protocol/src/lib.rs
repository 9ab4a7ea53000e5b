//! What crosses the socket: the types, the method table and [`view::ThreadView`] of the app-server protocol.
//!
//! This crate owns the wire vocabulary and nothing else: it performs no IO, has no opinion on scheduling and depends on
//! serde alone. Names follow the Codex app-server protocol exactly; every nullable member is serialised as `null`.

pub mod approval;
pub mod item;
pub mod methods;
pub mod notification;
pub mod rpc;
pub mod settings;
pub mod thread;
pub mod turn;
pub mod usage;
pub mod view;
