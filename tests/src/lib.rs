//! The harness of the outer test rings: the real `agentd` binary in a home of its own, a scripted model server on
//! loopback, and a client that checks what must always hold.
//!
//! Owns no test. See [`model::MockModel`], [`daemon::Home`] and [`session::Session`].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

pub mod daemon;
pub mod model;
pub mod session;
