//! Who may propose, what, and what follows when a change is decided.

use std::sync::Arc;

use crate::evidence::Verdict;
use crate::member::{Member, MemberId};
use crate::membership::departures::Departures;
use crate::membership::fencing::Silent;
use crate::membership::plan::{self, Agenda, Condemned};
use crate::membership::proposer::{Acting, Votes};
use crate::membership::succession::PromiseQuestion;
use crate::message::{Ballot, Decided, FrameBody, Installation, Refusal};
use crate::outbox::Outbox;
use crate::time::Timestamp;
use crate::view::{Change, View, ViewId};

use super::{End, InView, scene};

impl InView {
    /// Drives fences and the proposer as far as they go at this moment.
    pub(in crate::node) fn advance(&mut self, now: Timestamp, out: &mut Outbox) {
        if self.leaves_by.is_some() || self.is_quiescent() {
            return;
        }
        let acting = self.acting();
        let condemned = self.condemned();
        let silent: Vec<Silent> = match acting {
            Acting::No => Vec::new(),
            Acting::Coordinator | Acting::Successor(_) => self.silent(now, &condemned),
        };
        let scene = scene!(self, now);
        self.fencing.sync(scene, &silent, out);
        self.fencing.handle_timeout(scene, out);
        let admissible = self.admission.admissible(scene);
        let mut condemned = condemned;
        for (member, evidence) in &admissible.replaced {
            // Proof takes the place of a silent verdict, which would wait for fences while the joiner is let in.
            condemned.retain(|c| c.gone || c.member != *member);
            if !condemned.iter().any(|c| c.member == *member) {
                condemned.push(Condemned { member: *member, evidence: Arc::clone(evidence), gone: true });
            }
        }
        let (fencing, history, queue, health) = (&self.fencing, &self.history, &self.queue, &self.health);
        let plan = || {
            let check_ends_before = |limit| health.latest_check_end_before(scene, limit);
            let proof_expected_until = health.proof_expected_until(scene);
            let joiners: &[Arc<Member>] = &admissible.joiners;
            let condemned = &condemned;
            plan::build(
                scene,
                Agenda {
                    queue,
                    condemned,
                    joiners,
                    fencing,
                    history,
                    proof_expected_until,
                    check_ends_before: &check_ends_before,
                },
            )
        };
        let has_accepted = self.acceptor.accepted().is_some();
        let votes = Votes { promised: self.acceptor.promised(), has_accepted };
        if let Some(change) = self.proposer.advance(scene, &acting, votes, &plan, out) {
            self.decide(now, &change, out);
        }
    }

    /// Whether there is nothing that [`InView::advance`] could do: the common case, asked after every datagram.
    fn is_quiescent(&self) -> bool {
        self.proposer.is_idle()
            && self.queue.is_empty()
            && self.health.standings().next().is_none()
            && self.admission.is_empty()
            && self.acceptor.accepted().is_none()
            && self.fencing.is_idle()
    }

    /// Whether this member is first in office, or everyone before it is out of the way.
    //= docs/protocol.md#vw-7
    pub(super) fn acting(&self) -> Acting {
        let Some(place) = self.view.office_place(&self.me.id) else { return Acting::No };
        if place == 0 {
            return Acting::Coordinator;
        }
        let idle = self.coordinator_is_idle;
        let mut verdicts = Vec::new();
        for (at, m) in self.view.office().take(place).enumerate() {
            match self.health.standing(&m.id) {
                Some(standing) => verdicts.push((m.id, standing.verdict)),
                None if at == 0 && idle => {}
                None => return Acting::No,
            }
        }
        Acting::Successor(verdicts)
    }

    /// Whether the coordinator has left a suspicion, a leave, a removal or a half-decided view unanswered for 2 T.
    //= docs/protocol.md#vw-7
    pub(super) fn is_coordinator_idle(&self, now: Timestamp) -> bool {
        let asked = [
            self.requests.unanswered_since(),
            self.health.unanswered_since(),
            self.admission.oldest_unanswered(scene!(self, now)),
        ];
        let asked = asked.into_iter().flatten().min();
        asked.is_some_and(|since| {
            now.since(since.max(self.installed_at)) > self.view.timing().member_timeout * 2
        })
    }

    fn condemned(&self) -> Vec<Condemned> {
        let standings = self.health.standings();
        standings
            .map(|(member, standing)| Condemned {
                member: *member,
                evidence: Arc::clone(&standing.evidence),
                gone: standing.verdict == Verdict::Gone,
            })
            .collect()
    }

    fn silent(&self, now: Timestamp, condemned: &[Condemned]) -> Vec<Silent> {
        let scene = scene!(self, now);
        let silent = condemned.iter().filter(|c| !c.gone && !self.queue.leavers().contains(&c.member));
        silent
            .filter(|c| self.fencing.can_suffice(scene, &c.member))
            .filter_map(|c| {
                let standing = self.health.standing(&c.member)?;
                Some(Silent { member: c.member, check: standing.check, began: standing.began })
            })
            .collect()
    }

