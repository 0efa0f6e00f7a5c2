//! How the transport's thread is told to end, and how everybody hears that it did.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use tokio::sync::{Notify, watch};

use crate::limits::DROP_WAIT_MAX;

/// Where the thread stands.
#[derive(Debug)]
pub(crate) struct Life {
    closing: AtomicBool,
    close: Notify,
    /// Whether those who watch are to be told that this process closes in order.
    goodbye: watch::Sender<bool>,
    ended: Mutex<bool>,
    ended_signal: Condvar,
    ended_notify: Notify,
}

impl Life {
    pub(crate) fn new() -> Self {
        Self {
            closing: AtomicBool::new(false),
            close: Notify::new(),
            goodbye: watch::Sender::new(false),
            ended: Mutex::new(false),
            ended_signal: Condvar::new(),
            ended_notify: Notify::new(),
        }
    }

    /// Asks the thread to end.
    pub(crate) fn ask_to_close(&self) {
        self.closing.store(true, Ordering::Release);
        self.close.notify_one();
    }

    /// Waits until the thread is asked to end.
    pub(crate) async fn asked_to_close(&self) {
        self.close.notified().await;
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Tells those who watch over TCP that this process closes in order.
    pub(crate) fn say_goodbye(&self) {
        self.goodbye.send_replace(true);
    }

    /// Waits for [`say_goodbye`](Self::say_goodbye).
    pub(crate) fn goodbye(&self) -> impl Future<Output = ()> + use<> {
        let mut said = self.goodbye.subscribe();
        async move {
            // The sender lives as long as this transport.
            let _ = said.wait_for(|said| *said).await;
        }
    }

    /// Says that the thread has let go of everything.
    pub(crate) fn set_ended(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended_signal.notify_all();
        self.ended_notify.notify_waiters();
    }

    /// Waits until the thread has let go of everything.
    pub(crate) async fn wait_ended(&self) {
        loop {
            let notified = self.ended_notify.notified();
            if *self.ended.lock().unwrap_or_else(PoisonError::into_inner) {
                return;
            }
            notified.await;
        }
    }

    /// The same for callers that can't await; bounded.
    pub(crate) fn block_until_ended(&self) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it ended or time ran out, there is nothing more to be done.
        let _ = self.ended_signal.wait_timeout_while(ended, DROP_WAIT_MAX, |ended| !*ended);
    }
}
