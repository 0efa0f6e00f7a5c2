//! Weights and offices that are not as usual.

use std::collections::{BTreeMap, BTreeSet};

use gms_sim::{Fault, Report, Scenario};

use crate::{assert_ends_with, at, run, scenario};

#[test]
fn exactly_half_is_no_majority_however_often_it_happens() {
    // The lead member and its like weigh 15 + 10, the others 10 + 15.
    let groups = || vec![vec![0, 1], vec![2, 3]];
    let split = |second| at(second, Fault::Partition { groups: groups() });
    let heal = |second| at(second, Fault::Heal);
    let faults = vec![split(10), heal(40), split(60), heal(90), split(110), heal(140)];
    let outcome = run(Scenario { weights: BTreeMap::from([(3, 15)]), ..scenario(4, 180, faults) });
    let report = Report::new(&outcome);
    assert!(report.isolations > 0, "{report}");
    assert!(report.view_sizes.iter().all(|size| *size == 4), "{report}");
    assert!(outcome.world.is_in_one_view(4), "{report}");
}

#[test]
fn a_heavy_member_goes_on_alone_and_the_others_come_back_to_it() {
    let faults = vec![at(10, Fault::Down { host: 0 }), at(60, Fault::Up { host: 0 })];
    let outcome = run(Scenario { weights: BTreeMap::from([(0, 100)]), ..scenario(5, 120, faults) });
    let report = Report::new(&outcome);
    assert_eq!((report.removals, report.isolations), (4, 4), "{report}");
    assert!(report.view_sizes.contains(&1), "{report}");
    assert!(outcome.world.is_in_one_view(5), "{report}");
}

#[test]
fn members_without_weight_come_and_go_and_never_matter() {
    let weightless = BTreeMap::from([(3, 0), (4, 0), (5, 0)]);
    let faults = vec![at(10, Fault::Down { host: 3 }), at(10, Fault::Down { host: 4 })];
    let outcome = run(Scenario { weights: weightless, rejoin: false, ..scenario(6, 40, faults) });
    let first = outcome.world.processes()[0].view().unwrap();
    assert_eq!((first.len(), first.weight()), (4, 35));
}

#[test]
fn where_no_eligible_member_is_left_the_others_take_office() {
    let not_eligible = BTreeSet::from([1, 2, 3, 4]);
    let faults = vec![at(10, Fault::Crash { host: 0 }), at(40, Fault::Crash { host: 1 })];
    assert_ends_with(&run(Scenario { not_eligible, ..scenario(5, 70, faults) }), 3);
}
