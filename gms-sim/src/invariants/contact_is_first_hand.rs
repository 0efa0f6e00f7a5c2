//! Nobody counts as heard whom nothing new was read of, first-hand (fd-1, fd-2, fd-3).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gms_core::message::DatagramBody;
use gms_core::runtime::StepKind;
use gms_core::{Event, MemberId, Timestamp, View, hubs};

use crate::world::{Look, Observer};

/// Looks at what members say of each other's silence, after the messages that could deceive them and once in a while.
#[derive(Debug, Default)]
pub(crate) struct ContactIsFirstHand {
    /// Per process and member that owes it heartbeats (no other counts as silent): since when it does.
    known: BTreeMap<usize, BTreeMap<MemberId, Timestamp>>,
    /// When a process last stood still: what it takes for silence is shorter by that.
    paused: BTreeMap<usize, Timestamp>,
    /// Newest number of a datagram, per receiver and sender.
    newest: BTreeMap<(usize, usize), u64>,
    /// Who is to be looked at when it has handled what it got.
    due: BTreeSet<usize>,
    looked: BTreeMap<usize, Timestamp>,
}

impl ContactIsFirstHand {
    fn installed(&mut self, look: Look<'_>, by: usize, view: &View) {
        let process = &look.processes[by];
        let senders = view.place(&process.member().id).and_then(|me| hubs::senders(view, me));
        let is_sender = |place: usize| senders.as_ref().is_none_or(|senders| senders.contains(&place));
        let known = self.known.entry(by).or_default();
        known.retain(|id, _| view.place(id).is_some_and(is_sender));
        for (_, m) in view.members().iter().enumerate().filter(|(place, _)| is_sender(*place)) {
            known.entry(m.member.id).or_insert_with(|| process.clock.local(look.now));
        }
    }

    fn judge(&self, look: Look<'_>, by: usize) -> Result<(), String> {
        let process = &look.processes[by];
        if process.node().is_stopped() {
            return Ok(());
        }
        let rows = process.node().status(process.clock.local(look.now)).members;
        rows.iter().try_for_each(|row| self.judge_one(look, by, &row.member.id, row.silent_for))
    }

    /// Judges what process `by` takes for the silence of a member.
    fn judge_one(&self, look: Look<'_>, by: usize, id: &MemberId, told: Duration) -> Result<(), String> {
        let process = &look.processes[by];
        let since = self.known.get(&by).and_then(|known| known.get(id)).copied();
        let (Some(of), Some(since)) = (look.process_of(id).filter(|of| *of != by), since) else {
            return Ok(());
        };
        let heard = look.truth.last_heard_local(by, of).map_or(since, |heard| heard.max(since));
        let is_moved = self.paused.get(&by).is_some_and(|at| *at >= heard);
        let silent = process.clock.local(look.now).since(heard);
        if is_moved || told >= silent {
            return Ok(());
        }
        let (me, name) = (&process.member().name, &look.processes[of].member().name);
        Err(format!("{me} takes {name} for silent for {told:?}; it last heard it {silent:?} ago"))
    }

    /// Whether this message may be taken for a contact that it is not.
    fn is_doubtful(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> bool {
        let StepKind::ReceivedDatagram { datagram, .. } = kind else { return false };
        let Some(from) = look.member_of(by, datagram.head.sender) else { return false };
        let newest = self.newest.entry((by, from)).or_default();
        let is_stale = datagram.head.number <= *newest;
        *newest = datagram.head.number.max(*newest);
        is_stale || matches!(datagram.body, DatagramBody::FinalCheckPassed { .. })
    }
}

impl Observer for ContactIsFirstHand {
    fn name(&self) -> &'static str {
        "contact is first-hand and new"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        if !look.truth.follows_pairs() {
            return Ok(());
        }
        let local = look.processes[by].clock.local(look.now);
        match kind {
            StepKind::Event(Event::ViewInstalled(change)) => self.installed(look, by, &change.view),
            StepKind::Event(Event::Paused { .. }) => {
                self.paused.insert(by, local);
            }
            kind => {
                if self.is_doubtful(look, by, kind) {
                    self.due.insert(by);
                }
            }
        }
        Ok(())
    }

    fn handled(&mut self, look: Look<'_>, by: usize, _: usize) -> Result<(), String> {
        let looked = self.looked.entry(by).or_insert(look.now);
        let is_time = look.now.since(*looked) >= look.scenario.member_timeout;
        if !self.due.remove(&by) && !is_time {
            return Ok(());
        }
        *looked = look.now;
        self.judge(look, by)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, first, formed, id, view};
    use super::*;
    use crate::scenario::Fault;

    #[test]
    fn a_silence_that_is_told_shorter_than_it_is_is_seen() {
        let mut world = formed(3);
        let base = view(&world);
        let mut observer = ContactIsFirstHand::default();
        observer.step(world.look(), 0, &StepKind::Event(&first(&base))).unwrap();
        world.inflict(Fault::Crash { host: 2 });
        world.run_for(T / 2);
        assert_eq!(observer.judge(world.look(), 0), Ok(()));
        let error = observer.judge_one(world.look(), 0, &id(&world, 2), T / 4).unwrap_err();
        assert!(error.starts_with("m0 takes m2 for silent for 250ms; it last heard it"), "{error}");
    }
}
