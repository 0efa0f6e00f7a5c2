//! The suite over the network in memory, on which the core's own tests run whole clusters.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use async_trait::async_trait;
use gms_conformance::Kind;
use gms_core::runtime::memory::{MemoryNetwork, MemoryTransport};

static NETWORK: LazyLock<MemoryNetwork> = LazyLock::new(MemoryNetwork::new);
static PORTS: AtomicU16 = AtomicU16::new(1);

struct Memory;

#[async_trait]
impl Kind for Memory {
    type Transport = MemoryTransport;

    async fn open_at(&self, at: Option<SocketAddr>) -> MemoryTransport {
        let fresh = || SocketAddr::from(([10, 0, 0, 1], PORTS.fetch_add(1, Ordering::Relaxed)));
        NETWORK.bind(at.unwrap_or_else(fresh))
    }

    fn peers(&self) -> usize {
        1000
    }
}

// Without what only several processes or a kernel do: deaths, strangers on the wire, families of addresses.
gms_conformance::suite!(Memory; datagrams: delivery, size_limit, batches, nobody_there);
gms_conformance::suite!(Memory; frames: order, size, slow_reader, answers, refusal, broken_midway, deadline);
gms_conformance::suite!(Memory; checks: answered, other_incarnation, refused, accepted_but_silent, given_up);
gms_conformance::suite!(Memory; whole: flood, close_while_busy, many_peers, giving_up_loses_nothing);
