//! The end of a transport's thread, for callers that await it and for those that can't.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How long [`Ended::block`] waits for the thread to let go of its sockets. A turn takes milliseconds.
pub const DROP_WAIT_MAX: Duration = Duration::from_secs(1);

/// Whether the thread has let go of everything.
#[derive(Debug, Default)]
pub struct Ended {
    is_set: Mutex<bool>,
    signal: Condvar,
    notify: Notify,
}

impl Ended {
    /// Says that it has.
    pub fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.signal.notify_all();
        self.notify.notify_waiters();
    }

    /// Waits until it has.
    pub async fn wait(&self) {
        loop {
            let notified = self.notify.notified();
            if *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) {
                return;
            }
            notified.await;
        }
    }

    /// The same for callers that can't await; for [`DROP_WAIT_MAX`] at most.
    pub fn block(&self) {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it ended or time ran out, there is nothing more to be done.
        let _ = self.signal.wait_timeout_while(is_set, DROP_WAIT_MAX, |is_set| !*is_set);
    }
}
