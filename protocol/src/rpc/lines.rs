//! From messages to bytes: one JSON object each, without a line end.

use serde::Serialize;

use super::{Dialect, ErrorObject, RequestId};
use crate::approval::ServerRequest;
use crate::notification::ServerNotification;

/// `{"id":ID,"result":RESULT}`. `result` must be JSON text.
pub fn result(dialect: Dialect, id: &RequestId, result: &str) -> Vec<u8> {
    let mut line = open(dialect, result.len() + id.as_json().len() + 48);
    line.extend_from_slice(b"\"id\":");
    line.extend_from_slice(id.as_json().as_bytes());
    line.extend_from_slice(b",\"result\":");
    line.extend_from_slice(result.as_bytes());
    line.push(b'}');
    line
}

/// `{"error":{…},"id":ID}`; `None` writes a null id.
///
/// # Errors
/// Only if the error's data cannot be written as JSON.
pub fn error(dialect: Dialect, id: Option<&RequestId>, error: &ErrorObject) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = open(dialect, error.message.len() + 128);
    line.extend_from_slice(b"\"error\":");
    serde_json::to_writer(&mut line, error)?;
    line.extend_from_slice(b",\"id\":");
    line.extend_from_slice(id.map_or("null", RequestId::as_json).as_bytes());
    line.push(b'}');
    Ok(line)
}

/// `{"method":…,"params":…,"emittedAtMs":MS}`. Never versioned: one serialisation is shared by all connections.
///
/// # Errors
/// Only if the notification cannot be written as JSON.
pub fn notification(notification: &ServerNotification, emitted_at_ms: i64) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(notification)?;
    line.pop();
    line.extend_from_slice(b",\"emittedAtMs\":");
    line.extend_from_slice(emitted_at_ms.to_string().as_bytes());
    line.push(b'}');
    Ok(line)
}

/// `{"id":ID,"method":…,"params":…}` from the server to its clients.
///
/// # Errors
/// Only if the request cannot be written as JSON.
pub fn server_request(id: &RequestId, request: &ServerRequest) -> Result<Vec<u8>, serde_json::Error> {
    let body = serde_json::to_vec(request)?;
    let mut line = Vec::with_capacity(body.len() + id.as_json().len() + 8);
    line.extend_from_slice(b"{\"id\":");
    line.extend_from_slice(id.as_json().as_bytes());
    line.push(b',');
    line.extend_from_slice(body.get(1..).unwrap_or_default());
    Ok(line)
}

/// `{"id":ID,"method":…,"params":…}` from a client to the server.
///
/// # Errors
/// Only if the params cannot be written as JSON.
pub fn client_request(id: &RequestId, method: &str, params: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = open(Dialect::Bare, 256);
    line.extend_from_slice(b"\"id\":");
    line.extend_from_slice(id.as_json().as_bytes());
    line.extend_from_slice(b",\"method\":");
    serde_json::to_writer(&mut line, method)?;
    line.extend_from_slice(b",\"params\":");
    serde_json::to_writer(&mut line, params)?;
    line.push(b'}');
    Ok(line)
}

/// `{"method":…}` from a client to the server.
///
/// # Errors
/// Never for a method name that is text; the type is that of its neighbours.
pub fn client_notification(method: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = open(Dialect::Bare, 64);
    line.extend_from_slice(b"\"method\":");
    serde_json::to_writer(&mut line, method)?;
    line.push(b'}');
    Ok(line)
}

fn open(dialect: Dialect, capacity: usize) -> Vec<u8> {
    let mut line = Vec::with_capacity(capacity);
    line.extend_from_slice(match dialect {
        Dialect::Bare => b"{".as_slice(),
        Dialect::Versioned => b"{\"jsonrpc\":\"2.0\",".as_slice(),
    });
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::{FileChangeRequestApprovalParams, ServerRequest};
    use crate::rpc::INVALID_REQUEST;

    fn text(line: Vec<u8>) -> String {
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn results() {
        let id = RequestId::string("a\"b");
        assert_eq!(text(result(Dialect::Bare, &id, "{}")), r#"{"id":"a\"b","result":{}}"#);
        let id = RequestId::number(-1);
        assert_eq!(
            text(result(Dialect::Versioned, &id, "[1]")),
            r#"{"jsonrpc":"2.0","id":-1,"result":[1]}"#
        );
    }

    #[test]
    fn errors() {
        let no = ErrorObject::new(INVALID_REQUEST, "threadNotFound", "thread not found: x").with("threadId", "x");
        assert_eq!(
            text(error(Dialect::Bare, Some(&RequestId::number(3)), &no).unwrap()),
            r#"{"error":{"code":-32600,"message":"thread not found: x","data":{"kind":"threadNotFound","threadId":"x"}},"id":3}"#
        );
        let plain = ErrorObject {
            code: 1,
            message: "m".into(),
            data: None,
        };
        assert_eq!(
            text(error(Dialect::Versioned, None, &plain).unwrap()),
            r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"},"id":null}"#
        );
    }

    #[test]
    fn notifications_carry_their_time_last() {
        let line = notification(
            &ServerNotification::Warning {
                thread_id: None,
                message: "m".into(),
            },
            12,
        )
        .unwrap();
        assert_eq!(
            text(line),
            r#"{"method":"warning","params":{"threadId":null,"message":"m"},"emittedAtMs":12}"#
        );
    }

    #[test]
    fn requests_of_both_sides() {
        let ask = ServerRequest::FileChangeRequestApproval(FileChangeRequestApprovalParams {
            thread_id: "t".into(),
            turn_id: "u".into(),
            item_id: "i".into(),
            started_at_ms: 5,
            reason: None,
            grant_root: None,
        });
        assert_eq!(
            text(server_request(&RequestId::number(0), &ask).unwrap()),
            r#"{"id":0,"method":"item/fileChange/requestApproval","params":{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":5,"reason":null,"grantRoot":null}}"#
        );
        let params = serde_json::json!({ "limit": 1 });
        assert_eq!(
            text(client_request(&RequestId::number(2), "model/list", &params).unwrap()),
            r#"{"id":2,"method":"model/list","params":{"limit":1}}"#
        );
        assert_eq!(
            text(client_notification("initialized").unwrap()),
            r#"{"method":"initialized"}"#
        );
    }
}
