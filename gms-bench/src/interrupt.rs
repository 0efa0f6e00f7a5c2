//! Ctrl-C and its kin: noticed, so that a run ends by taking down what it built.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// Whether the user has seen enough. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    is_set: Arc<AtomicBool>,
    /// Keeps the thread that waits for signals.
    _runtime: Option<Arc<Runtime>>,
}

impl Interrupt {
    /// Set by SIGINT, SIGTERM and SIGHUP from here on.
    ///
    /// # Errors
    ///
    /// The system gives no thread, or signals can't be watched.
    pub fn on_signals() -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::fault(format!("signals can't be watched ({error}): raise this process's limits"))
        };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
        let is_set = Arc::new(AtomicBool::new(false));
        let entered = runtime.enter();
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            let mut signals = signal(kind).map_err(failed)?;
            let is_set = Arc::clone(&is_set);
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    is_set.store(true, Ordering::Relaxed);
                }
            });
        }
        drop(entered);
        Ok(Self { is_set, _runtime: Some(Arc::new(runtime)) })
    }

    /// Goes on unless it is set.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`].
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_set.load(Ordering::Relaxed) { Err(Failure::Interrupted) } else { Ok(()) }
    }
}
