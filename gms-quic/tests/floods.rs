//! What strangers can do to a cluster with certificates: change counters, and take a bounded amount of memory.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod support;

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use gms_core::{EventStream, Gms};
use gms_quic::certs::{self, Pem};
use gms_quic::{Identity, QuicTransport};
use support::*;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// What a flood may take while it lasts, strangers' own memory in the same process included.
const BYTES_MAX: usize = 16 << 20;

async fn member(
    dir: &Path,
    ca: &Pem,
    name: &str,
    seed: Option<SocketAddr>,
) -> (Gms, EventStream, SocketAddr) {
    let own = certs::member(ca, CLUSTER, name, valid()).unwrap();
    let identity = Identity::Files(write(dir, &own, ca));
    let transport = QuicTransport::builder(CLUSTER).identity(identity).bind("127.0.0.1:0").await.unwrap();
    let at = addr(&transport);
    let builder = Gms::builder(CLUSTER).name(name).join(seed.map(|seed| seed.to_string()));
    let (gms, events) = builder.start(transport).await.unwrap();
    in_time(gms.joined()).await.unwrap();
    (gms, events, at)
}

/// Knocks at the ports around.
fn scan(at: SocketAddr) {
    let raw = UdpSocket::bind("127.0.0.1:0").unwrap();
    for port in at.port().saturating_sub(50)..=at.port().saturating_add(50) {
        for knock in [&b""[..], b"\0", b"GET / HTTP/1.1\r\n\r\n"] {
            // The answer of a closed port may be told here.
            let _ = raw.send_to(knock, (at.ip(), port));
        }
        let _ = std::net::TcpStream::connect_timeout(&(at.ip(), port).into(), SHORT);
    }
}

fn random_bytes(at: SocketAddr) {
    const SEED: u64 = 11;
    let mut chance = fastrand::Rng::with_seed(SEED);
    for i in 0..2000 {
        let mut packet: Vec<u8> = (0..chance.usize(0..1400)).map(|_| chance.u8(..)).collect();
        if let Some(first) = packet.first_mut().filter(|_| i % 2 == 0) {
            // What looks like the first packet of a handshake.
            *first |= 0xc0;
        }
        stranger(i).send_to(&packet, at).unwrap();
    }
}

/// First packets of handshakes, each a new one, from another address.
fn half_done_handshakes(at: SocketAddr, packets: &[Vec<u8>]) {
    for (i, packet) in (0..).zip(packets) {
        stranger(i).send_to(packet, at).unwrap();
    }
}

/// Certificates of another CA, of another cluster, and none.
async fn wrong_certificates(at: SocketAddr, ca: &Pem) {
    let dir = tempfile::tempdir().unwrap();
    let server = gms_quic::certificate_name(CLUSTER);
    let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let others =
        [certs::member(&authority(), CLUSTER, "m", valid()), certs::member(ca, "billing", "m", valid())];
    let files = others.map(|own| Some(write(dir.path(), &own.unwrap(), ca)));
    for files in files.iter().chain([&None]) {
        for _ in 0..30 {
            let config = raw_client(files.as_ref(), &ca.cert);
            // In TLS 1.3 the client finishes first; the server's refusal follows.
            if let Ok(connection) = in_time(endpoint.connect_with(config, at, &server).unwrap()).await {
                in_time(connection.closed()).await;
            }
        }
    }
}

//= docs/protocol.md#wr-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_change_no_view_and_take_bounded_memory() {
    let (dir, ca) = (tempfile::tempdir().unwrap(), authority());
    let config = raw_client(None, &ca.cert);
    let packets: Vec<_> = (0..1000).map(|_| initial(([127, 0, 0, 1], 1).into(), &config)).collect();
    // Only here: what is counted is slow.
    let _counting = dhat::Profiler::builder().testing().build();
    let (one, mut events, at) = member(dir.path(), &ca, "m1", None).await;
    let (two, mut more_events, _) = member(dir.path(), &ca, "m2", Some(at)).await;
    in_time(async {
        while one.view().is_none_or(|view| view.len() < 2) {
            events.next().await.unwrap();
        }
    })
    .await;
    while tokio::time::timeout(Duration::ZERO, events.next()).await.is_ok() {}
    while tokio::time::timeout(Duration::ZERO, more_events.next()).await.is_ok() {}
    let before = dhat::HeapStats::get();
    let attacks = tokio::task::spawn_blocking(move || {
        scan(at);
        random_bytes(at);
        half_done_handshakes(at, &packets);
    });
    in_time(attacks).await.unwrap();
    wrong_certificates(at, &ca).await;
    let (three, ..) = member(dir.path(), &ca, "m3", Some(at)).await;
    let taken = dhat::HeapStats::get().max_bytes - before.curr_bytes;
    assert!(taken <= BYTES_MAX, "{taken} bytes more at the peak");
    in_time(async {
        while dhat::HeapStats::get().curr_bytes.saturating_sub(before.curr_bytes) > BYTES_MAX / 2 {
            tokio::time::sleep(SHORT).await;
        }
    })
    .await;
    for (gms, events) in [(&one, &mut events), (&two, &mut more_events)] {
        let mut seen = Vec::new();
        in_time(async {
            while gms.view().is_none_or(|view| view.len() < 3) {
                seen.push(events.next().await.unwrap());
            }
        })
        .await;
        let others = seen.iter().filter(
            |event| !matches!(event, gms_core::Event::ViewInstalled(change) if change.view.len() == 3),
        );
        assert_eq!(others.count(), 0, "{seen:?}: the only news is the one who joined");
    }
    three.leave().await;
}
