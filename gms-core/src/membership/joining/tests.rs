use super::*;
use crate::event::SeedAnswer;
use crate::input::Misfit;
use crate::message::Membership;
use crate::outbox::Action;
use crate::output::Destination;
use crate::testing::{CLUSTER, addr, id, member};
use crate::view::ViewId;

const OTHER: ClusterId = ClusterId::from_bytes([0xdd; 16]);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn config() -> Config {
    let mut config = Config::new("test");
    config.has_seeds = true;
    config
}

/// Member 9 with seeds 0 and 1, after its first questions.
fn joiner() -> (Joining, Outbox) {
    let mut out = Outbox::default();
    let mut joining = Joining::new(&config(), &member(9), 1, at(0));
    joining.handle_seeds(at(0), &[addr(0), addr(1)], &mut out);
    out.drain();
    (joining, out)
}

fn stranger(n: u8) -> ClusterInfo {
    ClusterInfo { cluster_name: "test".into(), sender: id(n), age: Duration::ZERO, membership: None }
}

fn of_cluster(n: u8, cluster: ClusterId, coordinator: u8, view: u64, isolated: bool) -> ClusterInfo {
    let endpoint = member(coordinator).endpoint;
    let (coordinator, view, age) = (id(coordinator), ViewId(view), Duration::from_secs(60));
    let membership = Membership { cluster, coordinator, endpoint, view, size: 3, isolated, age };
    ClusterInfo { membership: Some(membership), ..stranger(n) }
}

fn question(to: u8) -> Action {
    let (cluster_name, padding) = (String::from("test"), vec![0; QUESTION_PADDING]);
    let body = DatagramBody::FindCoordinator { cluster_name, asker: id(9), padding };
    Action::DatagramTo { to: addr(to), recipient: ShortId::default(), body }
}

/// Addresses to which joins went.
fn joins(out: &mut Outbox) -> Vec<SocketAddr> {
    let join = |action| match action {
        Action::FrameTo { to: Destination::Address(to), body: FrameBody::Join { .. }, .. } => Some(to),
        _ => None,
    };
    out.drain().into_iter().filter_map(join).collect()
}

#[test]
fn a_process_without_seeds_founds_at_once() {
    let mut joining = Joining::new(&Config::new("test"), &member(9), 1, at(0));
    assert!(matches!(joining.outcome(), Some(JoinOutcome::Found(_))));
    assert_eq!(joining.outcome(), None);
    assert_eq!(joining.poll_timeout(), None);
}

#[test]
fn seeds_are_asked_by_datagram_at_once_and_on_streams_too_in_the_second_round() {
    let mut out = Outbox::default();
    let mut joining = Joining::new(&config(), &member(9), 1, at(0));
    let mapped = "[::ffff:10.0.0.1]:7790".parse().unwrap();
    joining.handle_seeds(at(0), &[addr(1), addr(0), mapped], &mut out);
    assert_eq!(out.drain(), [question(0), question(1)]);
    let (next, reason) = joining.poll_timeout().unwrap();
    assert_eq!(reason, WakeReason::Joining);
    assert!(at(37) <= next && next <= at(63), "{next:?}");
    joining.handle_timeout(next, &mut out);
    let stream = |to: u8, token| Action::FrameTo {
        to: Destination::Address(addr(to)),
        recipient: ShortId::default(),
        body: FrameBody::FindCoordinator { cluster_name: "test".into(), asker: id(9) },
        token: FrameToken(token),
    };
    assert_eq!(out.drain(), [question(0), stream(0, 1), question(1), stream(1, 2)]);
}

#[test]
fn questions_become_rarer_up_to_one_a_second() {
    let (mut joining, mut out) = joiner();
    let mut last = at(0);
    let mut waits = Vec::new();
    for _ in 0..12 {
        while out.is_empty() {
            let (next, _) = joining.poll_timeout().unwrap();
            joining.handle_timeout(next, &mut out);
            waits.push(next.since(last));
            last = next;
        }
        out.drain();
    }
    assert!(waits.iter().rev().take(3).all(|w| *w <= Duration::from_millis(1250)), "{waits:?}");
    assert!(last >= at(5_000) && last <= at(12_000), "{last:?}");
}

