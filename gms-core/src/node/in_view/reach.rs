//! What a view's size decides: whom heartbeats reach, whose reach this member, and who gives a joiner the view.

use crate::hubs;
use crate::member::{Member, MemberId};
use crate::message::{FrameBody, Installation};
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::time::Timestamp;
use crate::view::View;

use super::{InView, scene};

/// This member's part in the installed view's heartbeats, worked out when that was installed.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Places of the recipients; `None` for everybody.
    recipients: Option<Vec<usize>>,
    /// Whether it is a hub, and says for how long it is quorate.
    lends: bool,
    /// Whether it counts itself connected by the hubs.
    pub(super) borrows: bool,
}

impl InView {
    /// Works out the reach in the view just installed. Returns who begins to send heartbeats here.
    //= docs/protocol.md#lv-1
    pub(super) fn settle_reach(&mut self, now: Timestamp) -> Vec<MemberId> {
        let me = self.view.place(&self.me.id).expect("a member installs only views that contain it");
        let recipients = hubs::recipients(&self.view, me);
        let borrows = recipients.is_some();
        let lends = !borrows && hubs::is_hub(&self.view, &self.me.id);
        self.reach = Reach { recipients, lends, borrows };
        let senders = if self.is_without_hubs() { None } else { hubs::senders(&self.view, me) };
        self.contacts.expect(senders, now)
    }

    /// A new hub's one question to each of those who begin to send it heartbeats: their answers are echoes, and a question
    /// shows the view to those who have missed it.
    //= docs/protocol.md#lv-4
    pub(super) fn ask_new_senders(&mut self, now: Timestamp, senders: &[MemberId], out: &mut Outbox) {
        if self.reach.lends {
            self.health.ask_once(scene!(self, now), senders, out);
        }
    }

    /// Contact by the hubs lapsed, or is back. Without hubs a member sends its heartbeats to ever more of those next in
    /// office, so that one of them hears a majority and can have the hubs removed; and each of these gets everybody's.
    //= docs/protocol.md#lv-1
    pub(super) fn handle_hubs_lost_or_back(&mut self, now: Timestamp) {
        let me = self.view.place(&self.me.id).expect("a member installs only views that contain it");
        let senders = if self.is_without_hubs() { None } else { hubs::senders(&self.view, me) };
        self.contacts.expect(senders, now);
        self.heartbeat_at = now;
    }

    /// Places of those who get heartbeats at `now`; `None` for everybody.
    pub(in crate::node) fn recipients(&self, now: Timestamp) -> Option<Vec<usize>> {
        let mut places = self.reach.recipients.clone()?;
        let lapsed = self.isolation.lapsed_since();
        if let Some(since) = lapsed.filter(|_| !planted::is(Planted::HublessReachNoFurther)) {
            let lasted = now.since(since).as_nanos() / self.view.timing().removal_silence().as_nanos().max(1);
            let doublings = u32::try_from(lasted).unwrap_or(u32::MAX).saturating_add(1).min(16);
            let next = self.view.office().take(hubs::HUBS << doublings);
            places.extend(next.filter(|m| m.id != self.me.id).filter_map(|m| self.view.place(&m.id)));
            places.sort_unstable();
            places.dedup();
        }
        Some(places)
    }

    /// A hub's word for how long it is quorate, as heads to members carry it.
    //= docs/protocol.md#lv-2
    pub(in crate::node) fn quorate_for_ms(&self, now: Timestamp) -> Option<u32> {
        let left = self.isolation.until().since(now).min(self.view.timing().member_timeout);
        self.reach.lends.then(|| u32::try_from(left.as_millis()).unwrap_or(u32::MAX))
    }

    /// What tells `joiner` that it is in the installed view: the view; or, where that is large and this member in office, who
    /// of those for whom `holds` holds can give it the view, another one each time.
    //= docs/protocol.md#lv-5
    pub(super) fn welcome(
        &mut self,
        joiner: &MemberId,
        holds: impl Fn(&Self, &MemberId) -> bool,
    ) -> FrameBody {
        let members = self.view.members();
        if hubs::spreads_views(&self.view) && self.is_in_office() {
            let is_apt = |id: &MemberId| {
                *id != self.me.id && id != joiner && !self.health.is_suspect(id) && holds(self, id)
            };
            let mut places = (0..members.len()).map(|step| (self.holder_turn + step) % members.len());
            if let Some(place) = places.find(|place| is_apt(&members[*place].member.id)) {
                let Member { id: holder, endpoint, .. } = *members[place].member;
                self.holder_turn = place + 1;
                return FrameBody::Admitted { view: self.view.id(), holder, endpoint };
            }
        }
        FrameBody::Install(Installation::Whole(Box::new(View::clone(&self.view))))
    }

    /// Whether `id` was seen to hold the installed view.
    pub(super) fn has_shown_view(&self, id: &MemberId) -> bool {
        self.contacts.get(id).is_some_and(|record| record.newest_view() >= self.view.id())
    }

    fn is_without_hubs(&self) -> bool {
        self.reach.borrows && self.isolation.lapsed_since().is_some()
    }
}
