//! One record a member: when it was last heard, what it last showed, and what it has heard of us.
//!
//! All clocks about one member stand in one record, because the delicate rules compare them: the last contact moved by
//! own pauses (watching), the same unmoved (promises, quorum), the newest datagram received (replays, echoes), the
//! newest ever echoed (fences), and when we sent what it echoes (isolation).

mod links;
mod record;

pub(crate) use record::{Contact, Record, Shown};

use std::time::Duration;

use crate::member::{MemberId, ShortId};
use crate::message::{Answers, Echo, Head};
use crate::time::Timestamp;
use crate::view::View;

/// The records of the installed view's members, in view order; the own record stands at its place, unused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contacts {
    records: Vec<Record>,
    /// Place by short id, sorted: looked up for every message.
    index: Vec<(ShortId, usize)>,
}

impl Contacts {
    /// Takes over the records of members that stay and begins new ones for those that joined.
    //= docs/protocol.md#fd-5
    pub(crate) fn install(&mut self, view: &View, now: Timestamp) {
        let mut old = std::mem::take(&mut self.records);
        self.records = view
            .members()
            .iter()
            .map(|m| match old.iter().position(|r| r.id() == m.member.id) {
                Some(found) => old.swap_remove(found),
                None => Record::new(m.member.id, now),
            })
            .collect();
        self.index = self.records.iter().enumerate().map(|(place, r)| (r.id().short(), place)).collect();
        self.index.sort_unstable();
    }

    /// The place of the member with this short id.
    pub(crate) fn place_of(&self, short: ShortId) -> Option<usize> {
        self.index.binary_search_by_key(&short, |(s, _)| *s).ok().map(|found| self.index[found].1)
    }

    /// The record of `id`.
    pub(crate) fn get(&self, id: &MemberId) -> Option<&Record> {
        self.place_of(id.short()).map(|place| &self.records[place]).filter(|r| r.id() == *id)
    }

    /// The record of `id`, to be changed.
    pub(crate) fn get_mut(&mut self, id: &MemberId) -> Option<&mut Record> {
        let place = self.place_of(id.short())?;
        Some(&mut self.records[place]).filter(|r| r.id() == *id)
    }

    /// The record at `place`.
    pub(crate) fn at(&self, place: usize) -> &Record {
        &self.records[place]
    }

    /// The record at `place`, to be changed.
    pub(crate) fn at_mut(&mut self, place: usize) -> &mut Record {
        &mut self.records[place]
    }

    /// All records, in view order.
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Takes a datagram's head from the member at `place` into account.
    pub(crate) fn handle_datagram(
        &mut self,
        place: usize,
        head: &Head,
        answers: Answers,
        received_at: Timestamp,
    ) -> Contact {
        self.records[place].handle_datagram(place, head, answers, received_at)
    }

    /// Takes a frame's head from the member at `place` into account.
    pub(crate) fn handle_frame(&mut self, place: usize, head: &Head, received_at: Timestamp) -> Contact {
        self.records[place].handle_frame(place, head, received_at)
    }

    /// Moves every last contact by a pause of this process, at most to `now`.
    //= docs/protocol.md#fd-26
    pub(crate) fn handle_pause(&mut self, now: Timestamp, pause: Duration) {
        for record in &mut self.records {
            record.move_by(now, pause);
        }
    }

    /// The echo for the member at `place`, and the note that it was given.
    pub(crate) fn take_echo(&mut self, place: usize, now: Timestamp) -> Option<Echo> {
        self.records[place].take_echo(now)
    }
}

#[cfg(test)]
mod tests;