#[test]
fn a_process_in_no_cluster_answers_who_asks_for_the_coordinator() {
    let (joining, mut out) = joiner();
    joining.handle_find_coordinator(at(40), addr(3), None, id(3), &mut out);
    joining.handle_find_coordinator(at(40), addr(3), Some(ReplyHandle(4)), id(3), &mut out);
    let info = ClusterInfo { age: Duration::from_millis(40), ..stranger(9) };
    let recipient = id(3).short();
    assert_eq!(
        out.drain(),
        [
            Action::DatagramTo {
                to: addr(3),
                recipient,
                body: DatagramBody::Coordinator(Box::new(info.clone()))
            },
            Action::FrameTo {
                to: Destination::Reply(ReplyHandle(4)),
                recipient,
                body: FrameBody::Coordinator(info),
                token: FrameToken(1),
            },
        ]
    );
}

#[test]
fn a_list_of_one_that_is_itself_founds_when_its_own_answer_shows_it() {
    let mut out = Outbox::default();
    let mut joining = Joining::new(&config(), &member(9), 1, at(0));
    let elsewhere = "192.0.2.1:7790".parse().unwrap();
    joining.handle_seeds(at(0), &[elsewhere], &mut out);
    assert_eq!(joining.outcome(), None);
    joining.handle_cluster_info(at(5), elsewhere, &stranger(9), &mut out);
    assert!(matches!(joining.outcome(), Some(JoinOutcome::Found(_))));
}

#[test]
fn with_two_seats_expected_one_seed_alone_does_not_found() {
    let mut out = Outbox::default();
    let mut config = config();
    config.expected_seeds = Some(2);
    let mut joining = Joining::new(&config, &member(9), 1, at(0));
    joining.handle_seeds(at(0), &[addr(9)], &mut out);
    joining.handle_timeout(at(3_000), &mut out);
    assert_eq!(joining.outcome(), None);
}

#[test]
fn two_addresses_of_one_process_count_once_and_a_list_that_shrinks_does_not_make_a_majority() {
    let mut seeds = Seeds::new(id(9), addr(9), "test".into(), None, at(0));
    seeds.replace(&[addr(9), addr(0), addr(1)]);
    assert_eq!(seeds.seats(at(0)), 3);
    seeds.record(at(0), addr(0), &stranger(0));
    seeds.record(at(0), addr(1), &stranger(0));
    assert_eq!(seeds.seats(at(0)), 2);
    assert_eq!(seeds.processes(at(0)).iter().map(|p| p.addr).collect::<Vec<_>>(), [addr(0), addr(9)]);
    seeds.record(at(1), addr(1), &stranger(1));
    assert_eq!(seeds.seats(at(1)), 3);
    seeds.replace(&[addr(9)]);
    assert_eq!(seeds.seats(at(1)), 3);
}

//= docs/protocol.md#vw-9
#[test]
fn the_cluster_with_the_highest_view_that_is_not_isolated_is_asked() {
    let (mut joining, mut out) = joiner();
    joining.handle_cluster_info(at(1), addr(0), &of_cluster(0, OTHER, 5, 90, true), &mut out);
    assert_eq!(joins(&mut out), [], "the other seed may know a better one");
    joining.handle_cluster_info(at(2), addr(1), &of_cluster(1, CLUSTER, 6, 7, false), &mut out);
    let body = FrameBody::Join {
        cluster_name: "test".into(),
        member: member(9),
        timing: TimingOverrides::default(),
        asked_in: ViewId(7),
    };
    let (to, recipient) = (Destination::Address(addr(6)), id(6).short());
    assert_eq!(out.drain(), [Action::FrameTo { to, recipient, body, token: FrameToken(1) }]);
    assert_eq!(joining.cluster_to_expect(), Some(CLUSTER));
    joining.handle_cluster_info(at(3), addr(0), &of_cluster(0, OTHER, 5, 91, false), &mut out);
    joining.handle_timeout(at(1_500), &mut out);
    assert_eq!(joins(&mut out), [addr(6)], "no second cluster is asked while the first is there");
}

