//! Networks that lose, double and overtake, and links that come and go.

use gms_sim::network::{Link, StreamMode};
use gms_sim::{Fault, Report, Scenario, Start};

use crate::{T, assert_ends_with, assert_untouched, at, run, scenario, seconds};

#[test]
fn an_hour_in_which_a_fifth_of_everything_is_lost_removes_nobody() {
    let outcome =
        run(Scenario { network: Link { loss: 0.2, ..Link::default() }, ..scenario(5, 3_600, Vec::new()) });
    assert_untouched(&outcome);
}

#[test]
fn duplicates_and_overtaking_datagrams_change_nothing() {
    let network = Link {
        duplicate: 0.5,
        reorder: 0.5,
        delay_mean: std::time::Duration::from_millis(20),
        ..Link::default()
    };
    let faults = vec![at(60, Fault::Crash { host: 3 }), at(90, Fault::Start { host: 6 })];
    let outcome = run(Scenario { network, ..scenario(6, 120, faults) });
    assert_ends_with(&outcome, 6);
    assert_eq!(Report::new(&outcome).views, 2);
}

#[test]
fn a_member_whose_links_come_and_go_comes_back_ever_later() {
    let fault = Fault::FlipFlop { host: 3, period: seconds(20), span: seconds(1_200), outward: false };
    let mut outcome = run(scenario(6, 1_210, vec![at(10, fault)]));
    // Its longest wait is 60 T.
    outcome.world.run_for(T * 61);
    let report = Report::new(&outcome);
    // At 20 s intervals there would be thirty.
    assert!((3..=8).contains(&report.exclusions), "{report}");
    assert!(report.removals_of_running <= 8, "{report}");
    assert!(outcome.world.is_in_one_view(6), "{report}");
}

#[test]
fn a_network_in_which_every_packet_may_be_late_by_half_a_timeout_removes_nobody() {
    let network = Link { tail_chance: 0.2, tail: seconds(2), ..Link::default() };
    assert_untouched(&run(Scenario { network, ..scenario(5, 120, Vec::new()) }));
}

#[test]
fn a_cluster_forms_where_streams_of_one_host_hang() {
    let faults = vec![
        at(0, Fault::Streams { host: 4, mode: StreamMode::Hang }),
        at(60, Fault::Streams { host: 4, mode: StreamMode::Work }),
    ];
    let outcome = run(Scenario { start: Start::Together, ..scenario(5, 120, faults) });
    let report = Report::new(&outcome);
    let in_view = outcome.world.up().filter(|process| process.view().is_some_and(|view| view.len() >= 4));
    assert!(in_view.count() >= 4, "{report}");
}

#[test]
fn members_that_are_a_twelfth_of_the_timeout_apart_form_a_view_and_stay() {
    let delay = std::time::Duration::from_millis(40);
    let network = Link { delay_min: delay, delay_mean: delay, ..Link::default() };
    let member_timeout = std::time::Duration::from_secs(1);
    assert_untouched(&run(Scenario { network, member_timeout, ..scenario(5, 60, vec![]) }));
}
