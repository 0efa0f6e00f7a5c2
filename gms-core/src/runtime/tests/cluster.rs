//! Members that join, leave, die, are cut off and come back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;

use crate::event::{Event, State, StopReason, ViewChange};
use crate::evidence::Verdict;
use crate::member::MemberId;
use crate::runtime::memory::MemoryNetwork;
use crate::runtime::{Builder, CommandError, EventStream, Gms, JoinError, StepKind, TraceSink, TraceStep};
use crate::testing::{addr, id};

/// Generous: what is waited for takes milliseconds on an idle machine, or a few T.
const LONG: Duration = Duration::from_secs(60);
const T: Duration = Duration::from_secs(1);

struct Running {
    gms: Gms,
    events: EventStream,
}

impl Running {
    async fn until<R>(&mut self, mut wanted: impl FnMut(&Event) -> Option<R>) -> R {
        let found = async {
            while let Some(event) = self.events.next().await {
                if let Some(found) = wanted(&event) {
                    return found;
                }
            }
            panic!("the events ended")
        };
        timeout(LONG, found).await.expect("the event comes")
    }

    async fn until_view(&mut self, mut wanted: impl FnMut(&ViewChange) -> bool) -> Arc<ViewChange> {
        self.until(|event| match event {
            Event::ViewInstalled(change) if wanted(change) => Some(Arc::clone(change)),
            _ => None,
        })
        .await
    }

    async fn until_size(&mut self, size: usize) {
        self.until_view(|change| change.view.len() == size).await;
    }

    /// A member that was never connected can't become isolated.
    async fn until_connected(&self) {
        let connected = async {
            while self.gms.connected_for().is_zero() {
                self.gms.status().await.expect("its loop runs");
            }
        };
        timeout(LONG, connected).await.expect("it is connected in time");
    }

    fn id(&self) -> MemberId {
        self.gms.me().id
    }
}

/// Member `n`, whose seed is member 0; member 0 has none and founds.
fn builder(n: u8) -> Builder {
    let builder = Gms::builder("test").name(format!("m{n}")).member_timeout(T);
    if n == 0 { builder } else { builder.join([addr(0).to_string()]) }
}

async fn start(network: &MemoryNetwork, n: u8, builder: Builder) -> Running {
    let (gms, events) = builder.start(network.bind(addr(n))).await.expect("it starts");
    timeout(LONG, gms.joined()).await.expect("it joins in time").expect("it joins");
    Running { gms, events }
}

async fn three(network: &MemoryNetwork) -> [Running; 3] {
    let mut members = [
        start(network, 0, builder(0)).await,
        start(network, 1, builder(1)).await,
        start(network, 2, builder(2)).await,
    ];
    for member in &mut members {
        member.until_size(3).await;
        member.until_connected().await;
    }
    members
}

#[tokio::test]
async fn three_members_join_and_one_that_aborts_is_removed_with_proof() {
    let network = MemoryNetwork::new();
    let [mut m0, mut m1, m2] = three(&network).await;
    m2.gms.abort();
    assert_eq!(m2.gms.stopped().await, StopReason::Aborted);
    for member in [&mut m0, &mut m1] {
        let change = member.until_view(|change| !change.crashed.is_empty()).await;
        assert_eq!(change.crashed[0].member.name, "m2");
        assert_eq!(change.view.len(), 2);
        assert!(member.gms.connected_for() > Duration::ZERO);
        assert_eq!(member.gms.state(), State::Member);
    }
    assert_eq!(m0.gms.view().map(|view| view.digest()), m1.gms.view().map(|view| view.digest()));
}

#[tokio::test]
async fn one_that_leaves_returns_when_it_is_out() {
    let network = MemoryNetwork::new();
    let [mut m0, m1, m2] = three(&network).await;
    assert_eq!(timeout(LONG, m2.gms.leave()).await, Ok(StopReason::Left));
    assert_eq!(m2.gms.leave().await, StopReason::Left, "once more is the same");
    assert_eq!(m2.gms.view(), None);
    assert_eq!(m2.gms.status().await, Err(CommandError::Stopped));
    let change = m0.until_view(|change| !change.left.is_empty()).await;
    assert_eq!(change.left[0].name, "m2");
    drop(m1);
}

#[tokio::test]
async fn dropping_the_last_handle_leaves_in_the_background() {
    let network = MemoryNetwork::new();
    let [mut m0, m1, Running { gms, mut events }] = three(&network).await;
    let clone = gms.clone();
    drop(gms);
    assert!(clone.status().await.is_ok(), "a clone is left");
    drop(clone);
    let change = m0.until_view(|change| !change.left.is_empty()).await;
    assert_eq!(change.left[0].name, "m2");
    let mut last = None;
    while let Some(event) = timeout(LONG, events.next()).await.expect("the stream ends") {
        last = Some(event);
    }
    assert_eq!(last, Some(Event::Stopped { reason: StopReason::Left }));
    assert!(!network.is_bound(addr(2)));
    drop(m1);
}