//= docs/protocol.md#vw-11
#[test]
fn every_join_names_the_newest_view_known_of_when_the_first_was_sent() {
    let asked_in = |out: &mut Outbox| -> Vec<ViewId> {
        let join = |action| match action {
            Action::FrameTo { body: FrameBody::Join { asked_in, .. }, .. } => Some(asked_in),
            _ => None,
        };
        out.drain().into_iter().filter_map(join).collect()
    };
    let (mut joining, mut out) = joiner();
    joining.handle_cluster_info(at(1), addr(0), &of_cluster(0, CLUSTER, 6, 7, false), &mut out);
    joining.handle_cluster_info(at(2), addr(1), &of_cluster(1, CLUSTER, 6, 9, true), &mut out);
    assert_eq!(asked_in(&mut out), [ViewId(9)]);
    joining.handle_cluster_info(at(3), addr(0), &of_cluster(0, CLUSTER, 5, 12, false), &mut out);
    joining.handle_timeout(at(1_500), &mut out);
    assert_eq!(asked_in(&mut out), [ViewId(9)]);
}

#[test]
fn a_silent_seed_delays_the_join_by_a_moment_only() {
    let (mut joining, mut out) = joiner();
    joining.handle_cluster_info(at(1), addr(0), &of_cluster(0, CLUSTER, 6, 7, false), &mut out);
    assert_eq!(joins(&mut out), []);
    joining.handle_timeout(at(51), &mut out);
    assert_eq!(joins(&mut out), [addr(6)]);
    joining.handle_timeout(at(1_050), &mut out);
    assert_eq!(joins(&mut out), []);
    joining.handle_timeout(at(1_051), &mut out);
    assert_eq!(joins(&mut out), [addr(6)], "it is repeated every heartbeat interval");
}

#[test]
fn a_redirect_is_followed_at_once_but_never_in_a_circle_at_full_speed() {
    let (mut joining, mut out) = joiner();
    joining.handle_cluster_info(at(1), addr(0), &of_cluster(0, CLUSTER, 6, 7, false), &mut out);
    joining.handle_timeout(at(51), &mut out);
    joins(&mut out);
    joining.handle_cluster_info(at(52), addr(6), &of_cluster(6, CLUSTER, 5, 7, false), &mut out);
    assert_eq!(joins(&mut out), []);
    assert!(joining.poll_timeout().unwrap().0 <= at(71));
    joining.handle_timeout(at(71), &mut out);
    assert_eq!(joins(&mut out), [addr(5)]);
}

//= docs/protocol.md#vw-9
#[test]
fn whoever_was_put_off_by_a_member_not_yet_in_office_asks_again_with_its_first_view() {
    let (mut joining, mut out) = joiner();
    joining.handle_cluster_info(at(1), addr(0), &of_cluster(0, CLUSTER, 6, 7, false), &mut out);
    joining.handle_timeout(at(51), &mut out);
    assert_eq!(joins(&mut out), [addr(6)]);
    joining.handle_cluster_info(at(52), addr(6), &of_cluster(6, CLUSTER, 6, 7, false), &mut out);
    joining.handle_timeout(at(80), &mut out);
    assert_eq!(joins(&mut out), [], "nothing has changed");
    joining.handle_cluster_info(at(81), addr(0), &of_cluster(0, CLUSTER, 6, 8, false), &mut out);
    assert_eq!(joins(&mut out), [addr(6)]);
    joining.handle_cluster_info(at(110), addr(0), &of_cluster(0, CLUSTER, 6, 9, false), &mut out);
    assert_eq!(joins(&mut out), [], "it takes its time to let this one in");
}