    pub(super) fn handle_promise(
        &mut self,
        now: Timestamp,
        asker: MemberId,
        ballot: Ballot,
        verdicts: &[(MemberId, Verdict)],
        out: &mut Outbox,
    ) {
        let place = self.view.office_place(&asker).and_then(|p| u32::try_from(p).ok());
        if place != Some(ballot.place) || ballot.round == 0 {
            return;
        }
        let question = PromiseQuestion {
            asker,
            ballot,
            verdicts,
            i_am_paused: self.pauses.is_paused(now, self.view.timing()),
        };
        self.desk.handle_promise(scene!(self, now), &mut self.acceptor, question, out);
    }

    /// Votes for a change of the installed view.
    //= docs/protocol.md#vw-2
    pub(super) fn handle_prepare(
        &mut self,
        now: Timestamp,
        from: MemberId,
        ballot: Ballot,
        change: Change,
        out: &mut Outbox,
    ) {
        let base = self.view.id();
        let place = self.view.office_place(&from).and_then(|p| u32::try_from(p).ok());
        if place != Some(ballot.place) || (ballot.round == 0 && ballot.place != 0) {
            return;
        }
        let Ok(makes) = self.view.apply(&change) else { return };
        match self.acceptor.accept(now, ballot, &Arc::new(change), &Arc::new(makes)) {
            Ok(()) => {
                //= docs/protocol.md#vw-17
                self.update_isolation(now, out);
                out.frame(from, FrameBody::Accepted { ballot, base });
            }
            Err(higher) => {
                let why = Refusal::Promised(higher);
                out.frame(from, FrameBody::Refused { ballot, base, why });
            }
        }
    }

    /// A change of this member's is decided: install it, tell everybody.
    //= docs/protocol.md#vw-3
    fn decide(&mut self, now: Timestamp, change: &Arc<Change>, out: &mut Outbox) {
        let Ok(next) = self.view.apply(change) else {
            debug_assert!(false, "a change was decided that does not apply to its base");
            return;
        };
        let decided = Decided { change: Change::clone(change), digest: next.digest() };
        let old = Arc::clone(&self.view);
        let next = Arc::new(next);
        let record = |id: &MemberId| old.member(id).cloned();
        let leavers: Vec<Member> =
            change.left.iter().filter(|id| **id != self.me.id).filter_map(record).collect();
        let removed =
            change.crashed.iter().map(|c| &c.member).chain(change.expelled.iter().map(|e| &e.member));
        let removed: Vec<Member> = removed.filter(|id| **id != self.me.id).filter_map(record).collect();
        let departures = Departures::new(Arc::clone(&next), decided.clone(), leavers);
        if next.contains(&self.me.id) {
            self.install(now, Arc::clone(&next), Some(decided.clone()), out);
            self.tell(&old, &next, &decided, out);
            if !change.left.is_empty() {
                self.departures = Some(departures);
                self.handle_installed(self.me.id, next.id(), out);
            }
        } else {
            self.tell(&old, &next, &decided, out);
            self.depart(now, change, departures);
        }
        for member in removed {
            let body = FrameBody::Install(Installation::Changes(vec![decided.clone()]));
            out.frame_to(member.endpoint.check_addr, member.id.short(), body);
        }
    }

    /// Sends the decided change to the members of the view that it makes; joiners get the whole view, or are told who has it.
    fn tell(&mut self, old: &View, next: &View, decided: &Decided, out: &mut Outbox) {
        let me = self.me.id;
        let in_next = next.contains(&me);
        for m in next.members().iter().map(|m| &*m.member).filter(|m| m.id != me) {
            let body = if old.contains(&m.id) {
                FrameBody::Install(Installation::Changes(vec![decided.clone()]))
            } else if in_next {
                self.welcome(&m.id, |_, id| old.contains(id))
            } else {
                FrameBody::Install(Installation::Whole(Box::new(next.clone())))
            };
            if in_next {
                out.frame(m.id, body);
            } else {
                out.frame_to(m.endpoint.check_addr, m.id.short(), body);
            }
        }
    }

    /// This member decided the view without itself: it stays until more than half of that view holds it.
    //= docs/protocol.md#vw-14
    fn depart(&mut self, now: Timestamp, change: &Change, departures: Departures) {
        if change.left.contains(&self.me.id) {
            self.leaves_by =
                Some(self.leave_deadline.unwrap_or_else(|| now + self.view.timing().member_timeout));
            self.departures = Some(departures);
            return;
        }
        let cause = super::install::cause_of(change, &self.me.id);
        self.end = Some(End::Excluded(change.makes(), cause));
    }

    /// A member holds a view that leavers wait for.
    pub(super) fn handle_installed(&mut self, from: MemberId, view: ViewId, out: &mut Outbox) {
        let Some(departures) = self.departures.as_mut().filter(|d| d.view().id() == view) else { return };
        if departures.handle_installed(from, out) {
            self.departures = None;
            if self.leaves_by.is_some() {
                self.end = Some(End::Stop(crate::event::StopReason::Left));
            }
        }
    }
}
