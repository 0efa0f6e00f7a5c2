//! What a member refuses to start with, and what it says for itself when it started.

use std::time::Duration;

use tokio::time::timeout;

use crate::codec::encode_datagram;
use crate::event::StopReason;
use crate::member::{ClusterTag, Weight};
use crate::message::{Datagram, DatagramBody, Flags, Head};
use crate::runtime::memory::MemoryNetwork;
use crate::runtime::{Builder, CommandError, Gms, JoinError, StartError, TraceSink, TraceStep};
use crate::testing::{addr, id};
use crate::transport::{Outgoing, Transport};
use crate::view::ViewId;

/// Generous: what is waited for takes milliseconds.
const LONG: Duration = Duration::from_secs(60);

async fn refused(builder: Builder) -> String {
    let network = MemoryNetwork::new();
    match builder.start(network.bind(addr(0))).await {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it started"),
    }
}

#[tokio::test]
async fn a_malformed_seed_is_named() {
    let error = refused(Gms::builder("c").join(["10.0.0.1:7790", "10.0.0.2"])).await;
    assert!(error.starts_with("seed \"10.0.0.2\" has no port"), "{error}");
}

#[tokio::test]
async fn settings_out_of_bounds_are_named() {
    let error = refused(Gms::builder("")).await;
    assert!(error.starts_with("cluster name"), "{error}");
    let error = refused(Gms::builder("c").member_timeout(Duration::from_millis(1))).await;
    assert!(error.starts_with("member-timeout is 1ms"), "{error}");
    let error = refused(Gms::builder("c").name("")).await;
    assert!(error.contains("name must have 1 to 64 bytes"), "{error}");
}

#[tokio::test]
async fn a_founder_without_weight_is_refused() {
    let weightless = || Gms::builder("c").weight(Weight::new(0).expect("it is in bounds"));
    let error = refused(weightless()).await;
    assert!(error.starts_with("a founder needs a weight above 0"), "{error}");
    let network = MemoryNetwork::new();
    let joiner = weightless().join([addr(1).to_string()]).start(network.bind(addr(0))).await;
    assert!(joiner.is_ok(), "a joiner may have none");
}

#[tokio::test]
async fn a_refused_start_closes_the_transport() {
    let network = MemoryNetwork::new();
    let result = Gms::builder("").start(network.bind(addr(0))).await;
    assert!(matches!(result, Err(StartError::Config(_))));
    assert!(!network.is_bound(addr(0)));
}

/// The application's runtime may have no timers and one thread that it blocks.
#[test]
fn a_member_runs_beside_any_runtime() {
    let bare = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let network = MemoryNetwork::new();
    let (gms, mut events) = bare.block_on(Gms::builder("c").name("m0").start(network.bind(addr(0)))).unwrap();
    assert_eq!(gms.me().name, "m0");
    assert_eq!(gms.me().endpoint.addr, addr(0));
    gms.abort();
    assert_eq!(bare.block_on(gms.stopped()), StopReason::Aborted);
    assert!(!network.is_bound(addr(0)));
    let last = bare.block_on(async {
        let mut last = None;
        while let Some(event) = events.next().await {
            last = Some(event);
        }
        last
    });
    assert_eq!(last, Some(crate::Event::Stopped { reason: StopReason::Aborted }));
    assert_eq!(gms.connected_for(), Duration::ZERO);
    assert_eq!(gms.view(), None);
}

struct Bomb;

impl TraceSink for Bomb {
    fn record(&mut self, step: TraceStep<'_>) {
        panic!("a bug that the test planted, at {:?}", step.at);
    }
}

#[tokio::test]
async fn a_loop_that_dies_leaves_nobody_waiting_and_no_listener() {
    let network = MemoryNetwork::new();
    let stranger = network.bind(addr(1));
    let started = Gms::builder("c").name("m0").trace(Box::new(Bomb)).start(network.bind(addr(0))).await;
    let (gms, mut events) = started.expect("it starts");
    let mut bytes = Vec::new();
    let head = Head {
        cluster: ClusterTag::NONE,
        sender: id(1).short(),
        recipient: id(0).short(),
        view: ViewId::NONE,
        accepted: None,
        flags: Flags::default(),
        number: 0,
        echo: None,
        quorate_for_ms: None,
    };
    let body = DatagramBody::NotAMember { view: ViewId(1) };
    encode_datagram(&Datagram { head, body }, &mut bytes).expect("it is small");
    stranger.send(&mut vec![Outgoing { to: addr(0), bytes: bytes.into() }]).await.expect("it is open");
    assert_eq!(timeout(LONG, gms.stopped()).await, Ok(StopReason::Aborted));
    assert!(matches!(gms.joined().await, Err(JoinError::Stopped(StopReason::Aborted))));
    assert_eq!(gms.status().await, Err(CommandError::Stopped));
    let ends = async { while events.next().await.is_some() {} };
    timeout(LONG, ends).await.expect("the stream ends");
    let closed = async {
        while network.is_bound(addr(0)) {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, closed).await.expect("the transport is closed");
}
