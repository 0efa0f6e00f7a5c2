//! A connection's seat among the bounded number of them: what it is used for decides who gives way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What a connection is used for, from what gives way first to what gives way last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Use {
    /// No request: its head is unfinished or not begun, or the last answer is not read to its end.
    None,
    /// A request waits for its answer.
    Asking,
    /// Somebody follows the events.
    Following,
}

/// One connection's use, shared by its task, its requests and the one who assigns seats.
#[derive(Clone, Debug)]
pub(super) struct Seat(Arc<AtomicU8>);

impl Seat {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU8::new(Use::None as u8)))
    }

    pub(super) fn used_for(&self) -> Use {
        match self.0.load(Ordering::Relaxed) {
            n if n == Use::Asking as u8 => Use::Asking,
            n if n == Use::Following as u8 => Use::Following,
            _ => Use::None,
        }
    }

    /// A request is there.
    pub(super) fn asked(&self) {
        self.0.store(Use::Asking as u8, Ordering::Relaxed);
    }

    /// Its answer is there, which may be one that goes on.
    pub(super) fn answered(&self) {
        if self.used_for() == Use::Asking {
            self.0.store(Use::None as u8, Ordering::Relaxed);
        }
    }

    /// The answer to the request goes on until the guard is dropped.
    pub(super) fn follow(&self) -> Following {
        self.0.store(Use::Following as u8, Ordering::Relaxed);
        Following(self.clone())
    }
}

/// An answer that goes on.
#[derive(Debug)]
pub(super) struct Following(Seat);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.0.store(Use::None as u8, Ordering::Relaxed);
    }
}
