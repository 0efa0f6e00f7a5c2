//! Members whose application says that it is unwell, for good: they answer, and count as silent.

use gms_sim::{Fault, Report, Scenario};

use crate::{at, run, scenario};

#[test]
//= docs/protocol.md#vw-6
fn the_dead_are_removed_where_the_healthy_are_a_majority_only_with_a_sick_member() {
    // The two that are well weigh 25 of 55, the sick one 10.
    let sick = at(10, Fault::Sick { host: 4, sick: true });
    let down = |host| at(10, Fault::Down { host });
    let faults = vec![sick, down(2), down(3), at(30, Fault::Heal)];
    let outcome = run(Scenario { rejoin: false, ..scenario(5, 120, faults) });
    let report = Report::new(&outcome);
    let last = outcome.world.processes()[0].view().expect("in a view");
    assert_eq!((last.len(), report.removals), (2, 3), "{report}");
    assert!(report.views <= 3, "{report}");
}

#[test]
//= docs/protocol.md#vw-6
fn a_sick_member_that_nobody_can_remove_stays_and_views_do_not_follow_each_other() {
    // The lead member weighs more than half, so that the other, which is in office, can't remove it.
    let faults = vec![at(10, Fault::Sick { host: 0, sick: true })];
    let outcome = run(Scenario { not_eligible: [0].into(), ..scenario(2, 200, faults) });
    let report = Report::new(&outcome);
    let last = outcome.world.processes()[1].view().expect("in a view");
    assert_eq!((last.len(), report.views, report.removals), (2, 0, 0), "{report}");
}
