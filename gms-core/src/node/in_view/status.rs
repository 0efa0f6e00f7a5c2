//! A member's account of itself.

use crate::event::{MemberRow, MemberStatus, State, Status};
use crate::health::quorum_watch;
use crate::member::Member;
use crate::ring;
use crate::time::Timestamp;

use super::{InView, scene};

impl InView {
    /// Where the member stands.
    pub(in crate::node) fn state(&self, now: Timestamp) -> State {
        if self.requests.leaving_since().is_some() {
            State::Leaving
        } else if self.quorum.is_lost() {
            State::NoQuorum
        } else if self.isolation.is_connected(now) {
            State::Member
        } else {
            State::Isolated
        }
    }

    /// The whole account.
    pub(in crate::node) fn status(&self, now: Timestamp) -> Status {
        let members = self.view.members();
        let names: Vec<&str> = members.iter().map(|m| m.member.name.as_str()).collect();
        let is_suspect = |place: usize| self.health.is_suspect(&members[place].member.id);
        let rows = members.iter().enumerate().map(|(place, m)| {
            let is_me = m.member.id == self.me.id;
            let record = self.contacts.at(place);
            let link = record.link();
            MemberRow {
                member: Member::clone(&m.member),
                joined_in: m.joined_in,
                status: if is_me { MemberStatus::Alive } else { self.health.status_of(&m.member.id) },
                silent_for: if is_me { std::time::Duration::ZERO } else { record.silence(now) },
                watched_by: ring::watcher(members.len(), place, is_suspect).map(|p| names[p].to_owned()),
                rtt: link.rtt(),
                loss_in: link.loss_in(),
                loss_out: link.loss_out(),
            }
        });
        let until = self.connected_until();
        Status {
            me: self.me.clone(),
            state: self.state(now),
            view: Some(std::sync::Arc::clone(&self.view)),
            quorum: quorum_watch::report(scene!(self, now)),
            connected_until: until,
            connected_for: until.since(now),
            timing: self.view.timing().clone(),
            members: rows.collect(),
        }
    }
}
