//! Who is asked to look for itself during a final check, and what it says.

use fastrand::Rng;

use crate::evidence::{Finding, VerifierReport};
use crate::health::accusations::Accusation;
use crate::hubs;
use crate::member::MemberId;
use crate::message::{CheckId, DatagramBody};
use crate::outbox::Outbox;
use crate::scene::Scene;

/// Most reports that a check keeps, with those of verifiers that were replaced: twice as many as can be configured.
const REPORTS_MAX: usize = 32;

/// The verifiers of one final check.
#[derive(Debug)]
pub(super) struct Verifiers {
    check: CheckId,
    suspect: MemberId,
    reports: Vec<VerifierReport>,
}

impl Verifiers {
    /// Those who are to be asked.
    pub(super) fn new(check: CheckId, suspect: MemberId, chosen: Vec<MemberId>) -> Self {
        let reports = chosen.into_iter().map(|by| VerifierReport { by, finding: None }).collect();
        Self { check, suspect, reports }
    }

    /// Asks those that have not answered.
    pub(super) fn ask(&self, out: &mut Outbox) {
        for report in self.reports.iter().filter(|r| r.finding.is_none()) {
            self.ask_one(report.by, out);
        }
    }

    /// Asks another member, if there is one, in the place of `verifier`, where that has not answered. What it may still say
    /// counts.
    //= docs/protocol.md#fd-19
    pub(super) fn replace(
        &mut self,
        scene: Scene<'_>,
        verifier: &MemberId,
        wanted: &Wanted<'_>,
        rng: &mut Rng,
        out: &mut Outbox,
    ) {
        let is_missed = self.reports.iter().any(|r| r.by == *verifier && r.finding.is_none());
        if !is_missed || self.reports.len() >= REPORTS_MAX {
            return;
        }
        let is_barred = |id: &MemberId| (wanted.is_barred)(id) || self.reports.iter().any(|r| r.by == *id);
        let wanted = Wanted { is_barred: &is_barred, ..*wanted };
        for by in choose(scene, &wanted, 1, rng) {
            self.reports.push(VerifierReport { by, finding: None });
            self.ask_one(by, out);
        }
    }

    /// Takes a verifier's word. Returns whether that is news, or `None` where it was not asked.
    pub(super) fn take(&mut self, by: MemberId, finding: Finding) -> Option<bool> {
        let report = self.reports.iter_mut().find(|r| r.by == by)?;
        let is_news = report.finding != Some(finding);
        // Datagrams overtake each other: that nothing came yet says less than what came.
        if finding != Finding::Silent || report.finding.is_none() {
            report.finding = Some(finding);
        }
        Some(is_news)
    }

    /// Notes what a member says, whether it was asked or not.
    pub(super) fn note(&mut self, by: MemberId, finding: Finding) {
        note_report(&mut self.reports, VerifierReport { by, finding: Some(finding) });
    }

    /// Whether one was refused, or met another incarnation.
    pub(super) fn is_any_refused(&self) -> bool {
        self.reports.iter().any(|report| is_refused(&self.suspect, report))
    }

    /// What they said.
    pub(super) fn reports(&self) -> &[VerifierReport] {
        &self.reports
    }

    fn ask_one(&self, verifier: MemberId, out: &mut Outbox) {
        out.datagram(verifier, DatagramBody::VerifyRequest { check: self.check, suspect: self.suspect });
    }
}

/// Which verifiers are wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Whom they are to look at.
    pub(super) suspect: MemberId,
    /// Who accuses it.
    pub(super) accusations: &'a [Accusation],
    /// Who is not to be asked.
    pub(super) is_barred: &'a dyn Fn(&MemberId) -> bool,
}

/// Able members that get the suspect's heartbeats, in view order, where not everybody does and they are enough.
//= docs/protocol.md#lv-4
fn listeners(
    scene: Scene<'_>,
    suspect: &MemberId,
    wanted: usize,
    is_able: &dyn Fn(&MemberId) -> bool,
) -> Option<Vec<MemberId>> {
    let places = hubs::recipients(scene.view, scene.view.place(suspect)?)?;
    let ids = places.iter().map(|place| scene.view.members()[*place].member.id);
    let able: Vec<MemberId> = ids.filter(|id| !scene.is_me(id) && is_able(id)).collect();
    (able.len() >= wanted).then_some(able)
}

/// Members in contact that are neither suspect nor accuser; where they are too few, as in a view of three, accusers
/// too. In view order, taken from a random place on, so that many checks at once ask many.
//= docs/protocol.md#fd-19
pub(super) fn choose(scene: Scene<'_>, wanted: &Wanted<'_>, count: usize, rng: &mut Rng) -> Vec<MemberId> {
    let is_able = |id: &MemberId| {
        let recent =
            |r: &crate::health::contacts::Record| r.silence(scene.now) <= scene.timing().short_silence();
        *id != wanted.suspect && !(wanted.is_barred)(id) && scene.contacts.get(id).is_some_and(recent)
    };
    let is_accuser = |id: &MemberId| wanted.accusations.iter().any(|a| a.by == *id);
    let able: Vec<MemberId> = listeners(scene, &wanted.suspect, count, &is_able)
        .unwrap_or_else(|| scene.others().map(|m| m.id).filter(is_able).collect());
    let (accusers, mut others): (Vec<_>, Vec<_>) = able.into_iter().partition(is_accuser);
    if others.len() > count {
        let first = rng.usize(..others.len());
        others.rotate_left(first);
        others.truncate(count);
    }
    let missing = count - others.len();
    others.extend(accusers.into_iter().take(missing));
    others
}

/// Whether a verifier was refused, or met another incarnation.
fn is_refused(suspect: &MemberId, report: &VerifierReport) -> bool {
    match report.finding {
        Some(Finding::Refused) => true,
        Some(Finding::Other(other)) => other != *suspect && other != report.by,
        Some(Finding::Alive | Finding::Silent) | None => false,
    }
}

/// Puts a report in, in place of an earlier one of the same member.
pub(super) fn note_report(reports: &mut Vec<VerifierReport>, report: VerifierReport) {
    match reports.iter_mut().find(|r| r.by == report.by) {
        Some(known) => *known = report,
        None => reports.push(report),
    }
}
