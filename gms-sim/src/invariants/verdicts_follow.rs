//! A verdict follows from what the check found: `silent` from a silence of R that no verifier contradicted (fd-20, fd-22).

use std::collections::BTreeMap;

use gms_core::event::Subject;
use gms_core::evidence::{Evidence, Finding, Verdict};
use gms_core::message::{CheckId, DatagramBody};
use gms_core::runtime::StepKind;
use gms_core::{Event, MemberId};

use crate::world::{Look, Observer};

/// Follows what verifiers tell the checkers.
#[derive(Debug, Default)]
pub(crate) struct VerdictsFollow {
    /// Per checker and suspect: the check that asked verifiers last, and whether one of them saw life.
    asked: BTreeMap<(usize, MemberId), (CheckId, bool)>,
}

impl VerdictsFollow {
    fn judge(&self, look: Look<'_>, by: usize, member: &Subject, evidence: &Evidence) -> Result<(), String> {
        let process = &look.processes[by];
        let (me, name) = (&process.member().name, &member.name);
        if evidence.verdict != Verdict::Silent {
            return Ok(());
        }
        if evidence.silent_for < process.timing(look.scenario).removal_silence() {
            return Err(format!("{me} takes {name} for silent after {:?}", evidence.silent_for));
        }
        match self.asked.get(&(by, member.id)) {
            Some((_, true)) => Err(format!("{me} takes {name} for silent, which a verifier saw alive")),
            _ => Ok(()),
        }
    }
}

impl Observer for VerdictsFollow {
    fn name(&self) -> &'static str {
        "a verdict follows from what was found"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        match kind {
            StepKind::SentDatagram { datagram, .. } => {
                if let DatagramBody::VerifyRequest { check, suspect } = &datagram.body {
                    let asked = self.asked.entry((by, *suspect)).or_insert((*check, false));
                    if asked.0 != *check {
                        *asked = (*check, false);
                    }
                }
            }
            StepKind::ReceivedDatagram { datagram, .. } => {
                // A verifier that has left meanwhile is a stranger, whose word is not heard.
                if let DatagramBody::VerifyReply { check, suspect, finding: Finding::Alive } = &datagram.body
                    && look.member_of(by, datagram.head.sender).is_some()
                    && let Some(asked) = self.asked.get_mut(&(by, *suspect)).filter(|a| a.0 == *check)
                {
                    asked.1 = true;
                }
            }
            StepKind::Event(Event::FinalCheckPassed { member, .. }) => {
                self.asked.remove(&(by, member.id));
            }
            StepKind::Event(Event::FinalCheckFailed { member, evidence, .. }) => {
                let judged = self.judge(look, by, member, evidence);
                self.asked.remove(&(by, member.id));
                return judged;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, evidence, formed, id};
    use super::*;

    #[test]
    fn a_verdict_too_early_or_against_a_verifiers_word_is_seen() {
        let world = formed(3);
        let member = Subject::from(world.processes()[2].member());
        let silent = evidence(&world, Verdict::Silent);
        let mut observer = VerdictsFollow::default();
        assert_eq!(observer.judge(world.look(), 0, &member, &silent), Ok(()));
        let early = Evidence { silent_for: T, ..silent.clone() };
        let error = observer.judge(world.look(), 0, &member, &early).unwrap_err();
        assert_eq!(error, "m0 takes m2 for silent after 1s");
        observer.asked.insert((0, id(&world, 2)), (CheckId(1), true));
        let error = observer.judge(world.look(), 0, &member, &silent).unwrap_err();
        assert!(error.contains("a verifier saw alive"), "{error}");
    }
}
