use super::*;
use crate::testing::{Stand, id, view_of, view_with_hubs};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn report(reachable: u32, unreachable: &[&str]) -> QuorumReport {
    QuorumReport {
        weight_reachable: reachable,
        weight_needed: 23,
        weight_total: 45,
        unreachable: unreachable.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
//= docs/protocol.md#vw-16
fn the_majority_is_lost_when_its_contacts_are_older_than_r_and_regained_with_the_next() {
    let mut stand = Stand::new(view_of(4), 3);
    let mut watch = QuorumWatch::default();
    stand.hears(1_000, 1, 1);
    stand.hears(2_000, 2, 1);
    assert_eq!(watch.update(stand.at(1_250), None), None, "m0 is counted for R from the view on");
    assert_eq!(watch.update(stand.at(1_251), None), None, "30 of 45");
    assert_eq!(watch.update(stand.at(2_250), None), None);
    let lost = QuorumChange::Lost(report(20, &["m0", "m1"]));
    assert_eq!(watch.update(stand.at(2_251), None), Some(lost));
    assert_eq!(watch.update(stand.at(2_300), None), None, "it is said once");
    assert!(watch.is_lost());
    assert!(!watch.is_lost_for(at(3_250), Duration::from_secs(1)));
    assert!(watch.is_lost_for(at(3_251), Duration::from_secs(1)));
    stand.hears(2_400, 1, 2);
    let regained = QuorumChange::Regained(report(30, &["m0"]));
    assert_eq!(watch.update(stand.at(2_400), None), Some(regained));
    assert!(!watch.is_lost() && !watch.is_lost_for(at(9_000), Duration::ZERO));
}

#[test]
//= docs/protocol.md#vw-16
fn a_coordinator_whose_votes_do_not_come_has_no_majority_whoever_is_in_contact() {
    let mut stand = Stand::new(view_of(4), 0);
    let mut watch = QuorumWatch::default();
    (1..4).for_each(|n| stand.hears(900, n, 1));
    let stuck = [id(2), id(3)];
    let lost = QuorumChange::Lost(report(25, &["m2", "m3"]));
    assert_eq!(watch.update(stand.at(1_000), Some(&stuck)), Some(lost));
    let regained = QuorumChange::Regained(report(45, &[]));
    assert_eq!(watch.update(stand.at(1_100), None), Some(regained));
}

#[test]
//= docs/protocol.md#vw-16
//= docs/protocol.md#lv-4
fn where_few_are_heard_one_hub_speaks_for_all_and_without_any_the_majority_is_lost() {
    let mut stand = Stand::new(view_with_hubs(7, 1), 5);
    let mut watch = QuorumWatch::default();
    stand.hears(4_000, 2, 1);
    assert_eq!(watch.update(stand.at(5_250), None), None, "m4 sends nothing here, and m2 is a hub");
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let lost = QuorumReport {
        weight_reachable: 10,
        weight_needed: 38,
        weight_total: 75,
        unreachable: names(&["m0", "m1", "m2", "m3", "m6"]),
    };
    assert_eq!(watch.update(stand.at(5_251), None), Some(QuorumChange::Lost(lost)));
    stand.hears(5_300, 3, 1);
    let back = QuorumReport {
        weight_reachable: 38,
        weight_needed: 38,
        weight_total: 75,
        unreachable: names(&["m0", "m1", "m2", "m6"]),
    };
    assert_eq!(watch.update(stand.at(5_300), None), Some(QuorumChange::Regained(back)));
}
