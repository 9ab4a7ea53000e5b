//! Ends what a helper owned that cannot do it itself: it was killed, stopped, or is too slow. Owns the list of this
//! process's helpers, and sees to it that many failures at once cost one search of the process table.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentd_sandbox::Helpers;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The helpers of this process; there is one list because a process has one set of children.
pub(super) static HELPERS: Helpers = Helpers::new();

/// Failed helpers whose processes nobody looks for yet.
static WAITING: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// Who has the permit searches for all that wait.
static SEARCH: Semaphore = Semaphore::const_new(1);

/// Kills a helper with everything below it, and what dead helpers left. `helper` is a child that was not waited for.
pub(super) async fn clear(helper: i32) {
    waiting().push(helper);
    let Ok(_permit) = SEARCH.acquire().await else { return };
    let batch = {
        let mut waiting = waiting();
        if !waiting.contains(&helper) {
            // The search before this one was for us too.
            return;
        }
        std::mem::take(&mut *waiting)
    };
    match spawn_blocking(move || HELPERS.clear(&batch)).await {
        Ok(0) => {}
        Ok(left) => tracing::warn!(left, "processes of a failed sandbox helper could not be killed"),
        Err(error) => tracing::error!(%error, "clearing up after a failed sandbox helper died"),
    }
}

fn waiting() -> MutexGuard<'static, Vec<i32>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
