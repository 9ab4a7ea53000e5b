//! The method table: binds a method's name to its handler, decodes params, encodes what the handler answers.
//!
//! This is the only way to register a method. Handlers see neither JSON nor ids nor jsonrpsee.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jsonrpsee::types::Params;
use jsonrpsee::{Extensions, Methods, RpcModule};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::oneshot;

use super::conn::ConnHandle;
use super::error::RpcError;
use super::large::Building;
use super::opening::Opening;
use crate::daemon::Daemon;

/// What a handler works with besides its params.
pub struct Ctx {
    /// The daemon.
    pub daemon: Arc<Daemon>,
    /// Who asks.
    pub conn: ConnHandle,
    call: Call,
}

impl Ctx {
    /// To be awaited before a result is built that may be large, and before anything that others wait for.
    pub async fn begin_large(&self) {
        let building = self.daemon.large_results.begin(&self.conn).await;
        self.call.progress().building = Some(building);
    }

    /// To be called before the thread is looked at whose state the response shows: what is told of it comes after that.
    pub fn opens(&self, thread_id: &str) {
        self.call.progress().opening = Some(Opening::begin(&self.conn, thread_id));
    }
}

/// What a handler answers.
pub struct Answer<R> {
    value: R,
    queued: Option<oneshot::Sender<()>>,
}

impl<R> Answer<R> {
    /// The result; nothing waits for it to be out.
    pub fn now(value: R) -> Self {
        Self { value, queued: None }
    }

    /// The result; `queued` is fired once it is in the connection's outbox, so that what must follow it can.
    pub fn then(value: R, queued: oneshot::Sender<()>) -> Self {
        Self {
            value,
            queued: Some(queued),
        }
    }
}

/// One request's way through the layers; travels in the request's extensions.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) conn: ConnHandle,
    progress: Arc<Mutex<Progress>>,
}

/// What a request holds on its way.
#[derive(Default)]
struct Progress {
    queued: Option<oneshot::Sender<()>>,
    building: Option<Building>,
    opening: Option<Opening>,
}

impl Call {
    pub(super) fn new(conn: ConnHandle) -> Self {
        Self {
            conn,
            progress: Arc::default(),
        }
    }

    /// The response is text.
    pub(super) fn response_built(&self) {
        if let Some(building) = &mut self.progress().building {
            building.done();
        }
    }

    /// The response is in the outbox.
    pub(super) fn response_queued(&self) {
        let Progress {
            queued,
            building,
            opening,
        } = std::mem::take(&mut *self.progress());
        drop((building, opening));
        if let Some(waiting) = queued {
            // An error means that nobody waits any more.
            let _ = waiting.send(());
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The table while it is being filled.
pub struct Table {
    module: RpcModule<Daemon>,
    taken_twice: Vec<&'static str>,
}

impl Table {
    /// An empty table whose handlers work on this daemon.
    pub fn new(daemon: Arc<Daemon>) -> Self {
        Self {
            module: RpcModule::from_arc(daemon),
            taken_twice: Vec::new(),
        }
    }

    /// Adds a method. Missing or null params reach the handler as an empty object.
    pub fn method<P, R, H, F>(&mut self, name: &'static str, handler: H)
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
        H: Fn(Ctx, P) -> F + Copy + Send + Sync + 'static,
        F: Future<Output = Result<Answer<R>, RpcError>> + Send + 'static,
    {
        let registered = self
            .module
            .register_async_method(name, move |params, daemon, extensions| async move {
                run(handler, &params, daemon, &extensions).await
            });
        if registered.is_err() {
            self.taken_twice.push(name);
        }
    }

    /// The filled table.
    ///
    /// # Errors
    /// A name was added twice; the names are in the error.
    pub fn finish(self) -> Result<Methods, String> {
        match self.taken_twice.is_empty() {
            true => Ok(self.module.into()),
            false => Err(format!("methods registered twice: {}", self.taken_twice.join(", "))),
        }
    }
}

async fn run<P, R, H, F>(
    handler: H,
    params: &Params<'static>,
    daemon: Arc<Daemon>,
    extensions: &Extensions,
) -> Result<Box<RawValue>, RpcError>
where
    P: DeserializeOwned,
    R: Serialize + Send + 'static,
    H: Fn(Ctx, P) -> F,
    F: Future<Output = Result<Answer<R>, RpcError>>,
{
    let call = extensions
        .get::<Call>()
        .ok_or_else(|| RpcError::internal("the request came without its connection"))?;
    let params = decode(params.as_str())?;
    let answer = handler(
        Ctx {
            daemon,
            conn: call.conn.clone(),
            call: call.clone(),
        },
        params,
    )
    .await?;
    let Answer { value, queued } = answer;
    let is_large = call.progress().building.is_some();
    let json = match is_large {
        // Others are served meanwhile.
        true => tokio::task::spawn_blocking(move || to_raw_value(&value))
            .await
            .map_err(|error| RpcError::internal(format!("serialising the result died: {error}")))?,
        false => to_raw_value(&value),
    };
    let json = json.map_err(|error| RpcError::internal(format!("the result cannot be serialised: {error}")))?;
    call.progress().queued = queued;
    Ok(json)
}

fn decode<P: DeserializeOwned>(params: Option<&str>) -> Result<P, RpcError> {
    let text = params.filter(|text| *text != "null").unwrap_or("{}");
    serde_json::from_str(text).map_err(|error| {
        let reason = error.to_string();
        // Clients know the reason alone; the position says little about a message they did not write by hand.
        RpcError::invalid_params(reason.split(" at line ").next().unwrap_or(&reason))
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Sample {
        #[serde(default)]
        limit: Option<u32>,
    }

    #[derive(Debug, Deserialize)]
    struct Strict {
        #[serde(rename = "input")]
        _input: String,
    }

    #[test]
    fn missing_and_null_params_are_an_empty_object() {
        for params in [
            None,
            Some("null"),
            Some("{}"),
            Some(r#"{"limit":null}"#),
            Some(r#"{"unknown":1}"#),
        ] {
            assert_eq!(decode::<Sample>(params).expect("accepted").limit, None, "{params:?}");
        }
    }

    #[test]
    fn bad_params_say_what_is_wrong_without_a_position() {
        for (params, expected) in [
            (None, "Invalid request: missing field `input`"),
            (
                Some(r#"{"input":5}"#),
                "Invalid request: invalid type: integer `5`, expected a string",
            ),
        ] {
            let error = decode::<Strict>(params).expect_err("refused");
            assert_eq!(error.message(), expected);
            assert_eq!(
                (error.object().code, error.object().kind()),
                (-32602, Some("invalidParams"))
            );
        }
    }
}
