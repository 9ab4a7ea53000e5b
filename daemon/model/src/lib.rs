//! The Responses API over HTTP: one request out, a stream of [`agentd_engine::input::ModelEvent`]s back.
//!
//! Owns providers, headers, connections, the SSE reader, the classification of failures and the silent retries of a
//! request that never began to answer. Knows nothing of threads, turns or history: the body comes in as finished bytes,
//! and a stream that broke half-way is reported, not repeated (repeating it is the engine's decision).

mod client;
mod connections;
mod decode;
mod failure;
mod provider;
mod retry;
mod sse;
mod stream;

pub use client::ModelClient;
pub use provider::{Provider, RequestContext, Secret};
