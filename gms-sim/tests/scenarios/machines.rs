//! Slow loops, clocks that are wrong, machines that sleep, ports that others take.

use std::time::Duration;

use gms_sim::network::Squatter;
use gms_sim::{Fault, Report};

use crate::{T, assert_ends_with, assert_untouched, at, run, scenario, seconds};

#[test]
fn loops_that_run_half_of_the_time_remove_nobody() {
    let starve = |host| at(5, Fault::Starve { host, share: 0.5, period: seconds(2) });
    assert_untouched(&run(scenario(7, 180, vec![starve(0), starve(3), starve(4)])));
}

#[test]
fn a_loop_that_sleeps_longer_than_the_timeout_takes_no_healthy_member_along() {
    let fault = Fault::Starve { host: 3, share: 0.1, period: seconds(15) };
    let outcome = run(scenario(7, 120, vec![at(5, fault), at(90, Fault::Heal)]));
    let look = outcome.world.look();
    let removed = outcome.metrics.removals_of_running.iter().filter_map(|id| look.process_of(id));
    let hosts: Vec<usize> = removed.map(|index| look.processes[index].host()).collect();
    assert!(hosts.iter().all(|host| *host == 3), "{hosts:?}");
}

#[test]
fn clocks_that_drift_apart_by_a_tenth_remove_nobody() {
    let drift = |host, ppm| at(1, Fault::Drift { host, ppm });
    let faults = vec![drift(0, 50_000), drift(1, -50_000), drift(2, 50_000), drift(3, -50_000)];
    assert_untouched(&run(scenario(5, 300, faults)));
}

#[test]
fn a_death_is_found_where_clocks_drift() {
    let drift = |host, ppm| at(1, Fault::Drift { host, ppm });
    let faults = vec![drift(1, 50_000), drift(2, -50_000), at(30, Fault::Crash { host: 3 })];
    assert_ends_with(&run(scenario(5, 60, faults)), 4);
}

#[test]
fn a_wall_clock_that_jumps_a_day_either_way_changes_nothing() {
    let jump = |host, seconds| at(10, Fault::JumpWallClock { host, seconds });
    let outcome = run(scenario(5, 60, vec![jump(0, 86_400), jump(1, -86_400), jump(4, 86_400)]));
    assert_untouched(&outcome);
    assert_eq!(outcome.metrics.suspicions, 0);
}

#[test]
fn a_machine_that_sleeps_for_less_than_the_timeout_accuses_nobody_and_stays() {
    let outcome = run(scenario(5, 60, vec![at(10, Fault::Suspend { host: 2, span: seconds(4) })]));
    assert_untouched(&outcome);
    assert_eq!(outcome.metrics.suspicions, 0);
}

#[test]
fn a_machine_that_sleeps_for_a_minute_is_removed_and_comes_back_and_takes_nobody_along() {
    for host in [0, 2] {
        let outcome = run(scenario(5, 120, vec![at(10, Fault::Suspend { host, span: seconds(60) })]));
        let report = Report::new(&outcome);
        assert!(outcome.world.is_in_one_view(5), "{report}");
        assert_eq!((report.removals, report.exclusions), (1, 1), "{report}");
    }
}

#[test]
fn a_dead_members_port_taken_by_another_program_does_not_keep_it_alive() {
    for squatter in [Squatter::Silent, Squatter::Resets, Squatter::Garbage] {
        let faults = vec![at(10, Fault::Crash { host: 3 }), at(10, Fault::Squat { host: 3, squatter })];
        let outcome = run(scenario(5, 40, faults));
        assert_ends_with(&outcome, 4);
        let longest = outcome.metrics.detections.iter().map(|detection| detection.after).max().unwrap();
        assert!(longest <= T.mul_f64(1.5) + Duration::from_millis(100), "{squatter:?}: {longest:?}");
    }
}
