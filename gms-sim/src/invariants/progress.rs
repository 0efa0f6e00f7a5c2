//! After healing, all live members of a cluster end in one view of live members.

use gms_core::{MemberId, View, quorum};

use crate::world::Look;

/// The name of this invariant.
pub const PROGRESS: &str = "after healing all live members end in one view";

/// What is not settled, if anything: `None` where each cluster has come to one view of live members.
///
/// Two things may wait for ever, rightly: a cluster whose newest view has lost its majority to deaths, and a member
/// whose view holds nobody else that lives while its seeds went to another cluster.
pub fn unsettled(look: Look<'_>) -> Option<String> {
    let up = || look.processes.iter().filter(|process| process.is_up());
    let views: Vec<&View> = up().filter_map(|process| process.view()).map(|view| &**view).collect();
    for view in &views {
        let same = || views.iter().filter(|other| other.cluster() == view.cluster());
        let newest = same().max_by_key(|other| other.id())?;
        let is_alive = |id: &MemberId| {
            look.process_of(id).is_some_and(|index| {
                let process = &look.processes[index];
                process.is_up() && process.view().is_some_and(|other| other.cluster() == view.cluster())
            })
        };
        let weight = quorum::weight_of(newest, is_alive);
        if !quorum::is_majority(weight, newest.weight()) {
            continue;
        }
        let is_lost = |other: &View| {
            let mut seeds = up().filter(|process| process.host() < look.scenario.seeds);
            let live = other.members().iter().filter(|m| is_alive(&m.member.id)).count();
            live <= 1 && !seeds.any(|seed| seed.view().is_some_and(|v| v.cluster() == other.cluster()))
        };
        if let Some(behind) = same().find(|other| other.id() != newest.id() && !is_lost(other)) {
            return Some(format!("somebody is in view {} and others in view {}", behind.id(), newest.id()));
        }
        if let Some(dead) = newest.members().iter().find(|m| !is_alive(&m.member.id)) {
            return Some(format!("{} is in view {} and gone", dead.member.name, newest.id()));
        }
    }
    None
}
