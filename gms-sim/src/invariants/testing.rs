//! What invariants are tested with: a small formed world, and views and events that never happened in it.

use std::sync::Arc;
use std::time::Duration;

use gms_core::event::{Removed, Subject, ViewChange};
use gms_core::evidence::{Evidence, Reason, Verdict};
use gms_core::view::{Change, Crashed};
use gms_core::{Event, MemberId, View};

use crate::scenario::Scenario;
use crate::world::World;

/// T of the test worlds.
pub(super) const T: Duration = Duration::from_secs(1);

/// A world of `members` in one view, calm for long.
pub(super) fn formed(members: usize) -> World {
    let scenario = Scenario { members, seeds: members.min(3), member_timeout: T, ..Scenario::default() };
    let mut world = World::new(scenario, Vec::new()).unwrap();
    world.run_for(T * 6);
    world
}

/// The view of the first process.
pub(super) fn view(world: &World) -> Arc<View> {
    Arc::clone(world.processes()[0].view().unwrap())
}

/// The id of a process.
pub(super) fn id(world: &World, process: usize) -> MemberId {
    world.processes()[process].member().id
}

/// Evidence of a removal as it should be: checked by the first process, fenced by all but the last.
pub(super) fn evidence(world: &World, verdict: Verdict) -> Evidence {
    let last = world.processes().len() - 1;
    let fenced_by =
        if verdict == Verdict::Silent { (0..last).map(|p| id(world, p)).collect() } else { Vec::new() };
    Evidence {
        checker: id(world, 0),
        reason: Reason::Silent,
        accusations: Vec::new(),
        more_accusations: 0,
        silent_for: T * 3 / 2,
        check_took: T / 4,
        requests_sent: 4,
        probe: None,
        verifiers: Vec::new(),
        verdict,
        fenced_by,
    }
}

/// The change that removes the last process as crashed.
pub(super) fn removal(world: &World, evidence: Evidence) -> Change {
    let member = id(world, world.processes().len() - 1);
    let crashed = vec![Crashed { member, evidence: Arc::new(evidence) }];
    Change { crashed, ..Change::empty(&view(world)) }
}

/// The event of a view that `change` makes of `base`.
pub(super) fn installed(base: &View, change: &Change) -> Event {
    let subject = |id: &MemberId| Subject { id: *id, name: base.name_of(id) };
    let removed = |c: &Crashed| Removed { member: subject(&c.member), evidence: Arc::clone(&c.evidence) };
    Event::ViewInstalled(Arc::new(ViewChange {
        view: Arc::new(base.apply(change).unwrap()),
        joined: change.joined.iter().map(|member| Subject::from(&**member)).collect(),
        left: change.left.iter().map(subject).collect(),
        crashed: change.crashed.iter().map(removed).collect(),
        expelled: Vec::new(),
        gone: Vec::new(),
    }))
}

/// The event of a view that a process installed as its first.
pub(super) fn first(view: &Arc<View>) -> Event {
    Event::ViewInstalled(Arc::new(ViewChange {
        view: Arc::clone(view),
        joined: Vec::new(),
        left: Vec::new(),
        crashed: Vec::new(),
        expelled: Vec::new(),
        gone: Vec::new(),
    }))
}
