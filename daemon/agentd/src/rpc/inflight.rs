//! Counts the requests that the whole daemon is handling, and refuses more than the limit. Holds no request. One connection
//! cannot use it up: its reader pauses long before.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Requests of all connections together.
const PER_DAEMON: usize = 2048;

/// A count with a limit.
#[derive(Clone)]
pub struct InFlight {
    count: Arc<AtomicUsize>,
    limit: usize,
}

impl InFlight {
    /// For the daemon.
    pub fn per_daemon() -> Self {
        Self::with_limit(PER_DAEMON)
    }

    fn with_limit(limit: usize) -> Self {
        Self {
            count: Arc::default(),
            limit,
        }
    }

    /// A place for one more request; `None` at the limit.
    pub fn enter(&self) -> Option<Place> {
        let entered = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
            (n < self.limit).then_some(n + 1)
        });
        entered.is_ok().then(|| Place(self.count.clone()))
    }
}

/// A request's place; given back when dropped.
pub struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_back_when_its_request_ends() {
        let limit = InFlight::with_limit(2);
        let first = limit.enter().expect("first");
        let _second = limit.enter().expect("second");
        assert!(limit.enter().is_none());
        drop(first);
        assert!(limit.enter().is_some());
    }
}
