//! The tables of statuses and error codes, as data.

use super::*;

fn refusal(code: u16, pairs: &[(&str, &str)], body: &str) -> Refusal {
    let headers: HeaderMap = pairs
        .iter()
        .map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap()))
        .collect();
    status(
        StatusCode::from_u16(code).unwrap(),
        &headers,
        body.as_bytes(),
        "http://h/responses",
        0,
    )
}

/// Status, headers, body; `info`, tried again here, advice.
type Row<'a> = (u16, &'a [(&'a str, &'a str)], &'a str, Value, bool, RetryAdvice);

#[test]
fn statuses() {
    use RetryAdvice::{AfterMs, Backoff, Never};
    let failed = |code: u16| json!({"httpConnectionFailed": {"httpStatusCode": code}});
    let many = json!({"responseTooManyFailedAttempts": {"httpStatusCode": 429}});
    let overflow = r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"no","n_ctx":5}}"#;
    let litellm =
        r#"{"error":{"message":"litellm.BadRequest: request exceeds the available context size","code":"400"}}"#;
    let table: &[Row<'_>] = &[
        (500, &[], "", json!("internalServerError"), true, Backoff),
        (502, &[], "<html>", json!("internalServerError"), true, Backoff),
        (
            500,
            &[("x-should-retry", "false")],
            "",
            json!("internalServerError"),
            false,
            Never,
        ),
        (
            503,
            &[("retry-after", "2")],
            "",
            json!("internalServerError"),
            true,
            AfterMs(2000),
        ),
        (
            503,
            &[],
            r#"{"error":{"code":"server_is_overloaded"}}"#,
            json!("serverOverloaded"),
            true,
            Never,
        ),
        (408, &[], "", failed(408), true, Backoff),
        (409, &[], "", failed(409), true, Backoff),
        (429, &[("retry-after-ms", "30")], "", many.clone(), false, AfterMs(30)),
        (
            429,
            &[],
            r#"{"error":{"code":"rate_limit_exceeded"}}"#,
            many.clone(),
            false,
            Backoff,
        ),
        (429, &[("x-should-retry", "true")], "", many, true, Backoff),
        (
            429,
            &[("retry-after", "1")],
            r#"{"error":{"code":"insufficient_quota"}}"#,
            json!("usageLimitExceeded"),
            false,
            Never,
        ),
        (
            429,
            &[],
            r#"{"error":{"type":"usage_limit_reached"}}"#,
            json!("usageLimitExceeded"),
            false,
            Never,
        ),
        (402, &[], "", json!("usageLimitExceeded"), false, Never),
        (400, &[], "bad", json!("other"), false, Never),
        (400, &[("x-should-retry", "true")], "bad", json!("other"), false, Never),
        (
            400,
            &[],
            r#"{"error":{"code":"context_length_exceeded"}}"#,
            json!("contextWindowExceeded"),
            false,
            Never,
        ),
        (400, &[], overflow, json!("contextWindowExceeded"), false, Never),
        (400, &[], litellm, json!("contextWindowExceeded"), false, Never),
        (
            400,
            &[],
            r#"{"error":{"message":"Invalid model name passed in"}}"#,
            json!("modelNotFound"),
            false,
            Never,
        ),
        (401, &[], r#"{"error":"no"}"#, failed(401), false, Never),
        (403, &[], "", failed(403), false, Never),
        (404, &[], "", failed(404), false, Never),
        (
            404,
            &[],
            r#"{"error":{"code":"model_not_found"}}"#,
            json!("modelNotFound"),
            false,
            Never,
        ),
        (
            404,
            &[],
            r#"{"error":{"message":"model 'x' not found, pull it"}}"#,
            json!("modelNotFound"),
            false,
            Never,
        ),
        (422, &[], r#"{"detail":"nope"}"#, json!("other"), false, Never),
        (307, &[], "", failed(307), false, Never),
    ];
    for (code, headers, body, info, again, advice) in table {
        let got = refusal(*code, headers, body);
        let name = format!("{code} {headers:?} {body}");
        assert_eq!(
            (&got.failure.info, got.again, got.failure.retry),
            (info, *again, *advice),
            "{name}"
        );
        assert!(
            got.failure.message.contains("http://h/responses"),
            "{name}: {}",
            got.failure.message
        );
        assert!(
            got.failure.message.contains(&code.to_string()),
            "{name}: {}",
            got.failure.message
        );
    }
}

#[test]
fn messages_hold_what_the_server_said() {
    let table = [
        (
            r#"{"error":{"message":"wrong key"}}"#,
            "unexpected status 401 Unauthorized: wrong key, url: http://h/responses",
        ),
        (
            r#"{"error":"no entry"}"#,
            "unexpected status 401 Unauthorized: no entry, url: http://h/responses",
        ),
        (
            r#"{"detail":"d"}"#,
            "unexpected status 401 Unauthorized: d, url: http://h/responses",
        ),
        (
            "plain",
            "unexpected status 401 Unauthorized: plain, url: http://h/responses",
        ),
        (
            "",
            "unexpected status 401 Unauthorized: (empty body), url: http://h/responses",
        ),
    ];
    for (body, want) in table {
        assert_eq!(refusal(401, &[], body).failure.message, want);
    }
    let long = refusal(400, &[], &"ä".repeat(4000)).failure;
    assert!(long.message.len() < 2200 && long.details.unwrap().len() < 2060);
}

#[test]
fn reported_errors() {
    use RetryAdvice::{AfterMs, Backoff, Never};
    let many = json!({"responseTooManyFailedAttempts": {"httpStatusCode": 429}});
    let table = [
        (
            json!({"code": "context_length_exceeded", "message": "m"}),
            json!("contextWindowExceeded"),
            Never,
        ),
        (
            json!({"message": "This model's maximum context length is 5"}),
            json!("contextWindowExceeded"),
            Never,
        ),
        (
            json!({"code": "insufficient_quota"}),
            json!("usageLimitExceeded"),
            Never,
        ),
        (
            json!({"code": "server_is_overloaded"}),
            json!("serverOverloaded"),
            Never,
        ),
        (json!({"code": "invalid_prompt"}), json!("other"), Never),
        (json!({"code": "image_too_large"}), json!("other"), Never),
        (
            json!({"code": "rate_limit_exceeded", "message": "try again in 2.5s"}),
            many.clone(),
            AfterMs(2500),
        ),
        (
            json!({"code": "rate_limit_exceeded", "message": "try again in 28ms."}),
            many.clone(),
            AfterMs(28),
        ),
        (json!({"code": "rate_limit_exceeded"}), many, Backoff),
        (
            json!({"code": "server_error", "message": "oops"}),
            json!("internalServerError"),
            Backoff,
        ),
        (json!({"code": "surprise"}), json!("other"), Backoff),
        (json!({}), json!("other"), Backoff),
        (Value::Null, json!("other"), Backoff),
    ];
    for (error, info, advice) in table {
        let got = reported(&ApiError::from_value(&error));
        assert_eq!((got.info, got.retry), (info, advice), "{error}");
        assert!(!got.message.is_empty(), "{error}");
    }
}