#[test]
fn a_coordinator_without_a_word_for_long_is_told_of_to_the_other_members() {
    let (mut joining, mut out) = joiner();
    let mut now = 1;
    while now < 6_200 {
        joining.handle_cluster_info(at(now), addr(0), &of_cluster(0, CLUSTER, 6, 7, false), &mut out);
        joining.handle_timeout(at(now), &mut out);
        assert!(joins(&mut out).iter().all(|to| *to == addr(6)));
        now += 100;
    }
    joining.handle_cluster_info(at(7_500), addr(0), &of_cluster(0, CLUSTER, 6, 7, false), &mut out);
    assert_eq!(joins(&mut out), [addr(6), addr(0)]);
}

fn asked() -> (Joining, Outbox) {
    let (mut joining, mut out) = joiner();
    joining.handle_cluster_info(at(1), addr(0), &of_cluster(0, CLUSTER, 6, 7, false), &mut out);
    joining.handle_cluster_info(at(1), addr(1), &stranger(1), &mut out);
    assert_eq!(joins(&mut out), [addr(6)]);
    (joining, out)
}

//= docs/protocol.md#vw-11
#[test]
fn a_final_refusal_ends_joining_at_once_and_says_what_each_seed_answered() {
    for refusal in [JoinRefusal::NameInUse("m9".into()), JoinRefusal::IdInUse] {
        let (mut joining, mut out) = asked();
        joining.handle_join_refused(at(20), &refusal, &mut out);
        let failure = JoinFailure {
            refusal: Some(refusal),
            seeds: vec![(addr(0), SeedAnswer::Coordinator(addr(6))), (addr(1), SeedAnswer::NotInCluster)],
            unresolved: Vec::new(),
            tried_for: Duration::from_millis(20),
        };
        assert_eq!(joining.outcome(), Some(JoinOutcome::Failed(failure)));
    }
}

#[test]
fn a_retriable_refusal_is_asked_again() {
    let (mut joining, mut out) = asked();
    joining.handle_join_refused(at(20), &JoinRefusal::Busy, &mut out);
    assert_eq!(joining.outcome(), None);
    joining.handle_timeout(at(1_001), &mut out);
    assert_eq!(joins(&mut out), [addr(6)]);
}

#[test]
fn a_cluster_that_says_it_is_isolated_loses_against_another() {
    let (mut joining, mut out) = asked();
    joining.handle_cluster_info(at(10), addr(1), &of_cluster(1, OTHER, 5, 2, false), &mut out);
    assert_eq!(joins(&mut out), []);
    joining.handle_join_refused(at(40), &JoinRefusal::Isolated, &mut out);
    assert_eq!(joins(&mut out), [addr(5)]);
    assert_eq!(joining.cluster_to_expect(), Some(OTHER));
}

#[test]
fn a_seed_that_speaks_another_transport_is_named_as_such() {
    let mut out = Outbox::default();
    let mut joining = Joining::new(&config(), &member(9), 1, at(0));
    joining.handle_seeds(at(0), &[addr(0)], &mut out);
    let (next, _) = joining.poll_timeout().unwrap();
    joining.handle_timeout(next, &mut out);
    let misfit = Misfit::Transport;
    assert_eq!(joining.misfits().count(), 0);
    joining.handle_frame_failed(at(70), FrameToken(1), SendFailure::Misfit(misfit), &mut out);
    // Long before the join timeout.
    assert_eq!(joining.misfits().collect::<Vec<_>>(), [(addr(0), &SeedAnswer::Misfit(misfit))]);
    joining.handle_timeout(at(24_000), &mut out);
    let Some(JoinOutcome::Failed(failure)) = joining.outcome() else { panic!("not over") };
    assert_eq!(failure.seeds, [(addr(0), SeedAnswer::Misfit(misfit))]);
}

