//! A heartbeat to bytes and back.

use std::hint::black_box;

use gms_core::Timestamp;
use gms_core::codec::{decode_datagram, encode_datagram};
use gms_core::message::Datagram;

use super::receive::thread_cpu;
use crate::stage::{FIRST_NUMBER, Stage};

/// Heartbeats of one measurement: a few milliseconds.
const COUNT: u64 = 50_000;

/// A heartbeat of a member that has run for a day.
pub(super) fn sample() -> Datagram {
    let addresses = (1..=3).map(|n| ([10, 0, 0, n], 7790).into()).collect();
    let mut stage = Stage::new(addresses, Timestamp::from_millis(1000));
    stage.note_sent(0, FIRST_NUMBER);
    stage.heartbeat(0, FIRST_NUMBER)
}

/// Nanoseconds of processor time to encode a heartbeat and decode it.
pub(super) fn heartbeat_ns() -> f64 {
    let mut datagram = sample();
    let mut bytes = Vec::with_capacity(64);
    let begun = thread_cpu();
    for _ in 0..COUNT {
        bytes.clear();
        encode_datagram(black_box(&datagram), &mut bytes).expect("a heartbeat fits");
        datagram = black_box(decode_datagram(black_box(&bytes)).expect("it was just encoded"));
    }
    (thread_cpu() - begun) as f64 / COUNT as f64
}

/// Bytes of a heartbeat of a member that has run for a day.
pub(super) fn heartbeat_bytes() -> usize {
    let mut bytes = Vec::new();
    encode_datagram(&sample(), &mut bytes).expect("a heartbeat fits");
    bytes.len()
}
