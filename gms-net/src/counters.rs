//! Counters that the loop and the callers share.

use std::sync::atomic::{AtomicU64, Ordering};

use gms_core::transport::TransportStats;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: usize) {
        self.0.fetch_add(n as u64, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// [`TransportStats`] while they are being counted.
#[derive(Debug, Default)]
pub struct Counters {
    /// Datagrams handed to the kernel.
    pub datagrams_sent: Counter,
    /// Datagrams read.
    pub datagrams_received: Counter,
    /// Bytes of datagrams handed to the kernel.
    pub datagram_bytes_sent: Counter,
    /// Bytes of datagrams read.
    pub datagram_bytes_received: Counter,
    /// Datagrams that were not taken.
    pub datagrams_unsent: Counter,
    /// Datagrams read and thrown away.
    pub datagrams_dropped: Counter,
    /// Datagrams lost in the kernel.
    pub receive_overflows: Counter,
    /// Frames written.
    pub frames_sent: Counter,
    /// Frames read.
    pub frames_received: Counter,
    /// Connections accepted.
    pub connections_accepted: Counter,
    /// Connections closed because of a bound.
    pub connections_cut: Counter,
    /// Frames and checks thrown away.
    pub frames_dropped: Counter,
}

impl Counters {
    /// All of them at this moment.
    pub fn stats(&self) -> TransportStats {
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
