//! What a connection costs in memory.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod support;

use gms_core::transport::{Incoming, Transport};
use gms_quic::QuicTransport;
use support::*;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Each has a connection with each other.
const MEMBERS: usize = 8;
/// Heap for one end of a connection that has carried frames and datagrams.
const BYTES_MAX: usize = 48 << 10;

/// A frame of two packets from `one` to `two`.
async fn frame(one: &QuicTransport, two: &QuicTransport) {
    in_time(one.send_frame(to(two), vec![1; 2000].into(), LONG)).await.unwrap();
    until(two, |i| matches!(i, Incoming::Frame { .. })).await;
}

/// A datagram of everybody to everybody.
async fn heartbeats(members: &[QuicTransport]) {
    for one in members {
        let others = members.iter().map(addr).filter(|to| *to != addr(one));
        let mut batch: Vec<_> = others.map(|to| datagram(to, vec![1; 264])).collect();
        one.send(&mut batch).await.unwrap();
    }
    for one in members {
        receive(one, members.len() - 1).await;
    }
}

#[tokio::test]
async fn an_end_of_a_connection_stays_under_its_share_of_memory() {
    let _counting = dhat::Profiler::builder().testing().build();
    let mut members = Vec::new();
    for _ in 0..MEMBERS {
        members.push(open().await);
    }
    let before = dhat::HeapStats::get().curr_bytes;
    for (i, one) in members.iter().enumerate() {
        for two in &members[i + 1..] {
            frame(one, two).await;
            frame(two, one).await;
        }
    }
    for _ in 0..20 {
        heartbeats(&members).await;
    }
    let ends = MEMBERS * (MEMBERS - 1);
    let each = (dhat::HeapStats::get().curr_bytes - before) / ends;
    assert!(each <= BYTES_MAX, "{each} bytes for each end of a connection");
    assert!(each > 10 << 10, "{each} bytes: that is no connection");
}
