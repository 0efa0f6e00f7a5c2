//! A verdict `gone` is pronounced only on a process that is gone, unless a firewall speaks in its host's name (p-3, fd-21).

use std::collections::BTreeSet;

use gms_core::evidence::Verdict;
use gms_core::runtime::StepKind;
use gms_core::{Event, MemberId};

use crate::network::Host;
use crate::scenario::Fault;
use crate::world::{Look, Observer};

/// Remembers the hosts in whose names a firewall ever refused connections.
#[derive(Debug, Default)]
pub(crate) struct GoneIsGone {
    rejecting: BTreeSet<Host>,
}

impl GoneIsGone {
    fn judge(&self, look: Look<'_>, by: usize, subject: &MemberId) -> Result<(), String> {
        let Some(process) = look.process_of(subject).map(|index| &look.processes[index]) else {
            return Ok(());
        };
        if !process.is_up() || self.rejecting.contains(&process.host()) {
            return Ok(());
        }
        // Who is a member of another cluster is no member of this one, and never will be.
        let cluster = |index: usize| look.processes[index].view().map(|view| view.cluster());
        let own = look.process_of(subject).and_then(cluster);
        if own.is_some() && own != cluster(by) {
            return Ok(());
        }
        let (name, judge) = (&process.member().name, &look.processes[by].member().name);
        Err(format!("{judge} takes {name} for gone, which is up"))
    }
}

impl Observer for GoneIsGone {
    fn name(&self) -> &'static str {
        "who is taken for gone is gone"
    }

    fn inflicted(&mut self, _: Look<'_>, fault: &Fault) {
        if let Fault::Reject { host, on: true } = fault {
            self.rejecting.insert(*host);
        }
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        match kind {
            StepKind::Event(Event::FinalCheckFailed { member, verdict: Verdict::Gone, .. }) => {
                self.judge(look, by, &member.id)
            }
            StepKind::Event(Event::ViewInstalled(change)) => {
                let mut gone = change.crashed.iter().filter(|r| r.evidence.verdict == Verdict::Gone);
                gone.try_for_each(|removed| self.judge(look, by, &removed.member.id))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{evidence, formed, installed, removal, view};
    use super::*;

    #[test]
    fn the_burial_of_a_living_member_is_seen_unless_a_firewall_lied() {
        let world = formed(3);
        let next = installed(&view(&world), &removal(&world, evidence(&world, Verdict::Gone)));
        let mut observer = GoneIsGone::default();
        let error = observer.step(world.look(), 0, &StepKind::Event(&next)).unwrap_err();
        assert_eq!(error, "m0 takes m2 for gone, which is up");
        observer.inflicted(world.look(), &Fault::Reject { host: 2, on: true });
        assert_eq!(observer.step(world.look(), 0, &StepKind::Event(&next)), Ok(()));
    }
}
