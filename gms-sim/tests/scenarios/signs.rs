//! Deaths that kernels tell of at once: connections that close, ports that refuse, datagrams that come back; and the same
//! signs where they are wrong.

use std::time::Duration;

use fastrand::Rng;
use gms_core::config::CrashDetection;
use gms_sim::{Fault, Report, Scenario, Step, Transport};

use crate::{assert_ends_with, assert_untouched, at, run, scenario, seconds};

/// Longer than a kernel takes to tear a process down, a look, a final check, a batch and two rounds; far below a heartbeat.
const AT_ONCE: Duration = Duration::from_millis(60);

/// All of `lost` die at one instant: one view without them, at once.
fn die_together(members: usize, lost: &[usize], seed: u64) {
    let faults = lost.iter().map(|host| at(7, Fault::Crash { host: *host })).collect();
    let outcome = run(Scenario { seed, ..scenario(members, 12, faults) });
    let report = Report::new(&outcome);
    assert_eq!(report.views, 1, "{lost:?} of {members}, seed {seed}: {report}");
    assert_ends_with(&outcome, members - lost.len());
    let slowest = outcome.metrics.detections.iter().map(|d| d.after).max().expect("somebody saw it");
    assert!(slowest <= AT_ONCE, "{lost:?} of {members}, seed {seed}: {slowest:?}\n{report}");
}

#[test]
fn whoever_dies_of_ten_is_out_at_once() {
    for host in 0..10 {
        die_together(10, &[host], 1);
    }
}

#[test]
//= docs/protocol.md#fd-33
fn every_pattern_of_deaths_below_half_of_seven_makes_one_view_at_once() {
    for pattern in 1_u32..1 << 7 {
        let lost: Vec<usize> = (0..7).filter(|host| pattern & (1 << host) != 0).collect();
        if lost.len() <= 3 {
            die_together(7, &lost, u64::from(pattern));
        }
    }
}

#[test]
fn five_of_fifty_wherever_they_stand_make_one_view_at_once() {
    for seed in 0..8 {
        let mut hosts: Vec<usize> = (0..50).collect();
        Rng::with_seed(seed).shuffle(&mut hosts);
        die_together(50, &hosts[..5], seed);
    }
}

#[test]
fn five_neighbours_of_fifty_with_the_coordinator_make_one_view_at_once() {
    for first in [0, 20, 47] {
        let lost: Vec<usize> = (first..first + 5).map(|host| host % 50).collect();
        die_together(50, &lost, 3);
    }
}

/// As over QUIC: of the dead only datagrams tell that find nobody, and somebody sends one soon.
fn by_datagrams(members: usize, seconds: u64, faults: Vec<Step>) -> Scenario {
    Scenario { transport: Transport::Quic, ..scenario(members, seconds, faults) }
}

#[test]
fn where_datagrams_alone_show_a_death_the_next_in_turn_finds_it() {
    let mut slower = 0;
    for seed in 0..10 {
        // Anywhere in an interval.
        let faults =
            vec![Step { at: Duration::from_millis(7_000 + seed * 137), fault: Fault::Crash { host: 3 } }];
        let outcome = run(Scenario { seed, ..by_datagrams(10, 12, faults) });
        assert_ends_with(&outcome, 9);
        let slowest = outcome.metrics.detections.iter().map(|d| d.after).max().expect("somebody saw it");
        // Of nine survivors, somebody's turn comes in a tenth of an interval or two.
        let interval = outcome.world.scenario().member_timeout / 4;
        assert!(slowest < interval / 5 + AT_ONCE, "seed {seed}: {slowest:?}");
        slower += usize::from(slowest > AT_ONCE);
    }
    assert!(
        slower > 0,
        "with nothing else to show it, some deaths are found later than by connections that close"
    );
}

#[test]
fn three_of_ten_that_die_at_once_leave_by_one_view_where_datagrams_alone_show_it() {
    for seed in 0..10 {
        let faults = [2, 3, 7].map(|host| at(7, Fault::Crash { host })).to_vec();
        let outcome = run(Scenario { seed, ..by_datagrams(10, 12, faults) });
        assert_eq!(Report::new(&outcome).views, 1, "seed {seed}");
        assert_ends_with(&outcome, 7);
    }
}

#[test]
fn a_view_of_two_loses_the_one_that_is_not_in_the_lead_at_once() {
    let outcome = run(scenario(2, 12, vec![at(7, Fault::Crash { host: 1 })]));
    assert_ends_with(&outcome, 1);
    assert!(outcome.metrics.detections[0].after <= AT_ONCE, "{:?}", outcome.metrics.detections);
}

#[test]
fn a_connection_tracker_that_forgets_everything_again_and_again_changes_nothing() {
    let faults =
        (5..60).flat_map(|second| (0..7).map(move |host| at(second, Fault::Forget { host }))).collect();
    let outcome = run(scenario(7, 70, faults));
    assert_untouched(&outcome);
    assert_eq!(outcome.metrics.suspicions, 0);
}

#[test]
//= docs/protocol.md#fd-30
fn a_firewall_that_refuses_to_everybody_removes_nobody_whose_cluster_is_strict() {
    for host in [0, 3] {
        let faults = vec![
            at(5, Fault::Reject { host, on: true }),
            at(6, Fault::Forget { host }),
            at(30, Fault::Reject { host, on: false }),
        ];
        let strict = Some(CrashDetection::Strict);
        let outcome = run(Scenario { crash_detection: strict, ..scenario(7, 60, faults) });
        assert_untouched(&outcome);
    }
}

#[test]
fn a_process_that_dies_in_a_strict_cluster_is_out_by_its_silence() {
    let strict = Some(CrashDetection::Strict);
    let outcome =
        run(Scenario { crash_detection: strict, ..scenario(7, 30, vec![at(7, Fault::Crash { host: 3 })]) });
    assert_ends_with(&outcome, 6);
    let after = outcome.metrics.detections.iter().map(|d| d.after).min().unwrap();
    assert!(after > seconds(5), "{after:?}");
}

#[test]
fn a_stopped_process_keeps_its_connections_and_is_found_by_silence_alone() {
    let outcome = run(scenario(7, 30, vec![at(7, Fault::Stop { host: 3 })]));
    let report = Report::new(&outcome);
    assert_eq!((report.views, report.removals), (1, 1), "{report}");
    let after = outcome.metrics.detections.iter().map(|d| d.after).min().unwrap();
    assert!(after > seconds(6), "{after:?}");
}
