//! Ctrl-C: the first ends a simulation with what is done so far, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::{Code, Failure};
use crate::signals;

/// Whether somebody interrupted.
#[derive(Debug)]
pub(super) struct Interrupt {
    is_set: Arc<AtomicBool>,
    /// Kept to the end: it watches for signals.
    _signals: tokio::runtime::Runtime,
}

impl Interrupt {
    /// Begins to watch for signals.
    pub(super) fn watch() -> Result<Self, Failure> {
        let is_set = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_set);
        let signals = signals::watch(move || {
            if told.swap(true, Ordering::Relaxed) {
                std::process::exit(Code::Interrupted as i32);
            }
        })?;
        Ok(Self { is_set, _signals: signals })
    }

    /// Whether somebody did.
    pub(super) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }
}
