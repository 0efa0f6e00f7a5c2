//! One record a member: when it was last heard, what it last showed, and what it has heard of us.
//!
//! All clocks about one member stand in one record, because the delicate rules compare them: the last contact moved by
//! own pauses (watching), the same unmoved (promises, quorum), the newest datagram received (replays, echoes), the
//! newest ever echoed (fences), and when we sent what it echoes (isolation).

mod exchange;
mod links;
mod record;

pub(crate) use exchange::Shown;
pub(crate) use record::{Contact, Record};

use std::sync::Arc;
use std::time::Duration;

use crate::member::{MemberId, ShortId};
use crate::message::{Answers, Echo, Head};
use crate::time::Timestamp;
use crate::view::{Index, View};

/// The records of the installed view's members, in view order; the own record stands at its place, unused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contacts {
    records: Vec<Record>,
    /// That of the view: looked at for every message.
    index: Arc<Index>,
    /// Places of those who send their heartbeats here; `None` for everybody.
    expected: Option<Vec<usize>>,
}

impl Contacts {
    /// Takes over the records of members that stay and begins new ones for those that joined.
    //= docs/protocol.md#fd-5
    pub(crate) fn install(&mut self, view: &View, now: Timestamp) {
        let mut old = std::mem::take(self);
        let mut record = |id: MemberId| old.get_mut(&id).map_or_else(|| Record::new(id, now), Record::take);
        self.records = view.members().iter().map(|m| record(m.member.id)).collect();
        self.index = Arc::clone(view.index());
        self.expected = None;
    }

    /// Takes the index of an equal copy of the view in place of its own.
    pub(crate) fn share_index(&mut self, view: &View) {
        self.index = Arc::clone(view.index());
    }

    /// Notes whose heartbeats come here: of those at `places`, or everybody's. Returns who begins to send them.
    //= docs/protocol.md#lv-4
    pub(crate) fn expect(&mut self, places: Option<Vec<usize>>, now: Timestamp) -> Vec<MemberId> {
        let mut begin = Vec::new();
        for (place, record) in self.records.iter_mut().enumerate() {
            let is_expected = places.as_ref().is_none_or(|places| places.binary_search(&place).is_ok());
            if record.expect(is_expected, now) {
                begin.push(record.id());
            }
        }
        self.expected = places;
        begin
    }

    /// Place and record of everybody who sends heartbeats here, in view order.
    pub(crate) fn expected(&self) -> impl Iterator<Item = (usize, &Record)> {
        let few = self.expected.as_deref();
        let all = if few.is_none() { 0..self.records.len() } else { 0..0 };
        few.unwrap_or_default().iter().copied().chain(all).map(|place| (place, &self.records[place]))
    }

    /// The place of the member with this short id.
    pub(crate) fn place_of(&self, short: ShortId) -> Option<usize> {
        self.index.place(short)
    }

    /// The record of `id`.
    pub(crate) fn get(&self, id: &MemberId) -> Option<&Record> {
        self.place_of(id.short()).map(|place| &self.records[place]).filter(|r| r.id() == *id)
    }

    /// The record of `id`, which is likely to stand at `place`: it does in the installed view, and often in the next.
    pub(crate) fn get_near(&self, place: usize, id: &MemberId) -> Option<&Record> {
        self.records.get(place).filter(|record| record.id() == *id).or_else(|| self.get(id))
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
