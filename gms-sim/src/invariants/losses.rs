//! Losses in a calm world, of which promise p-2 speaks, gathered by the instant at which they happened.

use std::collections::BTreeSet;
use std::time::Duration;

use gms_core::member::ClusterId;
use gms_core::view::ViewId;
use gms_core::{MemberId, Timestamp, View, hubs, quorum};

use crate::scenario::Fault;
use crate::truth::{Loss, LossKind};
use crate::world::Look;

/// Clocks that differ by more than this, in parts per million, make deadlines longer.
const DRIFT_PPM_SMALL: u32 = 1_000;

/// Members of one view, lost at one instant from a calm world, while the others carried on.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) at: Timestamp,
    /// When all survivors must have a view without them.
    pub(super) deadline: Timestamp,
    pub(super) cluster: ClusterId,
    pub(super) view: ViewId,
    pub(super) lost: BTreeSet<usize>,
    pub(super) survivors: Vec<usize>,
    /// Whether they were lost in one way, all show it or none, and nothing else was lost before the deadline.
    pub(super) is_alone: bool,
}

/// Gathers losses, and gives up what the promise does not cover.
#[derive(Debug, Default)]
pub(super) struct Losses {
    seen: usize,
    disturbed_at: Option<Timestamp>,
    drifts: bool,
    open: Vec<Group>,
}

impl Losses {
    /// What of the faults disturbs beyond what the network and stopped processes show.
    pub(super) fn inflicted(&mut self, look: Look<'_>, fault: &Fault) {
        match fault {
            Fault::Drift { ppm, .. } => self.drifts |= ppm.unsigned_abs() > DRIFT_PPM_SMALL,
            Fault::Leave { .. } | Fault::Expel { .. } | Fault::Sick { .. } | Fault::Up { .. } => {
                self.disturbed_at = Some(look.now);
            }
            // The host of one that crashed falls silent: what refused before is silent like a lost host.
            Fault::Down { host } | Fault::Suspend { host, .. } => {
                let is_on_it = |group: &Group| group.lost.iter().any(|i| look.processes[*i].host() == *host);
                self.open.iter_mut().filter(|group| is_on_it(group)).for_each(|group| group.is_alone = false);
            }
            _ => {}
        }
    }

    /// Takes in new losses; returns the groups whose time is up and that the promise covers to the end.
    pub(super) fn follow(&mut self, look: Look<'_>) -> Vec<Group> {
        let losses = look.truth.losses();
        if losses.len() > self.seen {
            // Faults of one instant are applied one after the other: wait until the instant is over.
            if losses.last().is_some_and(|loss| loss.at == look.now) {
                return Vec::new();
            }
            let first = losses[self.seen].at;
            let together: Vec<&Loss> =
                losses[self.seen..].iter().take_while(|loss| loss.at == first).collect();
            self.seen += together.len();
            self.gather(look, &together);
        }
        let due = |group: &Group| look.now >= group.deadline;
        if !self.open.iter().any(due) {
            return Vec::new();
        }
        let (due, open) = std::mem::take(&mut self.open).into_iter().partition(due);
        self.open = open;
        let covered = |group: &Group| self.is_covered(look, group);
        due.into_iter().filter(covered).collect()
    }

    /// R, by which a calm world has forgotten what was before, times two.
    fn settled_for(look: Look<'_>) -> Duration {
        look.scenario.member_timeout * 5 / 2
    }

    /// p-2: 1.5 T, the batch window, three round trips; and some room for the tails of delays. In views with hubs R more
    /// for each time that these change: before, and whenever another of the `lost` becomes one; and where all are lost, until
    /// those who are left have found out.
    fn bound(&self, look: Look<'_>, lost: &BTreeSet<usize>) -> Duration {
        let timing = look.processes[0].timing(look.scenario);
        let link = look.network.default_link();
        let trips = link.delay_mean * 6;
        let room = look.scenario.member_timeout / 50 + link.delay_mean * 20;
        let mut bound = timing.member_timeout * 3 / 2 + timing.batch_window + trips + room;
        let view = lost.first().and_then(|index| look.processes[*index].view());
        if let Some(view) = view.filter(|view| hubs::predecessors(view).is_some()) {
            let is_lost = |id: &MemberId| look.process_of(id).is_some_and(|index| lost.contains(&index));
            let next = view.office().skip(hubs::HUBS).take(lost.len()).filter(|m| is_lost(&m.id)).count();
            let all = hubs::first_in_office(view).all(|m| is_lost(&m.id));
            let waits = 1 + next + if all { 2 } else { 0 };
            bound += timing.removal_silence() * u32::try_from(waits).unwrap_or(u32::MAX);
        }
        if self.drifts { bound.mul_f64(1.0 / 0.9) } else { bound }
    }

