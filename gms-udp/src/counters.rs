//! Counters that the loop and the callers share.

use std::sync::atomic::{AtomicU64, Ordering};

use gms_core::transport::TransportStats;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: usize) {
        self.0.fetch_add(n as u64, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// [`TransportStats`] while they are being counted.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) datagrams_sent: Counter,
    pub(crate) datagrams_received: Counter,
    pub(crate) datagram_bytes_sent: Counter,
    pub(crate) datagram_bytes_received: Counter,
    pub(crate) datagrams_unsent: Counter,
    pub(crate) datagrams_dropped: Counter,
    pub(crate) receive_overflows: Counter,
    pub(crate) frames_sent: Counter,
    pub(crate) frames_received: Counter,
    pub(crate) connections_accepted: Counter,
    pub(crate) connections_cut: Counter,
    pub(crate) frames_dropped: Counter,
}

impl Counters {
    pub(crate) fn stats(&self) -> TransportStats {
        TransportStats {
            datagrams_sent: self.datagrams_sent.read(),
            datagrams_received: self.datagrams_received.read(),
            datagram_bytes_sent: self.datagram_bytes_sent.read(),
            datagram_bytes_received: self.datagram_bytes_received.read(),
            datagrams_unsent: self.datagrams_unsent.read(),
            datagrams_dropped: self.datagrams_dropped.read(),
            receive_overflows: self.receive_overflows.read(),
            frames_sent: self.frames_sent.read(),
            frames_received: self.frames_received.read(),
            connections_accepted: self.connections_accepted.read(),
            connections_cut: self.connections_cut.read(),
            frames_dropped: self.frames_dropped.read(),
        }
    }
}
