//! A fence says the truth: nothing was heard of the suspect for R, nothing younger was echoed to it, and from then on
//! nothing is (vw-20, vw-21; with them p-5 stands and falls).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gms_core::evidence::Verdict;
use gms_core::member::ClusterTag;
use gms_core::message::{FrameBody, Head};
use gms_core::runtime::StepKind;
use gms_core::view::ViewId;
use gms_core::{Event, MemberId, Timestamp};

use crate::world::{Look, Observer};

/// Echoes carry their age in whole microseconds.
const ROUNDING: Duration = Duration::from_micros(1);
/// Grants remembered: those of bases long past are forgotten.
const GRANTS_MAX: usize = 4_096;

/// Follows what members echo and grant, by their own clocks.
#[derive(Debug, Default)]
pub(crate) struct FencesAreHonest {
    /// Per granter and suspect: when the newest datagram echoed to the suspect was read.
    echoed: BTreeMap<(usize, usize), Timestamp>,
    /// Grants, by base, granter and suspect.
    granted: BTreeSet<(ClusterTag, ViewId, usize, MemberId)>,
    /// Who asked for fences itself: its own grant is not seen.
    asked: BTreeSet<(ClusterTag, ViewId, usize, MemberId)>,
    /// Verdicts that stand, by whose check and on whom: they outlive their view.
    verdicts: BTreeSet<(usize, MemberId)>,
}

impl FencesAreHonest {
    fn said(&mut self, look: Look<'_>, by: usize, head: &Head) -> Result<(), String> {
        let (Some(echo), Some(to)) = (head.echo, look.truth.process_of_short(head.recipient)) else {
            return Ok(());
        };
        let process = &look.processes[by];
        let read_at = process.clock.local(look.now) - Duration::from_micros(u64::from(echo.age_us));
        let newest = self.echoed.entry((by, to)).or_insert(read_at);
        *newest = read_at.max(*newest);
        let subject = look.processes[to].member();
        if self.granted.contains(&(head.cluster, head.view, by, subject.id)) {
            let (me, name) = (&process.member().name, &subject.name);
            return Err(format!(
                "{me} echoed {name}, for whose removal from view {} it had voted",
                head.view
            ));
        }
        Ok(())
    }

    fn granted(
        &mut self,
        look: Look<'_>,
        by: usize,
        vote: (ClusterTag, ViewId, MemberId),
    ) -> Result<(), String> {
        let (cluster, base, subject) = vote;
        let key = (cluster, base, by, subject);
        let is_new = self.granted.insert(key);
        if self.granted.len() > GRANTS_MAX {
            self.granted.pop_first();
        }
        let Some(suspect) = look.process_of(&subject).filter(|_| is_new && !self.asked.contains(&key)) else {
            return Ok(());
        };
        let process = &look.processes[by];
        let needed = process.timing(look.scenario).removal_silence();
        let local = process.clock.local(look.now);
        let (me, name) = (&process.member().name, &look.processes[suspect].member().name);
        if let Some(heard) =
            look.truth.last_heard_local(by, suspect).filter(|heard| local.since(*heard) < needed)
        {
            let age = local.since(heard);
            return Err(format!("{me} voted in view {base} to remove {name}, heard {age:?} before"));
        }
        let echoed = self.echoed.get(&(by, suspect));
        if let Some(read) = echoed.filter(|read| local.since(**read) + ROUNDING < needed) {
            let age = local.since(*read);
            return Err(format!(
                "{me} voted in view {base} to remove {name}, and had echoed what was {age:?} old"
            ));
        }
        Ok(())
    }
}

impl Observer for FencesAreHonest {
    fn name(&self) -> &'static str {
        "fences are honest"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        if !look.truth.follows_pairs() {
            return Ok(());
        }
        match kind {
            // Who holds such a verdict votes for it too; where all others are condemned, nothing of that is seen.
            StepKind::Event(Event::FinalCheckFailed { member, verdict: Verdict::Silent, .. }) => {
                self.verdicts.insert((by, member.id));
                if let Some(view) = look.processes[by].view() {
                    self.asked.insert((view.cluster().tag(), view.id(), by, member.id));
                }
                Ok(())
            }
            StepKind::Event(Event::FinalCheckPassed { member, .. } | Event::MemberCleared { member, .. }) => {
                self.verdicts.remove(&(by, member.id));
                Ok(())
            }
            StepKind::Event(Event::ViewInstalled(change)) => {
                let view = &change.view;
                self.verdicts.retain(|(of, id)| *of != by || view.contains(id));
                let own = self.verdicts.iter().filter(|(of, _)| *of == by);
                self.asked.extend(own.map(|(_, id)| (view.cluster().tag(), view.id(), by, *id)));
                Ok(())
            }
            StepKind::SentDatagram { datagram, .. } => self.said(look, by, &datagram.head),
            StepKind::SentFrame { frame, .. } => {
                let cluster = frame.head.cluster;
                match &frame.body {
                    FrameBody::Fenced { base, member, .. } => {
                        self.granted(look, by, (cluster, *base, *member))?
                    }
                    FrameBody::Fence { base, members, .. } => {
                        self.asked.extend(members.iter().map(|target| (cluster, *base, by, target.member)));
                        if self.asked.len() > GRANTS_MAX {
                            self.asked.pop_first();
                        }
                    }
                    _ => {}
                }
                self.said(look, by, &frame.head)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use gms_core::member::ShortId;
    use gms_core::message::{Echo, Flags};

    use super::super::testing::{T, formed, id, view};
    use super::*;
    use crate::scenario::Fault;

    fn head(cluster: ClusterTag, view: ViewId, recipient: ShortId) -> Head {
        Head {
            cluster,
            sender: ShortId::default(),
            recipient,
            view,
            accepted: None,
            flags: Flags::default(),
            number: 1,
            quorate_for_ms: None,
            echo: Some(Echo { number: 1, age_us: 0 }),
        }
    }

    #[test]
    fn a_vote_against_one_that_was_just_heard_is_seen() {
        let mut world = formed(3);
        let base = view(&world);
        let vote = (base.cluster().tag(), base.id(), id(&world, 2));
        let error = FencesAreHonest::default().granted(world.look(), 1, vote).unwrap_err();
        assert!(error.contains("to remove m2, heard"), "{error}");
        world.inflict(Fault::Down { host: 2 });
        world.run_for(T * 13 / 10);
        assert_eq!(FencesAreHonest::default().granted(world.look(), 1, vote), Ok(()));
    }

    #[test]
    fn an_echo_before_or_after_the_vote_is_seen() {
        let mut world = formed(3);
        let base = view(&world);
        let vote = (base.cluster().tag(), base.id(), id(&world, 2));
        let echo = head(base.cluster().tag(), base.id(), id(&world, 2).short());
        world.inflict(Fault::Down { host: 2 });
        world.run_for(T * 13 / 10);
        let mut observer = FencesAreHonest::default();
        observer.said(world.look(), 1, &echo).unwrap();
        let error = observer.granted(world.look(), 1, vote).unwrap_err();
        assert!(error.contains("had echoed what was"), "{error}");
        let mut observer = FencesAreHonest::default();
        observer.granted(world.look(), 1, vote).unwrap();
        let error = observer.said(world.look(), 1, &echo).unwrap_err();
        assert!(error.contains("it had voted"), "{error}");
    }
}
