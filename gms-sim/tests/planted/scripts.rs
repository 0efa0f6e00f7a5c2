//! Scenarios made for one rule each, where the mixed workload needs too many seeds: the situation is written out, and the
//! seed moves its moments.

use std::time::Duration;

use fastrand::Rng;
use gms_core::config::{CrashDetection, HeartbeatRecipients};
use gms_sim::network::{Link, StreamMode};
use gms_sim::{Fault, Scenario, Step, World};

/// T of all scripts.
const T: Duration = Duration::from_secs(1);

fn at(ms: u64, fault: Fault) -> Step {
    Step { at: Duration::from_millis(ms), fault }
}

/// Nothing passes between `host` and each of `others`, either way.
fn apart(ms: u64, host: usize, others: &[usize]) -> Vec<Step> {
    let both = |other: &usize| {
        [at(ms, Fault::Cut { from: host, to: *other }), at(ms, Fault::Cut { from: *other, to: host })]
    };
    others.iter().flat_map(both).collect()
}

fn scenario(seed: u64, members: usize, seconds: u64, faults: Vec<Step>) -> Scenario {
    Scenario {
        members,
        seed,
        member_timeout: T,
        run_for: Duration::from_secs(seconds),
        heal_for: Duration::from_secs(60),
        faults,
        ..Scenario::default()
    }
}

/// A cluster of three that weigh the same as the lead member's bonus falls apart: the lead member weighs what the two
/// others weigh.
pub(crate) fn even_split(seed: u64) -> Scenario {
    let alone = usize::try_from(seed % 3).expect("below 3");
    let others = (0..3).filter(|host| *host != alone).collect();
    let faults = vec![at(2_000, Fault::Partition { groups: vec![vec![alone], others] })];
    Scenario { weights: (0..3).map(|host| (host, 5)).collect(), ..scenario(seed, 3, 8, faults) }
}

/// m4 is cut off from m0 and m3, and lives by what m1 and m2 echo. Both leave: m0 and m3 are a majority of the view that
/// makes, in which m4 never was, and have not heard it for long.
pub(crate) fn leavers_kept_it_connected(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let leave = rng.u64(2_000..3_600);
    let mut faults = apart(0, 4, &[0, 3]);
    faults.extend([1, 2].map(|host| at(leave, Fault::Leave { host })));
    Scenario { not_eligible: [1, 2, 4].into(), ..scenario(seed, 5, 8, faults) }
}

/// As before, but m4 lives by members that came after the last view that the next coordinator has seen: m1 misses more
/// views than are handed on one by one, while m5 and m6 and others without weight join; m5, m6 and m0 leave, and m1 is in
/// office.
pub(crate) fn the_next_in_office_missed_it(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let joiners = 5..24;
    let strangers: Vec<usize> = (1..4).chain(7..joiners.end).collect();
    let mut faults = apart(0, 4, &strangers);
    let mut now = 2_000 + rng.u64(0..300);
    faults.push(at(now, Fault::Streams { host: 1, mode: StreamMode::Hang }));
    for host in joiners.clone() {
        now += 45;
        faults.push(at(now, Fault::Start { host }));
    }
    let leave = now + rng.u64(250..600);
    // It misses the view that they leave behind, in which it would know that it is alone.
    faults.push(at(leave - 20, Fault::Streams { host: 4, mode: StreamMode::Hang }));
    faults.extend([5, 6, 0].map(|host| at(leave, Fault::Leave { host })));
    faults.push(at(leave + 60, Fault::Streams { host: 1, mode: StreamMode::Work }));
    Scenario {
        not_eligible: (2..joiners.end).collect(),
        weights: (7..joiners.end).map(|host| (host, 0)).collect(),
        heal_for: Duration::ZERO,
        ..scenario(seed, 5, 6, faults)
    }
}

