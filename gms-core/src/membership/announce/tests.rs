use super::*;
use crate::health::contacts::Contacts;
use crate::message::ClusterInfo;
use crate::outbox::Action;
use crate::output::Destination;
use crate::testing::{CLUSTER, addr, id, member, view_of};
use crate::view::{View, ViewId};

const OLDER: ClusterId = ClusterId::from_bytes([0xdd; 16]);
const LOWER: ClusterId = ClusterId::from_bytes([0xaa; 16]);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn with_scene<R>(view: &View, now: Timestamp, act: impl FnOnce(Scene<'_>) -> R) -> R {
    let contacts = Contacts::default();
    let me = member(0);
    act(Scene {
        now,
        me: &me,
        view,
        contacts: &contacts,
        isolated: false,
        hears_majority: false,
        sick: false,
        leaving: false,
        coordinator_is_idle: false,
    })
}

fn announcer() -> Announcer {
    Announcer::new(at(0), at(1_000), true)
}

fn info(cluster: ClusterId, size: u32, age: Duration) -> ClusterInfo {
    let endpoint = member(7).endpoint;
    let membership =
        Membership { cluster, coordinator: id(7), endpoint, view: ViewId(9), size, isolated: false, age };
    ClusterInfo { cluster_name: "test".into(), sender: id(7), age, membership: Some(membership) }
}

//= docs/protocol.md#vw-10
#[test]
fn seeds_outside_of_the_view_are_told_of_the_cluster_every_heartbeat_interval() {
    let mut announcer = announcer();
    announcer.handle_seeds(at(2_000), &[addr(1), addr(8), addr(8)]);
    assert_eq!(announcer.poll_timeout(), Some((at(2_000), WakeReason::Announce)));
    let mut out = Outbox::default();
    with_scene(&view_of(3), at(2_000), |scene| announcer.handle_timeout(scene, true, &mut out));
    let membership = Membership {
        cluster: CLUSTER,
        coordinator: id(0),
        endpoint: member(0).endpoint,
        view: ViewId(2),
        size: 3,
        isolated: false,
        age: Duration::from_secs(1),
    };
    let said = ClusterInfo {
        cluster_name: "test".into(),
        sender: id(0),
        age: Duration::from_secs(2),
        membership: Some(membership),
    };
    let body = DatagramBody::Coordinator(Box::new(said));
    assert_eq!(out.drain(), [Action::DatagramTo { to: addr(8), recipient: Default::default(), body }]);
    assert_eq!(announcer.poll_timeout(), Some((at(2_200), WakeReason::Announce)));
    with_scene(&view_of(3), at(2_199), |scene| announcer.handle_timeout(scene, true, &mut out));
    assert_eq!(out.drain(), []);
}

#[test]
fn nobody_is_told_by_who_is_not_coordinator_or_where_all_seeds_are_members() {
    for (is_coordinator, seed) in [(false, 8), (true, 1)] {
        let mut announcer = announcer();
        announcer.handle_seeds(at(2_000), &[addr(seed)]);
        let mut out = Outbox::default();
        with_scene(&view_of(3), at(2_000), |scene| announcer.handle_timeout(scene, is_coordinator, &mut out));
        assert_eq!(out.drain(), []);
        assert_eq!(announcer.poll_timeout(), None);
        announcer.handle_view_installed(at(5_000));
        assert_eq!(announcer.poll_timeout(), Some((at(5_000), WakeReason::Announce)));
    }
}

#[test]
fn when_a_lone_founder_gives_way() {
    let (minute, second) = (Duration::from_secs(60), Duration::from_secs(1));
    // own members, other cluster, its size and age (own: 3 s), founded with seeds, gives way?
    for (members, cluster, size, age, with_seeds, expected) in [
        (1, OLDER, 1, minute, true, true),
        (1, OLDER, 1, second, true, false),
        (1, OLDER, 4, second, true, true),
        (1, OLDER, 1, minute, false, false),
        (1, CLUSTER, 4, minute, true, false),
        (2, OLDER, 4, minute, true, false),
        (1, LOWER, 1, second * 5 / 2, true, true),
        (1, OLDER, 1, second * 7 / 2, true, false),
    ] {
        let mut announcer = Announcer::new(at(0), at(1_000), with_seeds);
        let mut out = Outbox::default();
        let heard = info(cluster, size, age);
        let answer =
            with_scene(&view_of(members), at(4_000), |s| announcer.handle_cluster_info(s, &heard, &mut out));
        assert_eq!(answer.is_some(), expected, "{members} {cluster:?} {size} {age:?} {with_seeds}");
    }
}

#[test]
fn nobody_gives_way_to_an_isolated_cluster_or_to_one_of_another_name() {
    let mut heard = info(OLDER, 4, Duration::from_secs(60));
    let mut out = Outbox::default();
    heard.membership.as_mut().unwrap().isolated = true;
    assert_eq!(
        with_scene(&view_of(1), at(4_000), |s| announcer().handle_cluster_info(s, &heard, &mut out)),
        None
    );
    let heard = ClusterInfo { cluster_name: "billing".into(), ..info(OLDER, 4, Duration::from_secs(60)) };
    assert_eq!(
        with_scene(&view_of(1), at(4_000), |s| announcer().handle_cluster_info(s, &heard, &mut out)),
        None
    );
    assert_eq!(out.drain(), []);
}

#[test]
fn two_clusters_of_one_name_are_reported_once_a_minute() {
    let mut announcer = announcer();
    let mut out = Outbox::default();
    let mut hear = |now, size| {
        let heard = info(OLDER, size, Duration::from_secs(60));
        with_scene(&view_of(2), at(now), |s| announcer.handle_cluster_info(s, &heard, &mut out));
        let mut actions = out.drain();
        // The other side is told too, each time that it is reported here.
        if let Some(Action::FrameTo { to, body: FrameBody::Coordinator(own), .. }) = actions.last() {
            assert_eq!(*to, Destination::Address(addr(7)));
            assert_eq!(own.membership.as_ref().map(|m| m.cluster), Some(CLUSTER));
            actions.pop();
            assert_eq!(actions.len(), 1);
        }
        actions
    };
    let conflict = Action::Event(Event::ClusterConflict {
        other_cluster: OLDER,
        other_coordinator: addr(7),
        other_size: 3,
    });
    assert_eq!(hear(4_000, 1), [], "a lone founder will give way");
    assert_eq!(hear(4_000, 3), std::slice::from_ref(&conflict));
    assert_eq!(hear(63_999, 3), []);
    assert_eq!(hear(64_000, 3), [conflict]);
}

//= docs/protocol.md#wr-4
#[test]
fn only_a_padded_question_is_answered() {
    assert!(is_padded(&vec![0; QUESTION_PADDING]));
    assert!(!is_padded(&[]));
}
