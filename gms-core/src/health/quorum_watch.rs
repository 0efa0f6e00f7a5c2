//! Whether the majority is in contact, and for how long it has not been.

use std::time::Duration;

use crate::event::QuorumReport;
use crate::health::contacts::Record;
use crate::hubs;
use crate::member::{Member, MemberId};
use crate::quorum;
use crate::scene::Scene;
use crate::time::Timestamp;

/// A change of state to report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum QuorumChange {
    /// The majority can't be reached.
    Lost(QuorumReport),
    /// The majority is reached again.
    Regained(QuorumReport),
}

/// Follows the weight in contact.
#[derive(Debug, Default)]
pub(crate) struct QuorumWatch {
    lost_since: Option<Timestamp>,
}

impl QuorumWatch {
    /// Looks again. `stuck` names the members that have not voted, where this member has tried to decide for R.
    //= docs/protocol.md#vw-16
    pub(crate) fn update(&mut self, scene: Scene<'_>, stuck: Option<&[MemberId]>) -> Option<QuorumChange> {
        if stuck.is_none() && self.lost_since.is_none() && has_hub(scene) {
            return None;
        }
        let report = stuck.map_or_else(|| report(scene), |missing| report_without(scene, missing));
        let lost = stuck.is_some() || !quorum::is_majority(report.weight_reachable, report.weight_total);
        match (lost, self.lost_since) {
            (true, None) => {
                self.lost_since = Some(scene.now);
                Some(QuorumChange::Lost(report))
            }
            (false, Some(_)) => {
                self.lost_since = None;
                Some(QuorumChange::Regained(report))
            }
            (true, Some(_)) | (false, None) => None,
        }
    }

    /// Whether the majority is lost.
    pub(crate) const fn is_lost(&self) -> bool {
        self.lost_since.is_some()
    }

    /// Whether it has been lost for `span`.
    pub(crate) fn is_lost_for(&self, now: Timestamp, span: Duration) -> bool {
        self.lost_since.is_some_and(|since| now.since(since) >= span)
    }
}

/// Whether anything was read within `span` from members that make a majority with this one.
pub(crate) fn hears_majority(scene: Scene<'_>, span: Duration) -> bool {
    let is_heard = |record: Option<&Record>| record.is_some_and(|r| r.is_heard(scene.now, span));
    let heard = with_records(scene).filter(|(_, m, record)| scene.is_me(&m.id) || is_heard(*record));
    let weight = heard.map(|(place, m, _)| quorum::counted(place, m.weight)).sum();
    quorum::is_majority(weight, scene.view.weight())
}

/// Place, member and record of everybody: once a heartbeat interval for each member, so nothing is searched for.
fn with_records<'a>(scene: Scene<'a>) -> impl Iterator<Item = (usize, &'a Member, Option<&'a Record>)> {
    let members = scene.view.members().iter().map(|m| &*m.member).enumerate();
    members.map(move |(place, member)| (place, member, scene.contacts.get_near(place, &member.id)))
}

/// The weight in contact within R, own included. Where this member hears few, a hub in contact speaks for all the others.
//= docs/protocol.md#vw-16
//= docs/protocol.md#lv-4
pub(crate) fn report(scene: Scene<'_>) -> QuorumReport {
    if hubs::borrows(scene.view, &scene.me.id) {
        let few = scene.contacts.expected().filter(|(_, r)| !scene.is_me(&r.id()));
        let (heard, silent): (Vec<_>, Vec<_>) =
            few.map(|(_, r)| r.id()).partition(|id| is_in_contact(scene, id));
        let mut report = report_without(scene, &silent);
        if has_hub(scene) {
            // It has a majority, or it would be isolated and this no contact.
            report.weight_reachable = report.weight_reachable.max(report.weight_needed);
        } else {
            report.weight_reachable =
                quorum::weight_of(scene.view, |id| scene.is_me(id) || heard.contains(id));
        }
        return report;
    }
    let span = scene.timing().removal_silence();
    let is_silent = |record: Option<&Record>| !record.is_some_and(|r| r.is_in_contact(scene.now, span));
    let silent = with_records(scene).filter(|(_, m, record)| !scene.is_me(&m.id) && is_silent(*record));
    let silent: Vec<MemberId> = silent.map(|(_, m, _)| m.id).collect();
    report_without(scene, &silent)
}

/// Whether this member counts by the hubs and one of them is in contact.
fn has_hub(scene: Scene<'_>) -> bool {
    hubs::borrows(scene.view, &scene.me.id)
        && hubs::first_in_office(scene.view).any(|hub| is_in_contact(scene, &hub.id))
}

fn is_in_contact(scene: Scene<'_>, id: &MemberId) -> bool {
    let span = scene.timing().removal_silence();
    scene.contacts.get(id).is_some_and(|r| r.is_in_contact(scene.now, span))
}

fn report_without(scene: Scene<'_>, missing: &[MemberId]) -> QuorumReport {
    let total = scene.view.weight();
    QuorumReport {
        weight_reachable: quorum::weight_of(scene.view, |m| !missing.contains(m)),
        weight_needed: quorum::needed(total),
        weight_total: total,
        unreachable: missing.iter().map(|id| scene.view.name_of(id)).collect(),
    }
}

#[cfg(test)]
mod tests;