/// A joiner is let in and cut off before it learns it; it is removed and asks again.
pub(crate) fn a_joiner_missed_its_time(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let mut faults = vec![at(2_000, Fault::Start { host: 5 })];
    faults.extend(apart(2_000 + rng.u64(100..700), 5, &[0, 1, 2, 3, 4]));
    faults.push(at(6_000, Fault::Heal));
    let delay = Duration::from_millis(40);
    let network = Link { delay_min: delay, delay_mean: delay * 5 / 4, ..Link::default() };
    Scenario { network, ..scenario(seed, 5, 12, faults) }
}

/// Three members, and ten that start at one moment and die together soon after.
pub(crate) fn a_crowd_joins(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let crowd: Vec<usize> = (3..13).collect();
    let die = 2_000 + rng.u64(5..1_000);
    let mut faults: Vec<Step> = crowd.iter().map(|host| at(2_000, Fault::Start { host: *host })).collect();
    faults.extend(crowd.iter().map(|host| at(die, Fault::Crash { host: *host })));
    scenario(seed, 3, 8, faults)
}

/// m1, m2 and m4 accept the change that lets m5 in, and are parted from the others before they learn that it is decided.
/// In the old view they are a majority, in the new one they are none.
pub(crate) fn parted_between_vote_and_view(seed: u64) -> Scenario {
    let delay = Duration::from_millis(40);
    let network = Link { delay_min: delay, delay_mean: delay, ..Link::default() };
    let part = Fault::Partition { groups: vec![vec![0, 3, 5], vec![1, 2, 4]] };
    let faults = vec![at(2_000, Fault::Start { host: 5 }), at(2_100 + seed * 20 % 900, part)];
    Scenario { not_eligible: [1, 2, 3, 4].into(), network, ..scenario(seed, 5, 9, faults) }
}

/// m4 hears and is heard by m1 and m2 alone, and no stream reaches it, so that it stays in its view when others join. What
/// m1 and m2 have to say about it comes late.
pub(crate) fn stays_behind_with_friends(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let slow = Duration::from_millis(600);
    let link = Link { delay_min: slow, delay_mean: slow, ..Link::default() };
    let begin = rng.u64(1_000..1_800);
    let mut faults = apart(begin, 4, &[0, 3, 5, 6, 7]);
    faults.push(at(begin, Fault::Streams { host: 4, mode: StreamMode::Hang }));
    faults.extend([1, 2].map(|from| at(begin, Fault::Link { from, to: 0, link: link.clone() })));
    faults.extend([5, 6, 7].map(|host| at(begin + 100, Fault::Start { host })));
    Scenario { not_eligible: (1..8).collect(), ..scenario(seed, 5, 9, faults) }
}

/// m6 is heard by m1, m2 and m3 alone: whoever watches it, and the coordinator, have it cleared by their word. Then it dies, and
/// nothing but its silence tells.
pub(crate) fn cleared_before_it_died(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let mut faults = apart(0, 6, &[0, 4, 5]);
    faults.push(at(4_000 + rng.u64(0..500), Fault::Crash { host: 6 }));
    let strict = Some(CrashDetection::Strict);
    Scenario { not_eligible: (1..7).collect(), crash_detection: strict, ..scenario(seed, 7, 8, faults) }
}

/// The coordinator is cut off while a leave is being decided, and comes back while its successor decides something else.
pub(crate) fn old_coordinator_returns(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let delay = Duration::from_millis(40);
    let network = Link { delay_min: delay, delay_mean: delay, ..Link::default() };
    let part = 2_000 + rng.u64(20..110);
    let faults = vec![
        at(2_000, Fault::Leave { host: 4 }),
        at(part, Fault::Partition { groups: vec![vec![0], vec![1, 2, 3, 4]] }),
        at(part + rng.u64(1_200..2_200), Fault::Heal),
    ];
    Scenario { not_eligible: [3, 4].into(), network, ..scenario(seed, 5, 9, faults) }
}