#[tokio::test]
async fn the_last_member_leaves_too() {
    let network = MemoryNetwork::new();
    let m0 = start(&network, 0, builder(0)).await;
    assert_eq!(timeout(LONG, m0.gms.leave()).await, Ok(StopReason::Left));
}

//= docs/protocol.md#fd-6
#[tokio::test]
async fn a_reader_that_never_reads_holds_nobody_and_is_told_what_it_missed() {
    let network = MemoryNetwork::new();
    let mut m0 = start(&network, 0, builder(0).event_capacity(2)).await;
    for n in 1..4 {
        let member = start(&network, n, builder(n)).await;
        assert_eq!(timeout(LONG, member.gms.leave()).await, Ok(StopReason::Left));
    }
    let status = m0.gms.status().await.expect("its loop runs");
    assert_eq!(status.state, State::Member);
    assert!(matches!(m0.events.next().await, Some(Event::Lagged(missed)) if missed >= 5));
}

//= docs/protocol.md#vw-18
#[tokio::test]
async fn one_that_is_excluded_comes_back_as_another_incarnation() {
    let network = MemoryNetwork::new();
    let [m0, mut m1, mut m2] = three(&network).await;
    let before = m2.id();
    m0.gms.remove(before, "test").await.expect("it is a member");
    m2.until(|event| matches!(event, Event::Excluded { .. }).then_some(())).await;
    let view = m2
        .until(|event| match event {
            Event::Rejoined { view } => Some(Arc::clone(view)),
            Event::Joined { .. } | Event::Stopped { .. } => panic!("{event:?}"),
            _ => None,
        })
        .await;
    assert_ne!(m2.id(), before);
    assert!(view.contains(&m2.id()) && !view.contains(&before));
    assert_eq!(m2.gms.stats().incarnations, 2);
    let expelled = m1.until_view(|change| !change.expelled.is_empty()).await;
    assert_eq!(expelled.expelled[0].member.name, "m2");
}

#[tokio::test]
async fn a_founder_that_is_excluded_comes_back_to_the_others_though_it_has_no_seeds() {
    let network = MemoryNetwork::new();
    let [mut m0, m1, m2] = three(&network).await;
    let cluster = m1.gms.view().expect("it is in a view").cluster();
    m1.gms.remove(m0.id(), "test").await.expect("it is a member");
    let view = m0
        .until(|event| match event {
            Event::Rejoined { view } => Some(Arc::clone(view)),
            _ => None,
        })
        .await;
    assert_eq!(view.cluster(), cluster);
    drop(m2);
}

#[tokio::test]
async fn without_rejoin_an_excluded_member_stops() {
    let network = MemoryNetwork::new();
    let m0 = start(&network, 0, builder(0)).await;
    let m1 = start(&network, 1, builder(1)).await;
    let mut m2 = start(&network, 2, builder(2).rejoin(false)).await;
    m0.gms.remove(m2.id(), "test").await.expect("it is a member");
    assert_eq!(timeout(LONG, m2.gms.stopped()).await, Ok(StopReason::Excluded));
    m2.until(|event| matches!(event, Event::Stopped { reason: StopReason::Excluded }).then_some(())).await;
    assert_eq!(m2.gms.state(), State::Excluded);
    assert_eq!(m2.gms.connected_for(), Duration::ZERO);
    drop(m1);
}

#[tokio::test]
async fn one_that_is_cut_off_is_isolated_then_excluded_and_back_when_the_cut_heals() {
    let network = MemoryNetwork::new();
    let [mut m0, m1, mut m2] = three(&network).await;
    for n in [0, 1] {
        network.cut(addr(n), addr(2));
        network.cut(addr(2), addr(n));
    }
    m2.until(|event| matches!(event, Event::Isolated(_)).then_some(())).await;
    assert_eq!(m2.gms.connected_for(), Duration::ZERO);
    let change = m0.until_view(|change| !change.crashed.is_empty()).await;
    assert_eq!(change.crashed[0].member.name, "m2");
    network.heal();
    m2.until(|event| matches!(event, Event::Rejoined { .. }).then_some(())).await;
    m0.until_size(3).await;
    drop(m1);
}

#[tokio::test]
async fn one_whose_seeds_do_not_answer_says_so() {
    let network = MemoryNetwork::new();
    let builder = builder(1).join_timeout(Duration::from_millis(300));
    let (gms, _events) = builder.start(network.bind(addr(1))).await.expect("it starts");
    match timeout(LONG, gms.joined()).await.expect("it gives up") {
        Err(JoinError::Failed(failure)) => assert_eq!(failure.seeds[0].0, addr(0)),
        other => panic!("{other:?}"),
    }
    assert!(matches!(gms.stopped().await, StopReason::JoinFailed(_)));
}

