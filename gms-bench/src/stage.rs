//! One real node in a view of members that are played: for measurements of what a member does with heartbeats.

use std::net::SocketAddr;
use std::time::Duration;

use gms_core::config::{Config, HeartbeatRecipients, TimingOverrides};
use gms_core::input::{Command, Input, ReplyHandle};
use gms_core::member::{ClusterId, Endpoint, Member, MemberId};
use gms_core::message::{Answers, Datagram, DatagramBody, Echo, Flags, Frame, FrameBody, Head, Installation};
use gms_core::view::{Change, View};
use gms_core::{Node, Output, Timestamp};

/// The place of the node in its view; the first is the coordinator, and played.
pub const ME: usize = 1;

/// The first number of played heartbeats. From here on a number has five bytes until it passes 2³², so that all of
/// them have one length; it is that of a member which has run for a day.
pub const FIRST_NUMBER: u64 = 86_400;

/// A node and the view that it has.
#[derive(Debug)]
pub struct Stage {
    /// The node. It has whatever reaches it through this, or by hand.
    pub node: Node,
    /// Its view.
    pub view: View,
    /// The largest time that the node has seen.
    pub now: Timestamp,
    /// Numbers of the newest datagrams that it sent, by the receiver's place.
    sent: Vec<u64>,
    addresses: Vec<SocketAddr>,
}

impl Stage {
    /// A node in a view of members at these addresses, its own at place [`ME`], at time `now`. Everybody sends
    /// heartbeats to everybody, however many they are.
    ///
    /// # Panics
    ///
    /// With fewer than three members, or with an address twice.
    pub fn new(addresses: Vec<SocketAddr>, now: Timestamp) -> Self {
        assert!(addresses.len() > 2, "a member watches and is watched");
        let overrides = TimingOverrides {
            heartbeat_recipients: Some(HeartbeatRecipients::All),
            ..TimingOverrides::default()
        };
        let timing = overrides.resolve().expect("the defaults are valid");
        let view = view_of(&addresses, &timing);
        let mut config = Config::new("bench");
        config.has_seeds = true;
        let node = Node::new(config, member(ME, addresses[ME]), 1, now).expect("a valid configuration");
        let mut stage = Self { node, view, now, sent: vec![0; addresses.len()], addresses };
        let seed = stage.addresses[0];
        stage.node.handle_input(now, Input::Command(Command::Seeds(vec![seed])));
        let body = FrameBody::Install(Installation::Whole(Box::new(stage.view.clone())));
        let frame = Frame { head: stage.heartbeat(0, 1).head, body };
        let input = Input::Frame { from: seed, reply: ReplyHandle(1), received_at: now, frame };
        stage.node.handle_input(now, input);
        let mut greeted = Vec::new();
        stage.drain(|to, datagram| greeted.push((to, datagram.head.number)));
        for (to, number) in greeted {
            if let Some(place) = stage.addresses.iter().position(|address| *address == to) {
                stage.note_sent(place, number);
            }
        }
        assert_eq!(
            stage.node.view().map(|view| view.len()),
            Some(stage.addresses.len()),
            "the node has the view"
        );
        stage
    }