    fn gather(&mut self, look: Look<'_>, together: &[&Loss]) {
        let Some(first) = together.first() else { return };
        let lost: BTreeSet<usize> = together.iter().map(|loss| loss.process).collect();
        let all_lost = self.open.iter().flat_map(|group| &group.lost).chain(&lost).copied().collect();
        let deadline = first.at + self.bound(look, &all_lost);
        // Who is lost while others are missed makes them be missed for longer: it may have been about to remove them.
        for group in &mut self.open {
            group.is_alone = false;
            group.deadline = deadline;
            group.survivors.retain(|survivor| !lost.contains(survivor));
        }
        let (cluster, view) = first.view;
        let is_calm = first.calm_since.is_some_and(|since| since + Self::settled_for(look) <= first.at);
        let of_one_view =
            together.iter().all(|loss| loss.view == first.view && loss.kind != LossKind::Stopped);
        let of_one_kind = together.iter().all(|loss| loss.kind == first.kind);
        let survivors: Vec<usize> = (0..look.processes.len())
            .filter(|index| !lost.contains(index) && carries_on(look, *index))
            .filter(|index| look.processes[*index].view().is_some_and(|v| v.cluster() == cluster))
            .collect();
        let Some(before) = survivors.first().and_then(|index| look.processes[*index].view()) else { return };
        let is_same = |index: &usize| look.processes[*index].view().is_some_and(|v| v.id() == view);
        let is_there = |id: &MemberId| {
            look.process_of(id).is_some_and(|index| lost.contains(&index) || survivors.contains(&index))
        };
        let is_whole =
            survivors.iter().all(is_same) && before.members().iter().all(|m| is_there(&m.member.id));
        if is_calm && of_one_view && is_whole {
            let is_alone = self.open.is_empty() && of_one_kind && all_show(look, &lost);
            self.open.push(Group { at: first.at, deadline, cluster, view, lost, survivors, is_alone });
        }
    }

    /// Whether the promise held for the group from its loss to its deadline.
    fn is_covered(&self, look: Look<'_>, group: &Group) -> bool {
        let since = Self::settled_for(look);
        let was_calm = look.truth.calm_since().is_some_and(|calm| calm + since <= group.at);
        let disturbed = self.disturbed_at.is_some_and(|at| at + since >= group.at);
        let stay_lost = group.lost.iter().all(|index| !carries_on(look, *index));
        let survive = group.survivors.iter().all(|index| carries_on(look, *index));
        was_calm && !disturbed && stay_lost && survive
    }
}

impl Group {
    /// Whether the survivors weigh more than half of the view, and of each in which one of them is. A member that is
    /// let in meanwhile can't vouch for anybody's silence until R later, and counts against.
    pub(super) fn has_majority(&self, look: Look<'_>, view: &View) -> bool {
        let survives =
            |id: &MemberId| look.process_of(id).is_some_and(|index| self.survivors.contains(&index));
        let is_enough = |view: &View| quorum::is_majority(quorum::weight_of(view, survives), view.weight());
        let mut held = self.survivors.iter().filter_map(|index| look.processes[*index].view());
        is_enough(view) && held.all(|view| is_enough(view))
    }

    /// Whether another process has taken the place of a lost one: it is met there, or asks to join, sooner or later.
    pub(super) fn is_replaced(&self, look: Look<'_>) -> bool {
        self.lost.iter().any(|lost| {
            let host = look.processes[*lost].host();
            look.processes[*lost + 1..].iter().any(|process| process.host() == host)
        })
    }

    /// The names of the lost.
    pub(super) fn names(&self, look: Look<'_>) -> String {
        let names = self.lost.iter().map(|index| look.processes[*index].member().name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Whether the death of each would show at once: where only ICMP errors show it, a host that has sent all it may is silent.
fn all_show(look: Look<'_>, lost: &BTreeSet<usize>) -> bool {
    let shows = |index: &usize| look.network.has_errors_left(look.now, look.processes[*index].host());
    look.scenario.transport.watch_shows_crashes() || lost.iter().all(shows)
}

/// Whether a process runs on a host that is on the network.
fn carries_on(look: Look<'_>, index: usize) -> bool {
    let process = &look.processes[index];
    process.is_running() && look.network.host(process.host()).is_some_and(|host| !host.is_down)
}
