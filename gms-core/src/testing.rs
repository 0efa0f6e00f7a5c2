//! Small builders that tests of several modules share.

use std::net::SocketAddr;

use crate::config::{HeartbeatRecipients, Timing};
use crate::health::contacts::Contacts;
use crate::hubs;
use crate::member::{ClusterId, Endpoint, Member, MemberId, Weight};
use crate::message::{Answers, Flags, FrameBody, Head};
use crate::outbox::{Action, Outbox};
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::view::{Change, View};

/// The id of test member `n`: ids of different members differ in their first byte.
pub(crate) fn id(n: u8) -> MemberId {
    let mut bytes = [n; 16];
    bytes[15] = 0xff;
    MemberId::from_bytes(bytes)
}

/// The address of test member `n`.
pub(crate) fn addr(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n + 1], 7790))
}

/// Test member `n`, named `m{n}`.
pub(crate) fn member(n: u8) -> Member {
    Member::new(id(n), format!("m{n}"), Endpoint::single(addr(n)))
}

/// The cluster of all tests.
pub(crate) const CLUSTER: ClusterId = ClusterId::from_bytes([0xcc; 16]);

/// Timing of tests: T = 1 s.
pub(crate) fn timing() -> Timing {
    Timing::from_member_timeout(std::time::Duration::from_secs(1))
}

/// A view of members with these weights: number 1 for one member, 2 for more.
pub(crate) fn view_of_weights(weights: &[u8]) -> View {
    let weighted = |n: usize| {
        let mut m = member(u8::try_from(n).expect("few members"));
        m.weight = Weight::new(weights[n]).expect("a weight in bounds");
        m
    };
    let view = View::founding(CLUSTER, "test".into(), timing(), weighted(0));
    if weights.len() == 1 {
        return view;
    }
    let mut change = Change::empty(&view);
    change.joined = (1..weights.len()).map(weighted).map(Into::into).collect();
    view.apply(&change).expect("distinct joiners")
}

/// A view of `n` members of weight 10.
pub(crate) fn view_of(n: usize) -> View {
    view_of_weights(&vec![10; n])
}

/// A view of `n` members with hubs, whose heartbeats go to `reach` members before them in the ring besides.
pub(crate) fn view_with_hubs(n: u8, reach: u16) -> View {
    view_with(n, |timing| timing.heartbeat_recipients = HeartbeatRecipients::Predecessors(reach))
}

/// A view of `n` members of weight 10 with another timing than the tests' own.
pub(crate) fn view_with(n: u8, set: impl FnOnce(&mut Timing)) -> View {
    let mut timing = timing();
    set(&mut timing);
    let view = View::founding(CLUSTER, "test".into(), timing, member(0));
    let mut change = Change::empty(&view);
    change.joined = (1..n).map(|n| member(n).into()).collect();
    view.apply(&change).expect("distinct joiners")
}

/// The head of a datagram from member `from` to member `to` that shows `view`.
pub(crate) fn head(from: u8, to: u8, view: &View, number: u64) -> Head {
    Head {
        cluster: CLUSTER.tag(),
        sender: id(from).short(),
        recipient: id(to).short(),
        view: view.id(),
        accepted: None,
        flags: Flags::default(),
        number,
        echo: None,
        quorate_for_ms: None,
    }
}

/// What a [`Scene`] borrows from: one member of a view, at a moment that tests move.
pub(crate) struct Stand {
    pub(crate) now: Timestamp,
    pub(crate) me: Member,
    pub(crate) view: View,
    pub(crate) contacts: Contacts,
    pub(crate) coordinator_is_idle: bool,
}

impl Stand {
    /// Member `me` in `view`, which it installed at 0.
    pub(crate) fn new(view: View, me: u8) -> Self {
        let mut contacts = Contacts::default();
        contacts.install(&view, Timestamp::ZERO);
        contacts.expect(hubs::senders(&view, view.place(&id(me)).expect("a member")), Timestamp::ZERO);
        Self { now: Timestamp::ZERO, me: member(me), view, contacts, coordinator_is_idle: false }
    }

    /// The scene at `millis` from the origin.
    pub(crate) fn at(&mut self, millis: u64) -> Scene<'_> {
        self.now = Timestamp::from_millis(millis);
        self.scene()
    }

    /// The scene of the moment.
    pub(crate) fn scene(&self) -> Scene<'_> {
        Scene {
            now: self.now,
            me: &self.me,
            view: &self.view,
            contacts: &self.contacts,
            isolated: false,
            hears_majority: false,
            sick: false,
            leaving: false,
            coordinator_is_idle: self.coordinator_is_idle,
        }
    }

    /// A heartbeat with this number from member `n` is read at `millis`.
    pub(crate) fn hears(&mut self, millis: u64, n: u8, number: u64) {
        let place = self.view.place(&id(n)).expect("a member");
        let head = head(n, 0, &self.view, number);
        self.contacts.handle_datagram(place, &head, Answers::Nothing, Timestamp::from_millis(millis));
    }
}

/// The frames to members that wait in `out`, and nothing else.
pub(crate) fn frames(out: &mut Outbox) -> Vec<(MemberId, FrameBody)> {
    let frame = |action| match action {
        Action::Frame { to, body, .. } => (to, body),
        other => panic!("not a frame to a member: {other:?}"),
    };
    out.drain().into_iter().map(frame).collect()
}

/// `body` to each of `members`.
pub(crate) fn to_each(members: &[u8], body: &FrameBody) -> Vec<(MemberId, FrameBody)> {
    members.iter().map(|n| (id(*n), body.clone())).collect()
}
