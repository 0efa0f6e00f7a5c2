//! How the transport's thread is told to end, and how everybody hears that it did.

use std::sync::atomic::{AtomicBool, Ordering};

use gms_net::ended::Ended;
use tokio::sync::{Notify, watch};

/// Where the thread stands.
#[derive(Debug)]
pub(crate) struct Life {
    closing: AtomicBool,
    close: Notify,
    /// Whether those who watch are to be told that this process closes in order.
    goodbye: watch::Sender<bool>,
    pub(crate) ended: Ended,
}

impl Life {
    pub(crate) fn new() -> Self {
        Self {
            closing: AtomicBool::new(false),
            close: Notify::new(),
            goodbye: watch::Sender::new(false),
            ended: Ended::default(),
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
}
