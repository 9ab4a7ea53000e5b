//! When to ask again: back-off and what servers say about it.
//!
//! Pure functions; the clock comes in as a parameter.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// No wait that a server asks for is longer.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(60);
const FIRST_BACKOFF_MS: u64 = 200;

/// Wait before retry number `attempt` (0 is the first): 200 ms, doubled each time, ±10 %.
pub(crate) fn backoff(attempt: u32) -> Duration {
    let plain = FIRST_BACKOFF_MS.saturating_mul(1 << attempt.min(16));
    // A fresh RandomState is seeded by the system: random enough to spread retries, without a dependency.
    let permille = 900 + RandomState::new().hash_one(attempt) % 201;
    Duration::from_millis(plain * permille / 1000).min(LONGEST_WAIT)
}

/// `retry-after-ms`, or `Retry-After` in seconds or as a date; at most [`LONGEST_WAIT`].
pub(crate) fn server_wait(headers: &HeaderMap, now_ms: i64) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    let wait_ms = text("retry-after-ms").and_then(number).or_else(|| {
        let after = text(RETRY_AFTER.as_str())?;
        number(after)
            .map(|seconds| seconds * 1000.0)
            .or_else(|| until(after, now_ms))
    })?;
    Some(milliseconds(wait_ms))
}

/// `x-should-retry`.
pub(crate) fn server_verdict(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()?.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The wait in a sentence like “Please try again in 1.5s.” (also `28ms`, `6m0s`, `2 seconds`).
pub(crate) fn wait_in_words(message: &str) -> Option<Duration> {
    let lower = message.to_ascii_lowercase();
    let mut rest = lower.split_once("try again in ")?.1;
    let mut total_ms = None;
    loop {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let Ok(amount) = rest[..digits].trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let unit_text = rest[digits..].trim_start();
        let letters = unit_text
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(unit_text.len());
        let Some(unit_ms) = unit(&unit_text[..letters]) else {
            break;
        };
        total_ms = Some(total_ms.unwrap_or(0.0) + amount * unit_ms);
        rest = &unit_text[letters..];
    }
    total_ms.map(milliseconds)
}

fn unit(word: &str) -> Option<f64> {
    match word {
        "ms" | "millisecond" | "milliseconds" => Some(1.0),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1_000.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60_000.0),
        "h" | "hour" | "hours" => Some(3_600_000.0),
        _ => None,
    }
}

fn until(date: &str, now_ms: i64) -> Option<f64> {
    let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    Some((at.as_millisecond() - now_ms).max(0) as f64)
}

fn milliseconds(ms: f64) -> Duration {
    Duration::from_secs_f64(ms.clamp(0.0, LONGEST_WAIT.as_secs_f64() * 1000.0) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_and_ends() {
        for (attempt, plain) in [(0, 200), (1, 400), (2, 800), (4, 3200)] {
            let wait = backoff(attempt).as_millis() as u64;
            assert!((plain * 9 / 10..=plain * 11 / 10).contains(&wait), "{attempt}: {wait}");
        }
        assert_eq!(backoff(u32::MAX), LONGEST_WAIT);
    }

    #[test]
    fn servers_say_when() {
        // 2026-12-01T00:00:00Z
        let now_ms = 1_796_083_200_000;
        type Row<'a> = (&'a [(&'a str, &'a str)], Option<u64>);
        let table: &[Row<'_>] = &[
            (&[], None),
            (&[("retry-after", "2")], Some(2000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after", "0")], Some(0)),
            (&[("retry-after", "7200")], Some(60_000)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after-ms", "30"), ("retry-after", "2")], Some(30)),
            (&[("retry-after-ms", "x"), ("retry-after", "2")], Some(2000)),
            (&[("retry-after", "Tue, 01 Dec 2026 00:00:05 GMT")], Some(5000)),
            (&[("retry-after", "Mon, 30 Nov 2026 23:00:00 GMT")], Some(0)),
        ];
        for &(pairs, want) in table {
            let headers: HeaderMap = pairs
                .iter()
                .map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap()))
                .collect();
            assert_eq!(
                server_wait(&headers, now_ms),
                want.map(Duration::from_millis),
                "{pairs:?}"
            );
        }
    }

    #[test]
    fn waits_in_words() {
        let table = [
            ("Rate limit. Please try again in 2.5s. Visit…", Some(2500)),
            ("try again in 28ms", Some(28)),
            ("Try again in 1.", None),
            ("try again in 1m2s", Some(60_000)),
            ("Please try again in 2 seconds.", Some(2000)),
            ("try again in a while", None),
            ("try again later", None),
            ("", None),
        ];
        for (message, want) in table {
            assert_eq!(wait_in_words(message), want.map(Duration::from_millis), "{message}");
        }
    }
}