/// What m4 gets comes late, and what it sends is lost from a moment on.
pub(crate) fn echoes_come_late(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let slow = Duration::from_millis(400);
    let link = Link { delay_min: slow, delay_mean: slow, ..Link::default() };
    let others = 0..4;
    let mut faults: Vec<Step> =
        others.clone().map(|from| at(0, Fault::Link { from, to: 4, link: link.clone() })).collect();
    let mute = 3_000 + rng.u64(0..300);
    faults.extend(others.map(|to| at(mute, Fault::Cut { from: 4, to })));
    scenario(seed, 5, 9, faults)
}

/// m4 is expelled and no stream reaches it. m1 and m2 have accepted that and are parted, together with m4, from those who
/// know that it is decided.
pub(crate) fn expelled_among_laggards(seed: u64) -> Scenario {
    let delay = Duration::from_millis(40);
    let network = Link { delay_min: delay, delay_mean: delay, ..Link::default() };
    let faults = vec![
        at(1_900, Fault::Streams { host: 4, mode: StreamMode::Hang }),
        at(2_000, Fault::Expel { host: 4, by: 1 }),
        at(2_040 + seed * 10 % 200, Fault::Partition { groups: vec![vec![0, 3], vec![1, 2, 4]] }),
    ];
    Scenario { not_eligible: [1, 2, 3, 4].into(), network, ..scenario(seed, 5, 7, faults) }
}

/// m5's host is lost. m4 loses its datagrams for less than T, while a firewall refuses connections in its name, so that it is taken
/// for gone with m5; then the firewall ends, and it hears what is to be decided about it.
pub(crate) fn buried_and_asked(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let link = Link { mtu: Some(20), ..Link::default() };
    let silent = 2_650 + rng.u64(0..100);
    let mut faults = vec![at(2_000, Fault::Down { host: 5 })];
    faults.extend([0, 1, 2, 3].map(|to| at(silent, Fault::Link { from: 4, to, link: link.clone() })));
    faults.push(at(3_000, Fault::Reject { host: 4, on: true }));
    faults.push(at(3_240 + rng.u64(0..100), Fault::Reject { host: 4, on: false }));
    scenario(seed, 6, 7, faults)
}

/// m4 hears nobody, and everybody hears it.
pub(crate) fn deaf(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let deaf = 1_000 + rng.u64(0..300);
    let faults = (0..4).map(|from| at(deaf, Fault::Cut { from, to: 4 })).collect();
    scenario(seed, 5, 9, faults)
}

/// Whether the others still have m4 in their view, long after it became deaf.
pub(crate) fn deaf_is_still_in(world: &World) -> bool {
    // Afterwards all works again, and it comes back.
    let is_time = (Duration::from_millis(7_000)..=Duration::from_millis(8_900)).contains(&world.elapsed());
    let is_it = |id: &gms_core::MemberId| {
        world.look().process_of(id).is_some_and(|index| world.processes()[index].host() == 4)
    };
    let others = || world.up().filter(|process| process.host() != 4).filter_map(|process| process.view());
    is_time && others().any(|view| view.members().iter().any(|m| is_it(&m.member.id)))
}

/// m4 is silent, and its connections break.
pub(crate) fn silent_and_broken(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let link = Link { mtu: Some(20), ..Link::default() };
    let silent = 2_000 + rng.u64(0..200);
    let mut faults = vec![at(silent, Fault::Streams { host: 4, mode: StreamMode::Break })];
    faults.extend((0..4).map(|to| at(silent, Fault::Link { from: 4, to, link: link.clone() })));
    scenario(seed, 5, 6, faults)
}

/// A host is off the network, and nothing else ever happened.
pub(crate) fn lost_host(seed: u64) -> Scenario {
    let host = usize::try_from(seed % 5).expect("below 5");
    scenario(seed, 5, 8, vec![at(4_000 + seed * 37 % 200, Fault::Down { host })])
}

/// A process dies, and a host is off the network soon after: it is looked at together with the other, long before its time.
pub(crate) fn lost_after_another(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let faults =
        vec![at(4_000, Fault::Crash { host: 5 }), at(4_500 + rng.u64(0..200), Fault::Down { host: 4 })];
    Scenario { crash_detection: Some(CrashDetection::Strict), ..scenario(seed, 6, 8, faults) }
}

