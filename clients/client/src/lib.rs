//! The client side of agentd: find the daemon of a home directory, start it when none runs, and speak the app-server
//! protocol to it over its Unix socket, one JSON object per line.
//!
//! This crate is blocking on purpose: threads and a condition variable, no async runtime, so that a command-line client
//! stays small. It never prints, never ends a process it did not start, and knows nothing of terminals.
//!
//! Where to look: [`Home`] (paths), [`connect_or_start`] (the usual way in), [`Client`] (calls and events),
//! [`LiveThread`] (a thread folded from notifications), [`ClientError`].

mod calls;
mod connection;
mod error;
mod home;
mod inbox;
mod launch;
mod live;
mod owner;
mod wire;

pub use calls::ThreadOverrides;
pub use connection::{Client, ClientName};
pub use error::ClientError;
pub use home::Home;
pub use launch::{Launch, connect_or_start, find_agentd, start_daemon, stderr_tail};
pub use live::LiveThread;
pub use owner::{Owner, is_agentd, is_alive};
pub use wire::{Event, Notified, RequestId, ServerAsk};