    /// Where members are.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Places of all members but the node.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.addresses.len()).filter(|place| *place != ME)
    }

    /// The heartbeat number `number` of the member at a place, which heard what the node sent last.
    pub fn heartbeat(&self, from: usize, number: u64) -> Datagram {
        heartbeat(&self.view, from, number, self.heard_by(from))
    }

    /// Takes all outputs, hands datagrams to `send`, and returns how many they were.
    pub fn drain(&mut self, mut send: impl FnMut(SocketAddr, &Datagram)) -> usize {
        let mut count = 0;
        while let Some(output) = self.node.poll_output() {
            if let Output::Send { to, datagram } = output {
                send(to, &datagram);
                count += 1;
            }
        }
        count
    }

    /// Lets the node send one round of heartbeats, at the time when it is due, and returns how many.
    pub fn round(&mut self, mut send: impl FnMut(SocketAddr, &Datagram)) -> usize {
        let mut count = 0;
        while count == 0
            && let Some((at, _)) = self.node.poll_timeout()
        {
            self.now = self.now.max(at);
            self.node.handle_timeout(self.now);
            count += self.drain(&mut send);
        }
        count
    }

    /// Notes that the node sent this, so that played members can say that they heard it.
    pub fn note_sent(&mut self, place: usize, number: u64) {
        if let Some(sent) = self.sent.get_mut(place) {
            *sent = number;
        }
    }

    /// The number of the newest datagram that the member at this place heard from the node; 0 before the first.
    pub fn heard_by(&self, place: usize) -> u64 {
        self.sent.get(place).copied().unwrap_or(0)
    }

    /// Lets the node receive a datagram a microsecond after the last.
    pub fn receive(&mut self, from: usize, datagram: Datagram) {
        self.now = self.now + Duration::from_micros(1);
        let input = Input::Datagram { from: self.addresses[from], received_at: self.now, datagram };
        self.node.handle_input(self.now, input);
    }

    /// Whether the node has two-way contact to a majority: what it received was recorded.
    pub fn is_connected(&self) -> bool {
        self.node.connected_until() > self.now
    }
}

/// A member that is told from others by its place.
pub fn member(place: usize, address: SocketAddr) -> Member {
    let mut bytes = [0; 16];
    // Spread over all bits, as drawn ids are; the first eight bytes are what messages name members by.
    bytes[..8].copy_from_slice(&(place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    Member::new(MemberId::from_bytes(bytes), format!("m{place}"), Endpoint::single(address))
}

/// A view of members at these addresses.
pub fn view_of(addresses: &[SocketAddr], timing: &gms_core::config::Timing) -> View {
    let founder = member(0, addresses[0]);
    let first = View::founding(ClusterId::from_bytes([9; 16]), "bench".into(), timing.clone(), founder);
    let mut change = Change::empty(&first);
    change.joined = addresses.iter().enumerate().skip(1).map(|(n, at)| member(n, *at).into()).collect();
    first.apply(&change).expect("distinct joiners")
}

/// A heartbeat of the member at place `from` of this view to the node, which says that it heard datagram `echoed`.
pub fn heartbeat(view: &View, from: usize, number: u64, echoed: u64) -> Datagram {
    let short = |place: usize| view.members()[place].member.id.short();
    let head = Head {
        cluster: view.cluster().tag(),
        sender: short(from),
        recipient: short(ME),
        view: view.id(),
        accepted: None,
        flags: Flags::default(),
        number,
        quorate_for_ms: None,
        echo: (echoed > 0).then_some(Echo { number: echoed, age_us: 100_000 }),
    };
    Datagram { head, body: DatagramBody::Heartbeat { answers: Answers::Nothing } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staged_node_sends_to_all_and_records_what_it_hears() {
        let addresses: Vec<SocketAddr> = (1..=200).map(|n| SocketAddr::from(([10, 0, 0, n], 7790))).collect();
        // At first it sends more: contact is new.
        const WARM_UP: u64 = 3;
        let mut stage = Stage::new(addresses, Timestamp::from_millis(1000));
        for number in 0..8 {
            let mut sent = Vec::new();
            let count = stage.round(|to, datagram| sent.push((to, datagram.head.number)));
            assert_eq!(count, 199, "in round {number}");
            for place in stage.others().collect::<Vec<_>>() {
                let number_sent = sent.iter().find(|(to, _)| *to == stage.addresses()[place]).unwrap().1;
                stage.note_sent(place, number_sent);
                let heartbeat = stage.heartbeat(place, FIRST_NUMBER + number);
                stage.receive(place, heartbeat);
            }
            let answers = stage.drain(|_, _| {});
            assert!(number < WARM_UP || answers == 0, "{answers} answers in round {number}");
        }
        assert!(stage.is_connected());
    }
}