#[test]
fn the_join_timeout_ends_with_what_each_seed_answered() {
    let mut out = Outbox::default();
    let mut joining = Joining::new(&config(), &member(9), 1, at(0));
    joining.handle_seeds(at(0), &[addr(0), addr(1), addr(2)], &mut out);
    let other_name = ClusterInfo { cluster_name: "billing".into(), ..stranger(1) };
    joining.handle_cluster_info(at(1), addr(1), &other_name, &mut out);
    out.drain();
    let (next, _) = joining.poll_timeout().unwrap();
    joining.handle_timeout(next, &mut out);
    // Tokens go up by seed: the third seed's question on a stream is refused.
    joining.handle_frame_failed(at(70), FrameToken(3), SendFailure::Refused, &mut out);
    joining.handle_frame_failed(at(70), FrameToken(1), SendFailure::TimedOut, &mut out);
    let misfits: Vec<_> = joining.misfits().map(|(seed, answer)| (seed, answer.to_string())).collect();
    assert_eq!(misfits, [(addr(1), "belongs to cluster \"billing\"".into())]);
    joining.handle_timeout(at(24_000), &mut out);
    let failure = JoinFailure {
        refusal: None,
        seeds: vec![
            (addr(0), SeedAnswer::NoAnswer),
            (addr(1), SeedAnswer::OtherCluster("billing".into())),
            (addr(2), SeedAnswer::Refused),
        ],
        unresolved: Vec::new(),
        tried_for: Duration::from_secs(24),
    };
    assert_eq!(joining.outcome(), Some(JoinOutcome::Failed(failure)));
    out.drain();
    joining.handle_timeout(at(25_000), &mut out);
    assert_eq!(out.drain(), []);
}

#[test]
fn an_announcement_of_somebody_who_is_no_seed_is_followed() {
    let (mut joining, mut out) = joiner();
    joining.handle_cluster_info(at(1), addr(6), &of_cluster(6, CLUSTER, 6, 7, false), &mut out);
    joining.handle_timeout(at(51), &mut out);
    assert_eq!(joins(&mut out), [addr(6)]);
}

#[test]
//= docs/protocol.md#lv-5
fn a_joiner_asks_the_holder_for_a_large_view_and_the_coordinator_again_where_that_fails() {
    let (mut joining, mut out) = joiner();
    joining.handle_cluster_info(at(1), addr(0), &of_cluster(0, CLUSTER, 0, 5, false), &mut out);
    joining.handle_cluster_info(at(1), addr(1), &of_cluster(1, CLUSTER, 0, 5, false), &mut out);
    assert_eq!(joins(&mut out), [addr(0)]);
    joining.handle_admitted(at(10), id(6), member(6).endpoint, &mut out);
    assert_eq!(joins(&mut out), [addr(6)]);
    // It does not answer: the coordinator is asked again after the usual time.
    joining.handle_timeout(at(1_000), &mut out);
    assert_eq!(joins(&mut out), []);
    joining.handle_timeout(at(1_001), &mut out);
    assert_eq!(joins(&mut out), [addr(0)]);
    // The next one is gone: the coordinator is asked at once.
    joining.handle_admitted(at(1_010), id(7), member(7).endpoint, &mut out);
    let token = out.drain().into_iter().find_map(|action| match action {
        Action::FrameTo { token, body: FrameBody::Join { .. }, .. } => Some(token),
        _ => None,
    });
    joining.handle_frame_failed(at(1_030), token.unwrap(), SendFailure::Refused, &mut out);
    assert_eq!(joins(&mut out), [addr(0)]);
    // The one after that has not got the view yet, and redirects.
    joining.handle_admitted(at(1_040), id(8), member(8).endpoint, &mut out);
    assert_eq!(joins(&mut out), [addr(8)]);
    joining.handle_cluster_info(at(1_060), addr(8), &of_cluster(8, CLUSTER, 0, 5, false), &mut out);
    assert_eq!(joins(&mut out), [addr(0)]);
}
