//! Scenarios made for one rule each, where the mixed workload needs too many seeds: the situation is written out, and the
//! seed moves its moments.

use std::time::Duration;

use fastrand::Rng;
use gms_sim::network::{Link, StreamMode};
use gms_sim::{Fault, Scenario, Step};

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
/// views than are handed on one by one, while m5 and m6 join; they and m0 leave, and m1 is in office.
pub(crate) fn the_next_in_office_missed_it(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let mut faults = apart(0, 4, &[1, 2, 3]);
    let hang = 2_000 + rng.u64(0..300);
    faults.push(at(hang, Fault::Streams { host: 1, mode: StreamMode::Hang }));
    let joiners: Vec<usize> = (5..24).collect();
    let mut now = hang + 50;
    for host in &joiners {
        now += 45;
        faults.push(at(now, Fault::Start { host: *host }));
    }
    let leave = now + rng.u64(100..500);
    faults.extend([5, 6, 0].map(|host| at(leave, Fault::Leave { host })));
    faults.push(at(leave + 60, Fault::Streams { host: 1, mode: StreamMode::Work }));
    Scenario {
        not_eligible: (2..24).collect(),
        weights: (7..24).map(|host| (host, 0)).collect(),
        ..scenario(seed, 5, 10, faults)
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
