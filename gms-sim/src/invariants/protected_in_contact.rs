//! Nobody promises a successor what a coordinator in contact is entitled to (vw-7).

use std::collections::BTreeMap;

use gms_core::evidence::Verdict;
use gms_core::message::{FrameBody, Head};
use gms_core::runtime::StepKind;
use gms_core::{Event, MemberId, Timestamp};

use crate::world::{Look, Observer};

/// Follows flags as they are read, and what successors say of those before them.
#[derive(Debug, Default)]
pub(crate) struct ProtectedInContact {
    /// Per receiver and sender: when a message was last read that said that its sender is not entitled. Numbers tell no
    /// order here: they begin anew with each record.
    waived: BTreeMap<(usize, usize), Timestamp>,
    /// Of each asker: the verdicts that it named last.
    verdicts: BTreeMap<usize, Vec<(MemberId, Verdict)>>,
    /// When each process installed its view: in a young one nobody can have been idle for 2 T.
    installed: BTreeMap<usize, Timestamp>,
}

impl ProtectedInContact {
    fn read(&mut self, look: Look<'_>, by: usize, head: &Head) {
        let Some(from) = look.truth.process_of_short(head.sender) else { return };
        if head.flags.isolated || head.flags.paused {
            self.waived.insert((by, from), look.processes[by].clock.local(look.now));
        }
    }

    fn promised(&self, look: Look<'_>, by: usize, asker: usize) -> Result<(), String> {
        let (me, asks) = (look.processes[by].member(), look.processes[asker].member());
        let Some(view) = look.processes[by].view() else { return Ok(()) };
        let (span, local) = (view.timing().removal_silence(), look.processes[by].clock.local(look.now));
        let age = self.installed.get(&by).map(|at| local.since(*at));
        if age.is_none_or(|age| age >= view.timing().member_timeout * 2) {
            return Ok(());
        }
        for m in view.office().take_while(|m| m.id != asks.id).filter(|m| m.id != me.id) {
            let named = self.verdicts.get(&asker).into_iter().flatten();
            // Who is proved gone is looked for by a probe, and who is idle is not named.
            let is_silent = named.clone().any(|(id, verdict)| *id == m.id && *verdict == Verdict::Silent);
            let Some(process) = look.process_of(&m.id).filter(|_| is_silent) else { continue };
            let waived = self.waived.get(&(by, process));
            let heard =
                look.truth.last_heard_local(by, process).filter(|heard| waived.is_none_or(|at| at < heard));
            if let Some(ago) = heard.map(|heard| local.since(heard)).filter(|ago| *ago < span) {
                let (me, asks, name) = (&me.name, &asks.name, &m.name);
                return Err(format!("{me} promised {asks} the office of {name}, which it heard {ago:?} ago"));
            }
        }
        Ok(())
    }
}

impl Observer for ProtectedInContact {
    fn name(&self) -> &'static str {
        "a coordinator in contact keeps its office"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        if !look.truth.follows_pairs() {
            return Ok(());
        }
        match kind {
            StepKind::Event(Event::ViewInstalled(_)) => {
                self.installed.insert(by, look.processes[by].clock.local(look.now));
            }
            StepKind::ReceivedDatagram { datagram, .. } => self.read(look, by, &datagram.head),
            StepKind::ReceivedFrame { frame, .. } => self.read(look, by, &frame.head),
            StepKind::SentFrame { frame, .. } => match &frame.body {
                FrameBody::Promise { verdicts, .. } => {
                    self.verdicts.insert(by, verdicts.clone());
                }
                FrameBody::Promised { .. } => {
                    let asker = look.truth.process_of_short(frame.head.recipient);
                    return asker.map_or(Ok(()), |asker| self.promised(look, by, asker));
                }
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, formed, id, view};
    use super::*;
    use crate::scenario::Fault;

    #[test]
    fn a_promise_against_a_coordinator_that_is_heard_is_seen() {
        let mut world = formed(3);
        let office: Vec<usize> =
            view(&world).office().filter_map(|m| world.look().process_of(&m.id)).collect();
        let mut observer = ProtectedInContact::default();
        let verdict = vec![(id(&world, office[0]), Verdict::Silent)];
        observer.verdicts.insert(office[1], verdict);
        observer.installed.insert(office[2], world.now());
        let error = observer.promised(world.look(), office[2], office[1]).unwrap_err();
        assert!(error.contains("promised"), "{error}");
        world.inflict(Fault::Down { host: world.processes()[office[0]].host() });
        world.run_for(T * 5 / 4);
        assert_eq!(observer.promised(world.look(), office[2], office[1]), Ok(()));
    }
}
