//! Every removal has its evidence: who checked, why, the verdict, and what the verdict asks for (p-6, fd-21, fd-22, vw-6, lv-3).

use gms_core::event::{Removed, ViewChange};
use gms_core::evidence::{Evidence, FENCES_MAX, Finding, ProbeOutcome, Reason, Verdict};
use gms_core::runtime::StepKind;
use gms_core::{Event, MemberId, View, hubs, quorum};

use crate::world::{Look, Observer};

use super::views::Views;

/// Remembers the bases, to weigh fences.
#[derive(Debug, Default)]
pub(crate) struct RemovalsExplained {
    views: Views,
}

impl RemovalsExplained {
    fn judge(look: Look<'_>, base: &View, change: &ViewChange, removed: &Removed) -> Result<(), String> {
        let evidence = &*removed.evidence;
        let subject = removed.member.id;
        let checker = look.process_of(&evidence.checker);
        if checker.is_none() || evidence.checker == subject {
            return Err(String::from("nobody else checked it"));
        }
        match evidence.verdict {
            Verdict::Alive => Err(String::from("the verdict is alive")),
            Verdict::Gone => is_proven(base, &subject, evidence),
            Verdict::Silent => Self::is_silent(base, change, &subject, evidence),
        }
    }

    fn is_silent(
        base: &View,
        change: &ViewChange,
        subject: &MemberId,
        evidence: &Evidence,
    ) -> Result<(), String> {
        let needed = base.timing().removal_silence();
        if evidence.silent_for < needed {
            return Err(format!("the checker had not heard it for {:?} only", evidence.silent_for));
        }
        if hubs::borrows(base, subject) {
            // Hubs alone are asked, and those that are lost themselves may be missing.
            let all_go = hubs::first_in_office(base).all(|hub| !change.view.contains(&hub.id));
            let strange = evidence.fenced_by.iter().find(|id| !hubs::is_hub(base, id));
            return match strange {
                Some(id) => Err(format!("{} voted for it and is no hub", base.name_of(id))),
                None if evidence.fenced_by.is_empty() && !all_go => Err(String::from("no hub voted for it")),
                None => Ok(()),
            };
        }
        let granted = |id: &MemberId| id != subject && evidence.fenced_by.contains(id);
        let weight = quorum::weight_of(base, granted);
        // The record names no more members than it may: beyond that it can't be weighed.
        if evidence.fenced_by.len() < FENCES_MAX && !quorum::is_majority(weight, base.weight()) {
            return Err(format!("members weighing {weight} of {} voted for it", base.weight()));
        }
        Ok(())
    }
}

/// Whether two were refused, or another incarnation was met.
fn is_proven(base: &View, subject: &MemberId, evidence: &Evidence) -> Result<(), String> {
    let is_other = |id: &MemberId| id != subject;
    let met = match evidence.probe {
        Some(ProbeOutcome::Other(id)) => is_other(&id),
        Some(ProbeOutcome::Elsewhere) => true,
        _ => false,
    };
    let saw_it_gone = |reason| matches!(reason, Reason::Replaced | Reason::Refused);
    let accused = evidence.accusations.iter().any(|a| a.by != evidence.checker && saw_it_gone(a.reason));
    let second = evidence.verifiers.iter().any(|report| match report.finding {
        Some(Finding::Refused) => true,
        Some(Finding::Other(id)) => is_other(&id),
        Some(Finding::Alive | Finding::Silent) | None => false,
    });
    let refused = evidence.probe == Some(ProbeOutcome::Refused);
    if met || (refused && (second || accused || base.len() <= 2)) {
        return Ok(());
    }
    Err(format!(
        "the checker's connection brought {:?}, the verifiers {:?}",
        evidence.probe, evidence.verifiers
    ))
}

impl Observer for RemovalsExplained {
    fn name(&self) -> &'static str {
        "every removal has its evidence"
    }

    fn step(&mut self, look: Look<'_>, _: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::Event(Event::ViewInstalled(change)) = kind else { return Ok(()) };
        if !self.views.note(&change.view) {
            return Ok(());
        }
        let Some(base) = self.views.base_of(&change.view) else { return Ok(()) };
        for removed in &change.crashed {
            let named = |why| format!("{} is out of view {}: {why}", removed.member.name, change.view.id());
            Self::judge(look, base, change, removed).map_err(named)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gms_core::evidence::{Accusation, VerifierReport};

    use super::super::testing::{T, evidence, first, formed, id, installed, removal, view};
    use super::*;

    #[test]
    fn a_removal_without_what_its_verdict_asks_for_is_seen() {
        let world = formed(4);
        let base = view(&world);
        let judged = |evidence: Evidence| {
            let mut observer = RemovalsExplained::default();
            observer.step(world.look(), 0, &StepKind::Event(&first(&base))).unwrap();
            let next = installed(&base, &removal(&world, evidence));
            observer.step(world.look(), 0, &StepKind::Event(&next)).err()
        };
        let silent = evidence(&world, Verdict::Silent);
        let gone = Evidence { probe: Some(ProbeOutcome::Refused), ..evidence(&world, Verdict::Gone) };
        let second = VerifierReport { by: id(&world, 1), finding: Some(Finding::Refused) };
        assert_eq!(judged(silent.clone()), None);
        assert_eq!(judged(Evidence { verifiers: vec![second], ..gone.clone() }), None);
        let accusation = |by| Accusation {
            by: id(&world, by),
            reason: Reason::Refused,
            silent_for: T / 100,
            age: T / 100,
        };
        assert_eq!(judged(Evidence { accusations: vec![accusation(1)], ..gone.clone() }), None);
        let own = Evidence { accusations: vec![accusation(0)], checker: id(&world, 0), ..gone.clone() };
        assert!(judged(own).is_some(), "the checker's own accusation is no second refusal");
        let why = |evidence| judged(evidence).expect("a violation");
        assert!(why(gone).contains("the verifiers []"));
        assert!(why(evidence(&world, Verdict::Alive)).contains("the verdict is alive"));
        assert!(why(Evidence { silent_for: T, ..silent.clone() }).contains("for 1s only"));
        assert!(why(Evidence { fenced_by: vec![id(&world, 0)], ..silent.clone() }).contains("voted for it"));
        assert!(why(Evidence { checker: id(&world, 3), ..silent }).contains("nobody else checked it"));
    }
}
