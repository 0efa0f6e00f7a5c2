//! Messages on their way, and which of them can still change anything.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::World;
use crate::membership::model_props::digest_of;
use crate::message::{Ballot, FrameBody, Installation, Refusal};
use crate::testing::id;

/// A message that was sent once and may arrive from then on.
#[derive(Clone, Debug)]
pub(in crate::membership::model_props) struct Envelope {
    pub(in crate::membership::model_props) from: usize,
    pub(in crate::membership::model_props) to: usize,
    pub(in crate::membership::model_props) body: FrameBody,
}

impl Hash for Envelope {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.from, self.to, self.body.name()).hash(state);
        match &self.body {
            FrameBody::Promise { ballot, base, .. } | FrameBody::Accepted { ballot, base } => {
                (ballot, base).hash(state);
            }
            FrameBody::Promised { ballot, base, accepted } => {
                (ballot, base, accepted.as_ref().map(|(b, c)| (b, c.digest()))).hash(state);
            }
            FrameBody::Prepare { ballot, change } => (ballot, change.digest()).hash(state),
            FrameBody::Refused { ballot, base, why: Refusal::Promised(higher) } => {
                (ballot, base, higher).hash(state);
            }
            FrameBody::Refused { ballot, base, why } => (ballot, base, format!("{why:?}")).hash(state),
            FrameBody::Install(Installation::Changes(changes)) => {
                changes.iter().for_each(|d| d.digest.hash(state));
            }
            FrameBody::Installed { view } => view.hash(state),
            other => panic!("nobody sends {}", other.name()),
        }
    }
}

impl World {
    pub(super) fn send(&mut self, envelope: Envelope) {
        let key = digest_of(&envelope);
        if let Err(place) = self.sent.binary_search_by_key(&key, |(k, _)| *k) {
            self.sent.insert(place, (key, Arc::new(envelope)));
        }
    }

    /// Loses what a run leaves out.
    pub(in crate::membership::model_props) fn withhold(&mut self, spreads: bool, refuses: bool) {
        self.sent.retain(|(_, e)| match &e.body {
            FrameBody::Install(_) => spreads,
            FrameBody::Refused { .. } => refuses,
            _ => true,
        });
    }

    /// Drops messages that can change nothing any more, whenever they arrive: what differs only in these is one state.
    pub(super) fn forget_the_useless(&mut self) {
        let mut sent = std::mem::take(&mut self.sent);
        let is_answered = |e: &Envelope, all: &[(u64, Arc<Envelope>)], ballot: Ballot| {
            all.iter().any(|(_, a)| {
                let is_refusal = matches!(&a.body, FrameBody::Refused { ballot: b, .. } if *b == ballot);
                is_refusal && a.from == e.to && a.to == e.from
            })
        };
        let all = sent.clone();
        sent.retain(|(_, e)| {
            let receiver = self.voter(e.to);
            let held = receiver.view.id();
            let wants_refusal =
                |ballot| self.voter(e.from).proposer.is_at(ballot) && !is_answered(e, &all, ballot);
            let promised = |ballot| receiver.acceptor.promised().map(|p| p.cmp(&ballot));
            match &e.body {
                _ if receiver.gone => false,
                FrameBody::Promise { ballot, base, .. } => match promised(*ballot) {
                    _ if *base != held => *base > held,
                    None | Some(Ordering::Less) => true,
                    Some(Ordering::Equal) => false,
                    Some(Ordering::Greater) => wants_refusal(*ballot),
                },
                FrameBody::Prepare { ballot, change } => match promised(*ballot) {
                    _ if change.base != held => change.base > held,
                    Some(Ordering::Greater) => wants_refusal(*ballot),
                    _ => receiver.acceptor.accepted().is_none_or(|a| a.ballot != *ballot),
                },
                FrameBody::Promised { base, .. }
                | FrameBody::Accepted { base, .. }
                | FrameBody::Refused { base, .. } => {
                    let from = id(u8::try_from(e.from).expect("few members"));
                    *base == held && receiver.proposer.awaits(&from, &e.body)
                }
                FrameBody::Install(Installation::Changes(changes)) => {
                    changes.iter().any(|d| d.change.base >= held)
                }
                FrameBody::Installed { view } => {
                    let awaited = receiver.departures.as_ref().is_some_and(|d| d.view().id() == *view);
                    awaited && !receiver.holders.contains(&e.from)
                }
                _ => true,
            }
        });
        self.sent = sent;
    }
}
