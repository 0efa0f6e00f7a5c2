//! The member's side of fencing: a vote that one has not heard a suspect for R and will not echo it any more.
//!
//! A member counts itself connected for T after it sent what somebody echoed. A granter that last echoed the suspect
//! R ago therefore can't be among those by whom the suspect still counts itself connected.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::health::contacts::{Contact, Contacts};
use crate::member::MemberId;
use crate::message::{CheckId, FenceTarget, FrameBody};
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::time::Timestamp;
use crate::view::View;

#[derive(Clone, Debug)]
struct Hold {
    asker: MemberId,
    check: CheckId,
    /// When the asker's final check began, on this clock.
    began: Timestamp,
    granted_at: Option<Timestamp>,
    told_heard: bool,
}

/// The fences asked of this member in its installed view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fences {
    holds: BTreeMap<MemberId, Hold>,
}

/// What a fence is asked for and by whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FenceQuestion<'a> {
    pub(crate) asker: MemberId,
    pub(crate) me: MemberId,
    pub(crate) targets: &'a [FenceTarget],
}

impl Fences {
    /// Answers a request in the installed view: granted, not yet, or heard, per member.
    //= docs/protocol.md#vw-20
    pub(crate) fn handle_fence(
        &mut self,
        now: Timestamp,
        view: &View,
        contacts: &mut Contacts,
        question: FenceQuestion<'_>,
        out: &mut Outbox,
    ) {
        let FenceQuestion { asker, me, targets } = question;
        for target in targets {
            let (member, check) = (target.member, target.check);
            if member == me {
                out.frame(asker, FrameBody::Heard { base: view.id(), member, check });
                continue;
            }
            if !view.contains(&member) {
                continue;
            }
            let hold = self.holds.entry(member).or_insert(Hold {
                asker,
                check,
                began: now - target.age,
                granted_at: None,
                told_heard: false,
            });
            if hold.asker != asker || hold.check != check {
                hold.asker = asker;
                hold.check = check;
                hold.began = now - target.age;
                hold.told_heard = false;
            }
            self.answer(now, view, contacts, member, out);
        }
    }

    /// Ends a hold that is not granted when its member is heard; says so if the contact is newer than the check.
    pub(crate) fn handle_contact(
        &mut self,
        view: &View,
        contacts: &mut Contacts,
        contact: &Contact,
        out: &mut Outbox,
    ) {
        if !contact.counts {
            return;
        }
        let Some(hold) = self.holds.get_mut(&contact.from) else { return };
        let newer = contact.sent_after.is_some_and(|sent| sent > hold.began);
        if newer && !hold.told_heard && !planted::is(Planted::HeardUntold) {
            hold.told_heard = true;
            let (member, check) = (contact.from, hold.check);
            out.frame(hold.asker, FrameBody::Heard { base: view.id(), member, check });
        }
        if hold.granted_at.is_some() && !planted::is(Planted::FenceTakenBack) {
            return;
        }
        contacts.at_mut(contact.place).withhold_echo(false);
        if newer {
            self.holds.remove(&contact.from);
        }
    }

    /// Grants what can be granted by time alone.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Timestamp,
        view: &View,
        contacts: &mut Contacts,
        out: &mut Outbox,
    ) {
        let due: Vec<MemberId> = self
            .holds
            .iter()
            .filter(|(id, hold)| hold.granted_at.is_none() && grantable_at(view, contacts, id) <= now)
            .map(|(id, _)| *id)
            .collect();
        for member in due {
            self.answer(now, view, contacts, member, out);
        }
    }

    /// When the next fence can be granted by time alone.
    pub(crate) fn poll_timeout(&self, view: &View, contacts: &Contacts) -> Option<Timestamp> {
        let open = self.holds.iter().filter(|(_, hold)| hold.granted_at.is_none());
        open.map(|(id, _)| grantable_at(view, contacts, id)).min()
    }

    /// Lifts all fences: a newer view is installed, or none of this one counts any more.
    //= docs/protocol.md#vw-21
    pub(crate) fn lift_all(&mut self, contacts: &mut Contacts) {
        for id in std::mem::take(&mut self.holds).into_keys() {
            if let Some(record) = contacts.get_mut(&id) {
                record.withhold_echo(false);
            }
        }
    }

    /// When the oldest fence still in force was granted.
    pub(crate) fn oldest_grant(&self) -> Option<Timestamp> {
        self.holds.values().filter_map(|hold| hold.granted_at).min()
    }

    /// Whether nothing was asked in this view.
    pub(crate) fn is_empty(&self) -> bool {
        self.holds.is_empty()
    }

    fn answer(
        &mut self,
        now: Timestamp,
        view: &View,
        contacts: &mut Contacts,
        member: MemberId,
        out: &mut Outbox,
    ) {
        let silence_needed = view.timing().removal_silence();
        let grantable = grantable_at(view, contacts, &member);
        let (Some(hold), Some(record)) = (self.holds.get_mut(&member), contacts.get_mut(&member)) else {
            return;
        };
        let (base, check) = (view.id(), hold.check);
        let is_heard = record.is_proved_after(hold.began) && !planted::is(Planted::HeardUntold);
        if hold.granted_at.is_none() && is_heard {
            hold.told_heard = true;
            out.frame(hold.asker, FrameBody::Heard { base, member, check });
            let hold = self.holds.remove(&member).expect("looked up above");
            debug_assert!(hold.granted_at.is_none());
            record.withhold_echo(false);
            return;
        }
        if record.silence(now) >= silence_needed && !planted::is(Planted::NoHold) {
            record.withhold_echo(true);
        }
        if hold.granted_at.is_some() || grantable <= now {
            hold.granted_at.get_or_insert(now);
            record.withhold_echo(true);
            out.frame(hold.asker, FrameBody::Fenced { base, member, check });
        } else {
            let left = grantable.since(now);
            out.frame(hold.asker, FrameBody::NotYet { base, member, check, left });
        }
    }
}

/// When `id` has been silent for R, and what was ever echoed to it is R old.
fn grantable_at(view: &View, contacts: &Contacts, id: &MemberId) -> Timestamp {
    let is_early = planted::is(Planted::FenceBeforeR);
    let needed: Duration =
        if is_early { view.timing().heartbeat_interval } else { view.timing().removal_silence() };
    contacts.get(id).map_or(Timestamp::FAR_FUTURE, |record| {
        let silent = record.last_contact() + needed;
        let echoed = record.newest_echoed().filter(|_| !planted::is(Planted::EchoNotWaitedFor));
        echoed.map_or(silent, |echoed| silent.max(echoed + needed))
    })
}

#[cfg(test)]
mod tests;
