//! After healing, all live members of a cluster end in one view of live members, and whoever is outside comes in.

use gms_core::event::State;
use gms_core::member::ClusterId;
use gms_core::{MemberId, View, quorum};

use crate::process::Process;
use crate::world::Look;

/// The name of this invariant.
pub const PROGRESS: &str = "after healing all live members end in one view";

/// What is not settled, if anything: `None` where each cluster has come to one view of live members and nobody is
/// outside.
///
/// Two things may wait for ever, rightly. A cluster whose newest view has lost its majority to deaths: nobody can tell
/// from inside that the others are not a side that carries on (p-4). And a member whose view holds nobody else that
/// lives while its seeds went to another cluster: clusters of two members and more don't merge (vw-10), and it has
/// nobody left to ask. Where there is such a one, whoever is outside may be waiting at its door.
pub fn unsettled(look: Look<'_>) -> Option<String> {
    let mut all_have_majorities = true;
    let mut known: Vec<ClusterId> = Vec::new();
    for view in up(look).filter_map(Process::view) {
        let cluster = view.cluster();
        if known.contains(&cluster) {
            continue;
        }
        known.push(cluster);
        let newest = views_of(look, cluster).max_by_key(|view| view.id())?;
        let weight = quorum::weight_of(newest, |id| is_alive(look, cluster, id));
        if !quorum::is_majority(weight, newest.weight()) {
            all_have_majorities = false;
            continue;
        }
        for behind in views_of(look, cluster).filter(|other| other.id() != newest.id()) {
            if !is_lost(look, behind) {
                return Some(format!(
                    "somebody is in view {} and others in view {}",
                    behind.id(),
                    newest.id()
                ));
            }
            all_have_majorities = false;
        }
        let mut members = newest.members().iter();
        if let Some(dead) = members.find(|m| !is_alive(look, cluster, &m.member.id)) {
            return Some(format!("{} is in view {} and gone", dead.member.name, newest.id()));
        }
    }
    if all_have_majorities { outside(look) } else { None }
}

fn up(look: Look<'_>) -> impl Iterator<Item = &Process> {
    look.processes.iter().filter(|process| process.is_up())
}

fn views_of(look: Look<'_>, cluster: ClusterId) -> impl Iterator<Item = &View> {
    up(look).filter_map(Process::view).map(|view| &**view).filter(move |view| view.cluster() == cluster)
}

/// Whether a member's process is up, and in that cluster.
fn is_alive(look: Look<'_>, cluster: ClusterId, id: &MemberId) -> bool {
    look.process_of(id).is_some_and(|index| {
        let process = &look.processes[index];
        process.is_up() && process.view().is_some_and(|view| view.cluster() == cluster)
    })
}

/// Whether a view left behind holds nobody else that lives, and no seed knows its cluster.
fn is_lost(look: Look<'_>, behind: &View) -> bool {
    let cluster = behind.cluster();
    let live = behind.members().iter().filter(|m| is_alive(look, cluster, &m.member.id)).count();
    let mut seeds = up(look).filter(|process| process.host() < look.scenario.seeds);
    live <= 1 && !seeds.any(|seed| seed.view().is_some_and(|view| view.cluster() == cluster))
}

/// Who is up and in no view, or waits to come back after an exclusion.
fn outside(look: Look<'_>) -> Option<String> {
    let newest_of_host = |index: usize, process: &Process| {
        !look.processes[index + 1..].iter().any(|later| later.host() == process.host())
    };
    let mut processes = look.processes.iter().enumerate();
    processes.find_map(|(index, process)| {
        let name = &process.member().name;
        let state = process.node().state();
        if process.is_up() && process.view().is_none() {
            return Some(format!("{name} is in no view"));
        }
        let comes_back = look.scenario.rejoin && process.is_alive && state == State::Excluded;
        (comes_back && !process.is_leaving && newest_of_host(index, process))
            .then(|| format!("{name} is out and has not come back"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, formed};
    use super::*;
    use crate::scenario::Fault;

    #[test]
    fn a_dead_member_in_the_view_is_unsettled_until_it_is_out() {
        let mut world = formed(4);
        assert_eq!(unsettled(world.look()), None);
        world.inflict(Fault::Crash { host: 3 });
        assert!(unsettled(world.look()).unwrap().starts_with("m3 is in view"));
        world.run_for(T * 3);
        assert_eq!(unsettled(world.look()), None);
    }

    #[test]
    fn a_joiner_is_unsettled_until_it_is_in() {
        let mut world = formed(3);
        world.inflict(Fault::Start { host: 3 });
        assert_eq!(unsettled(world.look()), Some(String::from("m3 is in no view")));
        world.run_for(T * 3);
        assert_eq!(unsettled(world.look()), None);
    }

    #[test]
    fn who_lost_the_majority_to_deaths_may_wait() {
        let mut world = formed(4);
        for host in 1..4 {
            world.inflict(Fault::Crash { host });
        }
        world.run_for(T * 3);
        assert_eq!(unsettled(world.look()), None);
    }
}
