//! The one table from what can go wrong to what a client is told: code, message, `data.kind`.
//!
//! Clients match on the message texts, so their wording follows the protocol; `data.kind` is the stable word for new ones.

use agentd_engine::effect::Rejection;
use agentd_protocol::rpc::{
    ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, OVERLOADED,
};
use agentd_store::StoreError;
use jsonrpsee::types::ErrorObjectOwned;

use crate::config::ConfigError;

/// A failed request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct RpcError(ErrorObject);

impl RpcError {
    fn new(code: i64, kind: &str, message: impl Into<String>) -> Self {
        Self(ErrorObject::new(code, kind, message))
    }

    /// For people, and for clients that match on it.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// As it goes over the wire.
    pub fn object(&self) -> &ErrorObject {
        &self.0
    }

    /// A request in the wrong state, or something that is no request.
    pub fn invalid_request(kind: &str, message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, kind, message)
    }

    /// A message above the size limit.
    pub fn message_too_large(limit: usize) -> Self {
        Self::new(
            INVALID_REQUEST,
            "messageTooLarge",
            format!("message too large: the limit is {limit} bytes"),
        )
    }

    /// Anything before `initialize`.
    pub fn not_initialized() -> Self {
        Self::new(INVALID_REQUEST, "notInitialized", "Not initialized")
    }

    /// A second `initialize`.
    pub fn already_initialized() -> Self {
        Self::new(INVALID_REQUEST, "alreadyInitialized", "Already initialized")
    }

    /// No such method.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            METHOD_NOT_FOUND,
            "methodNotFound",
            format!("Method not found: {method}"),
        )
    }

    /// Params that do not fit the method.
    pub fn invalid_params(reason: impl std::fmt::Display) -> Self {
        Self::new(INVALID_PARAMS, "invalidParams", format!("Invalid request: {reason}"))
    }

    /// A thread that is not there.
    pub fn thread_not_found(id: &str) -> Self {
        Self::new(INVALID_REQUEST, "threadNotFound", format!("thread not found: {id}"))
    }

    /// A thread that is not in memory.
    pub fn thread_not_loaded(id: &str) -> Self {
        Self::new(INVALID_REQUEST, "threadNotLoaded", format!("thread not loaded: {id}"))
    }

    /// A thread that was never stored.
    pub fn no_rollout(id: &str) -> Self {
        Self::new(
            INVALID_REQUEST,
            "threadNotFound",
            format!("no rollout found for thread id {id}"),
        )
    }

    /// A thread that was never put away.
    pub fn no_archived_rollout(id: &str) -> Self {
        Self::new(
            INVALID_REQUEST,
            "threadNotFound",
            format!("no archived rollout found for thread id {id}"),
        )
    }

    /// A thread that was put away.
    pub fn archived(id: &str) -> Self {
        let message = format!("session {id} is archived. Run `agentctl unarchive {id}` to unarchive it first.");
        Self::new(INVALID_REQUEST, "threadArchived", message)
    }

    /// Too late.
    pub fn shutting_down() -> Self {
        Self::new(INVALID_REQUEST, "shuttingDown", "the daemon is shutting down")
    }

    /// An id that is no thread id.
    pub fn invalid_thread_id(reason: impl std::fmt::Display) -> Self {
        Self::new(
            INVALID_REQUEST,
            "invalidThreadId",
            format!("invalid thread id: {reason}"),
        )
    }

    /// A cursor that no list handed out.
    pub fn invalid_cursor(cursor: &str) -> Self {
        Self::new(INVALID_REQUEST, "invalidCursor", format!("invalid cursor: {cursor}"))
    }

    /// Our fault.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, "internal", message)
    }

    /// Too much at once.
    pub fn overloaded() -> Self {
        Self::new(OVERLOADED, "overloaded", "Server overloaded; retry later.")
    }

    /// What the store could not do.
    pub fn store(error: &StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Busy => Self::overloaded(),
            StoreError::UnknownThread(id) => Self::thread_not_found(id),
            StoreError::InvalidCursor(cursor) => Self::invalid_cursor(cursor),
            StoreError::UnknownTurn(_) => Self::invalid_request("turnNotFound", message),
            StoreError::ThreadExists(_) => Self::invalid_request("threadExists", message),
            StoreError::Closed => Self::invalid_request("shuttingDown", message),
            StoreError::DiskFull { .. } => Self::new(INTERNAL_ERROR, "diskFull", message),
            _ => Self::new(INTERNAL_ERROR, "store", message),
        }
    }
}

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        Self::store(&error)
    }
}

impl From<Rejection> for RpcError {
    fn from(rejection: Rejection) -> Self {
        let kind = match &rejection {
            Rejection::NoActiveTurn | Rejection::NoTurnToSteer => "noActiveTurn",
            Rejection::WrongTurn { .. } | Rejection::SteeredWrongTurn { .. } => "wrongTurn",
        };
        Self::invalid_request(kind, rejection.to_string())
    }
}

impl From<ConfigError> for RpcError {
    fn from(error: ConfigError) -> Self {
        Self::new(
            INVALID_PARAMS,
            "invalidConfig",
            format!("Invalid configuration: {error}"),
        )
    }
}

impl From<RpcError> for ErrorObjectOwned {
    fn from(error: RpcError) -> Self {
        let ErrorObject { code, message, data } = error.0;
        // All codes of the table fit; jsonrpsee has the narrower type.
        ErrorObjectOwned::owned(i32::try_from(code).unwrap_or(-32603), message, data)
    }
}
