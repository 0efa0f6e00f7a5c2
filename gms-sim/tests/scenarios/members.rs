//! Members that are lost one by one, restarted again and again, and views of many.

use gms_sim::{Fault, Report};

use crate::{assert_ends_with, at, run, scenario};

#[test]
fn single_losses_end_with_the_lead_member_alone() {
    let losses = (1..6).map(|place: u64| at(30 * place, Fault::Down { host: 6 - place as usize })).collect();
    let outcome = run(gms_sim::Scenario { rejoin: false, ..scenario(6, 180, losses) });
    let report = Report::new(&outcome);
    let last = outcome.world.processes()[0].view().unwrap();
    assert_eq!((last.len(), report.views), (1, 5), "{report}");
}

#[test]
fn the_lead_member_lost_again_and_again_ends_with_two() {
    let losses = (0..4).map(|place| at(30 + 30 * place as u64, Fault::Crash { host: place })).collect();
    assert_ends_with(&run(scenario(6, 180, losses)), 2);
}

#[test]
fn ten_restarts_in_a_row_faster_than_any_timeout_end_with_one_entry() {
    let restart = |place: u64| at(10 + place, Fault::Restart { host: 3, elsewhere: false });
    let outcome = run(scenario(5, 60, (0..10).map(restart).collect()));
    assert_ends_with(&outcome, 5);
    assert_eq!(outcome.world.processes().len(), 15);
}

#[test]
//= docs/protocol.md#vw-11
fn a_process_that_comes_back_on_another_port_has_its_name_again_however_soon_that_is() {
    for millis in [0, 1, 100, 1_000, 1_999, 2_001, 3_000, 7_000] {
        let back = gms_sim::Step {
            at: std::time::Duration::from_millis(10_000 + millis),
            fault: Fault::Restart { host: 3, elsewhere: true },
        };
        let crash = at(10, Fault::Crash { host: 3 });
        let faults = if millis == 0 { vec![back] } else { vec![crash, back] };
        let outcome = run(scenario(5, 30, faults));
        assert_ends_with(&outcome, 5);
        let report = Report::new(&outcome);
        assert!(millis > 2_000 || report.joining.max_ms.unwrap() < 1_000.0, "after {millis} ms: {report}");
    }
}

#[test]
fn a_joiner_finds_its_way_where_one_seed_of_three_lives() {
    let crash = |host| at(5, Fault::Crash { host });
    let outcome = run(scenario(6, 60, vec![crash(0), crash(2), at(20, Fault::Start { host: 6 })]));
    assert_ends_with(&outcome, 5);
}

#[test]
fn a_joiner_that_dies_at_any_moment_of_its_joining_leaves_nothing_behind() {
    for millis in [0, 1, 2, 3, 5, 8, 13, 21, 50] {
        let crash = gms_sim::Step {
            at: std::time::Duration::from_millis(10_000 + millis),
            fault: Fault::Crash { host: 5 },
        };
        assert_ends_with(&run(scenario(5, 40, vec![at(10, Fault::Start { host: 5 }), crash])), 5);
    }
}

#[test]
fn a_view_of_129_members_loses_three_at_once_in_one_view_change() {
    let down = |host| at(5, Fault::Down { host });
    let outcome =
        run(gms_sim::Scenario { rejoin: false, ..scenario(129, 14, vec![down(40), down(41), down(100)]) });
    let report = Report::new(&outcome);
    assert_eq!((report.views, report.detection.count), (1, 3 * 126), "{report}");
}

#[test]
fn a_view_of_129_members_lets_one_more_in_and_one_go() {
    let faults = vec![at(5, Fault::Start { host: 129 }), at(7, Fault::Leave { host: 70 })];
    assert_ends_with(&run(scenario(129, 10, faults)), 129);
}