/// All hear m0 and nobody else: they are isolated and say so, which is no contact.
pub(crate) fn the_middle_of_a_star(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let cut = 2_000 + rng.u64(0..500);
    let faults = (1..5).flat_map(|host| {
        let others: Vec<usize> = (host + 1..5).collect();
        apart(cut, host, &others)
    });
    scenario(seed, 5, 7, faults.collect())
}

/// m1 does not hear the coordinator, and hears late what the others know of it.
pub(crate) fn usurper(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let slow = Duration::from_millis(500);
    let link = Link { delay_min: slow, delay_mean: slow, ..Link::default() };
    let mut faults = vec![at(2_000 + rng.u64(0..200), Fault::Cut { from: 0, to: 1 })];
    faults.extend((2..7).map(|from| at(1_500, Fault::Link { from, to: 1, link: link.clone() })));
    // A fresh view: in an old one the coordinator might count as idle.
    faults.push(at(2_700, Fault::Start { host: 7 }));
    Scenario { not_eligible: (2..8).collect(), ..scenario(seed, 7, 8, faults) }
}

/// The coordinator stands still, for long and for short.
pub(crate) fn coordinator_pauses(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let mut faults = Vec::new();
    let mut now = 2_000;
    while now < 8_000 {
        faults.push(at(now, Fault::Stop { host: 0 }));
        now += rng.u64(50..800);
        faults.push(at(now, Fault::Continue { host: 0 }));
        now += rng.u64(300..1_500);
    }
    scenario(seed, 5, 10, faults)
}

/// Members come and go while m4 is voted out, and most votes come late.
pub(crate) fn views_change_while_votes_come(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let slow = Duration::from_millis(rng.u64(100..400));
    let link = Link { delay_min: slow, delay_mean: slow, ..Link::default() };
    let mut faults: Vec<Step> =
        [1, 2].map(|from| at(1_000, Fault::Link { from, to: 0, link: link.clone() })).into();
    faults.push(at(2_000, Fault::Down { host: 4 }));
    for host in 5..10 {
        faults.push(at(3_300 + rng.u64(0..1_200), Fault::Start { host }));
    }
    Scenario { not_eligible: (1..10).collect(), ..scenario(seed, 5, 8, faults) }
}

/// Hubs are m0 to m3: heartbeats go to these and to two others.
fn with_hubs(seed: u64, members: usize, seconds: u64, faults: Vec<Step>) -> Scenario {
    Scenario {
        heartbeat_recipients: Some(HeartbeatRecipients::Predecessors(2)),
        not_eligible: (4..members).collect(),
        ..scenario(seed, members, seconds, faults)
    }
}

/// The hub m3 and m8 are parted from all others, and m8 hears a hub.
pub(crate) fn a_hub_without_a_majority(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let parted = Fault::Partition { groups: vec![vec![0, 1, 2, 4, 5, 6, 7], vec![3, 8]] };
    with_hubs(seed, 9, 8, vec![at(2_000 + rng.u64(0..1_000), parted)])
}

/// Of all others only the hub m3 hears m8, and what m3 says of it comes late.
pub(crate) fn one_hub_hears_it(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let slow = Duration::from_millis(600);
    let link = Link { delay_min: slow, delay_mean: slow, ..Link::default() };
    let begin = 2_000 + rng.u64(0..1_000);
    let mut faults = apart(begin, 8, &[0, 1, 2, 4, 5, 6, 7]);
    faults.push(at(begin, Fault::Link { from: 3, to: 0, link }));
    with_hubs(seed, 9, 8, faults)
}

/// All hubs are lost at once.
pub(crate) fn without_hubs(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let lost = 2_000 + rng.u64(0..500);
    with_hubs(seed, 11, 9, (0..4).map(|host| at(lost, Fault::Down { host })).collect())
}
