//! From a request to its response: the layers (handshake gate, overload limit), then the method table.
//!
//! The only place that knows jsonrpsee's middleware and the layout of its response text. Every request that enters gets
//! exactly one response text; ids never enter, they are put around the text afterwards.

use agentd_protocol::rpc::{Dialect, RequestId};
use jsonrpsee::core::middleware::{Batch, Notification, Request, ResponseFuture, RpcServiceBuilder, RpcServiceT};
use jsonrpsee::types::Id;
use jsonrpsee::{ConnectionId, MethodCallback, MethodResponse, Methods};
use serde_json::value::RawValue;

use super::conn::{ConnHandle, Outgoing};
use super::error::RpcError;
use super::inflight::{InFlight, Place};
use super::table::Call;

/// How every response text of jsonrpsee begins; `=0.26.1` and a test hold it.
const RESPONSE_PREFIX: &str = r#"{"jsonrpc":"2.0","id":0,"#;

/// The one method that is served before the handshake.
const INITIALIZE: &str = "initialize";

/// The way from requests to responses.
pub struct Dispatch {
    root: Gate<Gate<Routes, Limits>, Handshake>,
}

/// A response without its id.
pub struct Response {
    text: String,
    call: Call,
}

impl Response {
    /// Puts the response into the connection's outbox, then wakes who waits for that.
    ///
    /// A large one waits until there is room for it: a client that asked for much and reads slowly is not cut off for it.
    /// Turns wait for the responses that begin them, and those are smaller.
    pub async fn send(self, dialect: Dialect, id: &RequestId) {
        let Self { text, call } = self;
        let line = with_id(&text, dialect, id);
        drop(text);
        call.response_built();
        let response = Outgoing::plain(line);
        if response.is_large_response() {
            call.conn.send_when_room(response).await;
        } else {
            call.conn.send(response);
        }
        call.response_queued();
    }
}

impl Dispatch {
    /// Over this table.
    pub fn new(methods: Methods) -> Self {
        let root = RpcServiceBuilder::new()
            .layer_fn(|inner| Gate { inner, rule: Handshake })
            .layer_fn(|inner| Gate {
                inner,
                rule: Limits(InFlight::per_daemon()),
            })
            .service(Routes { methods });
        Self { root }
    }

    /// Runs one request.
    pub fn call(
        &self,
        conn: &ConnHandle,
        method: String,
        params: Option<Box<RawValue>>,
    ) -> impl Future<Output = Response> + Send + use<> {
        let call = Call::new(conn.clone());
        let mut request = Request::owned(method, params, Id::Number(0));
        request.extensions.insert(call.clone());
        let root = self.root.clone();
        async move {
            Response {
                text: String::from(Box::<str>::from(root.call(request).await.into_json())),
                call,
            }
        }
    }

    /// What a request gets whose handler panicked.
    pub fn panicked(conn: &ConnHandle) -> Response {
        let error = RpcError::internal("the request failed because of a bug; the daemon's log says more");
        let text = MethodResponse::error(Id::Number(0), error).into_json().get().to_owned();
        Response {
            text,
            call: Call::new(conn.clone()),
        }
    }
}

fn with_id(text: &str, dialect: Dialect, id: &RequestId) -> String {
    let body = text.strip_prefix(RESPONSE_PREFIX).unwrap_or(text);
    let version = match dialect {
        Dialect::Bare => "",
        Dialect::Versioned => r#""jsonrpc":"2.0","#,
    };
    format!(r#"{{{version}"id":{},{body}"#, id.as_json())
}

/// Decides whether a request may pass.
trait Rule: Clone + Send + Sync + 'static {
    /// What is held while the request runs.
    type Pass: Send + 'static;

    fn admit(&self, conn: &ConnHandle, method: &str) -> Result<Self::Pass, RpcError>;
}

/// Nothing but `initialize` before the handshake.
#[derive(Clone)]
struct Handshake;

impl Rule for Handshake {
    type Pass = ();

    fn admit(&self, conn: &ConnHandle, method: &str) -> Result<(), RpcError> {
        if conn.is_initialized() || method == INITIALIZE {
            Ok(())
        } else {
            Err(RpcError::not_initialized())
        }
    }
}

/// Not more at once than the daemon takes.
#[derive(Clone)]
struct Limits(InFlight);

impl Rule for Limits {
    type Pass = Place;

    fn admit(&self, _conn: &ConnHandle, _method: &str) -> Result<Self::Pass, RpcError> {
        self.0.enter().ok_or_else(RpcError::overloaded)
    }
}

/// A layer that applies one rule.
#[derive(Clone)]
struct Gate<S, R> {
    inner: S,
    rule: R,
}

impl<S, R> RpcServiceT for Gate<S, R>
where
    S: RpcServiceT<MethodResponse = MethodResponse> + Send + Sync + Clone + 'static,
    R: Rule,
{
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let admitted = match request.extensions().get::<Call>() {
            Some(call) => self.rule.admit(&call.conn, request.method_name()),
            None => Err(RpcError::internal("the request came without its connection")),
        };
        match admitted {
            Ok(pass) => {
                let answered = self.inner.call(request);
                ResponseFuture::future(async move {
                    let response = answered.await;
                    drop(pass);
                    response
                })
            }
            Err(error) => ResponseFuture::ready(MethodResponse::error(request.id(), error)),
        }
    }

    fn batch<'a>(&self, _: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        never_comes_in()
    }

    fn notification<'a>(&self, _: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        never_comes_in()
    }
}

/// The innermost service: looks the method up and runs its handler.
#[derive(Clone)]
struct Routes {
    methods: Methods,
}

impl RpcServiceT for Routes {
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let id = request.id().into_owned();
        match self.methods.method(request.method_name()) {
            Some(MethodCallback::Async(handler)) => {
                let params = request.params().into_owned();
                let Request { extensions, .. } = request;
                ResponseFuture::future(handler(id, params, ConnectionId(0), usize::MAX, extensions))
            }
            // The table registers async methods only.
            _ => ResponseFuture::ready(MethodResponse::error(
                id,
                RpcError::method_not_found(request.method_name()),
            )),
        }
    }

    fn batch<'a>(&self, _: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        never_comes_in()
    }

    fn notification<'a>(&self, _: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        never_comes_in()
    }
}

/// The protocol has no batches, and notifications have no handlers; the connection deals with both before.
async fn never_comes_in() -> MethodResponse {
    MethodResponse::notification()
}

#[cfg(test)]
mod tests {
    use jsonrpsee::ResponsePayload;
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_replace_the_one_that_jsonrpsee_writes() {
        let result = MethodResponse::response(Id::Number(0), ResponsePayload::success(json!({"a": 1})), usize::MAX);
        let error = MethodResponse::error(Id::Number(0), RpcError::not_initialized());
        let id = RequestId::string("x");
        assert_eq!(
            with_id(result.as_json().get(), Dialect::Bare, &id),
            r#"{"id":"x","result":{"a":1}}"#
        );
        assert_eq!(
            with_id(error.as_json().get(), Dialect::Versioned, &RequestId::number(-3)),
            r#"{"jsonrpc":"2.0","id":-3,"error":{"code":-32600,"message":"Not initialized","data":{"kind":"notInitialized"}}}"#
        );
    }
}