#[tokio::test]
async fn commands_name_members_of_the_view() {
    let network = MemoryNetwork::new();
    let [m0, _m1, m2] = three(&network).await;
    assert_eq!(timeout(LONG, m0.gms.check(m2.id())).await, Ok(Ok(Verdict::Alive)));
    assert_eq!(m0.gms.suspect(id(99), "test").await, Err(CommandError::NoSuchMember));
    assert_eq!(m0.gms.remove(id(99), "test").await, Err(CommandError::NoSuchMember));
    assert_eq!(m0.gms.check(id(99)).await, Err(CommandError::NoSuchMember));
    assert_eq!(m0.gms.suspect(m2.id(), "test").await, Ok(()));
}

//= docs/protocol.md#fd-28
#[tokio::test]
async fn one_whose_watchdog_starves_is_removed() {
    let network = MemoryNetwork::new();
    let [mut m0, _m1, m2] = three(&network).await;
    let watchdog = m2.gms.watchdog(Duration::from_millis(50));
    let change = m0.until_view(|change| !change.crashed.is_empty()).await;
    assert_eq!(change.crashed[0].member.name, "m2");
    drop(watchdog);
}

#[derive(Clone, Default)]
struct Steps(Arc<Mutex<Vec<&'static str>>>);

impl TraceSink for Steps {
    fn record(&mut self, step: TraceStep<'_>) {
        assert!(step.me.name.starts_with('m'));
        let name = match step.kind {
            StepKind::SentDatagram { .. } => "sent datagram",
            StepKind::ReceivedDatagram { .. } => "received datagram",
            StepKind::SentFrame { .. } => "sent frame",
            StepKind::ReceivedFrame { .. } => "received frame",
            StepKind::CheckAsked { .. } => "check asked",
            StepKind::CheckAnswered { .. } => "check answered",
            StepKind::ProbeStarted { .. } => "probe started",
            StepKind::ProbeDone { .. } => "probe done",
            StepKind::Event(_) => "event",
            StepKind::FrameFailed { .. }
            | StepKind::WatchStarted { .. }
            | StepKind::WatchEnded { .. }
            | StepKind::Unreachable { .. } => return,
        };
        self.0.lock().unwrap().push(name);
    }
}

#[tokio::test]
async fn every_kind_of_step_is_traced_and_counted() {
    let network = MemoryNetwork::new();
    let steps = Steps::default();
    let m0 = start(&network, 0, builder(0).trace(Box::new(steps.clone()))).await;
    let mut m1 = start(&network, 1, builder(1).trace(Box::new(steps.clone()))).await;
    m1.until_size(2).await;
    assert_eq!(timeout(LONG, m0.gms.check(m1.id())).await, Ok(Ok(Verdict::Alive)));
    m1.gms.leave().await;
    m0.gms.leave().await;
    let steps = steps.0.lock().unwrap();
    let expected = [
        "sent datagram",
        "received datagram",
        "sent frame",
        "received frame",
        "check asked",
        "check answered",
        "probe started",
        "event",
    ];
    for name in expected {
        assert!(steps.contains(&name), "{name}");
    }
    let stats = m0.gms.stats();
    assert!(stats.frames_received.iter().any(|(name, count)| *name == "Join" && *count > 0), "{stats:?}");
    assert!(stats.turns > 0 && stats.events > 0);
    assert_eq!(stats.dropped, []);
}

#[tokio::test]
async fn what_is_dropped_is_counted_by_cause_and_changes_nothing() {
    use crate::transport::{Outgoing, Transport};
    let network = MemoryNetwork::new();
    let m0 = start(&network, 0, builder(0)).await;
    let stranger = network.bind(addr(9));
    let datagram = |bytes: &'static [u8]| Outgoing { to: addr(0), bytes: bytes.into() };
    // A head whose view begins with a byte that begins no number.
    const ILL_NUMBERED: &[u8] =
        &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 254];
    // A heartbeat, in order, of a cluster of which nothing is known.
    const FOREIGN: &[u8] =
        &[1, 0, 7, 7, 7, 7, 7, 7, 7, 7, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 1, 1, 0, 0];
    let mut batch = vec![datagram(&[]), datagram(&[9, 9, 9]), datagram(ILL_NUMBERED), datagram(FOREIGN)];
    stranger.send(&mut batch).await.unwrap();
    // Each answer proves a turn after the arrival.
    while m0.gms.stats().dropped.len() < 4 {
        m0.gms.status().await.expect("its loop runs");
    }
    let mut dropped = m0.gms.stats().dropped;
    dropped.sort_unstable();
    let expected = [("malformed", 1), ("other_cluster", 1), ("truncated", 1), ("unknown_version", 1)];
    assert_eq!(dropped, expected);
    assert_eq!(m0.gms.state(), State::Member);
}
