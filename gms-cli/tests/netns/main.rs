//! Real members on hosts of their own: pulled cables, cuts in one direction, splits.
//!
//! Needs Linux, root, `ip` and `nft`. Where one is missing the tests say on standard error that they did not run, and
//! why. `GMS_NETNS=required` turns that into a failure; `GMS_NETNS=skip` leaves them out on purpose.

#![expect(clippy::disallowed_methods, reason = "the tests wait by the real clock")]

mod cluster;

use std::collections::BTreeSet;
use std::io::{Write as _, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cluster::Cluster;
use gms_lab::Lab;

/// Member timeout where nothing is compared to the millisecond.
const T: &str = "1s";
/// Long enough for a wrong removal to show: several times what a right one takes with [`T`].
const LONG: Duration = Duration::from_secs(10);

//= docs/protocol.md#fd-22
#[test]
fn a_host_whose_cable_is_pulled_is_removed_by_all_others_and_says_that_it_is_isolated() {
    let Some(_turn) = turn("a_host_whose_cable_is_pulled") else { return };
    let mut cluster = Cluster::start(5, T);
    let mark = cluster.mark();
    cluster.lab.pull_cable(4).expect("the network changes");
    let lost = cluster.names([4]);
    cluster.until_removed(mark, &[1, 2, 3, 5], &lost);
    cluster.until_event(mark, 4, "isolated");
    cluster.lab.plug_cable(4).expect("the network changes");
    cluster.until_whole();
    cluster.assert_removed_at_most(mark, &lost);
}

//= docs/protocol.md#fd-27
#[test]
fn a_member_that_hears_nothing_never_gets_a_healthy_one_removed() {
    let Some(_turn) = turn("a_member_that_hears_nothing") else { return };
    let mut cluster = Cluster::start(5, T);
    let mark = cluster.mark();
    cluster.lab.cut_one_way(&[1, 2, 4, 5], &[3]).expect("the network changes");
    cluster.until_event(mark, 3, "isolated");
    cluster.observe(LONG);
    cluster.lab.heal().expect("the network changes");
    cluster.until_whole();
    cluster.assert_removed_at_most(mark, &cluster.names([3]));
}

//= docs/protocol.md#vw-20
#[test]
fn a_member_that_nobody_hears_is_removed_and_nobody_else_is() {
    let Some(_turn) = turn("a_member_that_nobody_hears") else { return };
    let mut cluster = Cluster::start(5, T);
    let mark = cluster.mark();
    cluster.lab.cut_one_way(&[3], &[1, 2, 4, 5]).expect("the network changes");
    let mute = cluster.names([3]);
    cluster.until_removed(mark, &[1, 2, 4, 5], &mute);
    cluster.until_event(mark, 3, "isolated");
    cluster.lab.heal().expect("the network changes");
    cluster.until_whole();
    cluster.assert_removed_at_most(mark, &mute);
}

//= docs/protocol.md#vw-17
#[test]
fn in_a_split_the_smaller_side_is_isolated_before_the_larger_decides_and_rejoins_after_healing() {
    let Some(_turn) = turn("in_a_split") else { return };
    // T of 2 s leaves R - T = 0.5 s between the two moments that are compared.
    let mut cluster = Cluster::start(5, "2s");
    let order = cluster.order(1);
    // The coordinator on the smaller side is the harder case.
    let (small, large) = order.split_at(2);
    let mark = cluster.mark();
    cluster.lab.cut(small, large).expect("the network changes");
    let gone = cluster.names(small.iter().copied());
    let isolated: Vec<String> =
        small.iter().map(|host| cluster.until_event(mark, *host, "isolated")).collect();
    cluster.until_removed(mark, large, &gone);

    let went_on = cluster
        .since(mark)
        .iter()
        .filter(|r| large.contains(&r.host) && !r.names("crashed").is_empty())
        .map(|r| r.at().to_owned())
        .min()
        .expect("a view without the smaller side was just seen");
    for at in &isolated {
        assert!(at.as_str() < went_on.as_str(), "isolated at {at}, but the others went on at {went_on}");
    }
    let decided_alone =
        cluster.since(mark).iter().any(|r| small.contains(&r.host) && r.event == "view_installed");
    assert!(!decided_alone, "the smaller side installed a view of its own");

    cluster.lab.heal().expect("the network changes");
    for host in small {
        cluster.until_event(mark, *host, "excluded");
        cluster.until_event(mark, *host, "rejoined");
    }
    cluster.until_whole();
    cluster.assert_removed_at_most(mark, &gone);
}

//= docs/protocol.md#fd-20
#[test]
fn one_broken_link_between_neighbours_removes_nobody() {
    let Some(_turn) = turn("one_broken_link") else { return };
    let mut cluster = Cluster::start(5, T);
    let order = cluster.order(1);
    // Neither end is coordinator, so that the accusation goes to a third.
    let (watcher, watched) = (order[2], order[3]);
    let mark = cluster.mark();
    cluster.lab.cut(&[watcher], &[watched]).expect("the network changes");
    let name = format!("h{watched}");
    cluster.until("the accusation is answered by a final check that the member passes", |history| {
        history[mark..].iter().any(|r| r.event == "final_check_passed" && r.value["member"] == name.as_str())
    });
    cluster.observe(LONG);
    cluster.assert_removed_at_most(mark, &BTreeSet::new());
    cluster.lab.heal().expect("the network changes");
    cluster.observe(Duration::from_secs(2));
    cluster.assert_removed_at_most(mark, &BTreeSet::new());
    cluster.until_whole();
}

/// The right to use the machine's network, one test at a time; `None` where the test cannot run.
///
/// Writes to standard error itself, since the output of a passing test is swallowed otherwise.
fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    // A failed test leaves nothing half done that the next could trip over. The look for obstacles makes a namespace
    // too, so it takes its turn like everything else.
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let wish = std::env::var("GMS_NETNS").unwrap_or_default();
    let obstacle = if wish == "skip" { Some("GMS_NETNS=skip says so".to_owned()) } else { Lab::obstacle() };
    let Some(why) = obstacle else { return Some(turn) };
    assert!(wish != "required", "GMS_NETNS=required, but {why}");
    writeln!(stderr(), "\nskipped {test}: {why}").expect("standard error takes text");
    None
}
