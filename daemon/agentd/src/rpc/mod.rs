//! How clients speak to the daemon: transports, connections, the method table and its handlers.
//!
//! A message goes `transport` → [`connection`] → [`dispatch`] → `handlers/<method>`; answers and notifications go
//! [`outgoing`] → [`outbox`] → `transport`. Only [`dispatch`] and [`table`] know jsonrpsee; only [`error`] knows codes.

pub mod conn;
pub mod connection;
pub mod connections;
pub mod dispatch;
pub mod error;
pub mod handlers;
mod identity;
mod inflight;
pub mod large;
pub mod opening;
pub mod outbox;
pub mod outgoing;
pub mod server_requests;
pub mod table;
pub mod transport;

pub use identity::{PROTOCOL_VERSION, user_agent};
