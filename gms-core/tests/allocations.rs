//! A heartbeat received and a heartbeat sent take no memory of the heap, once a member has heard of everybody.

use std::net::SocketAddr;

use allocation_counter::{AllocationInfo, measure};
use gms_core::config::Config;
use gms_core::input::{Command, Input, ReplyHandle};
use gms_core::member::{ClusterId, Endpoint, Member, MemberId};
use gms_core::message::{Answers, Datagram, DatagramBody, Echo, Flags, Frame, FrameBody, Head, Installation};
use gms_core::view::{Change, View};
use gms_core::{Node, Output, Timestamp};

/// Rounds after which the memory of send times and of outputs has its final size.
const ROUNDS_TO_WARM_UP: u64 = 60;
/// Rounds measured: four times T and more, so that watching and sweeping come by too.
const ROUNDS: u64 = 40;

fn address(n: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, u8::try_from(n).expect("few members")], 7790))
}

fn member(n: usize) -> Member {
    let mut bytes = [0; 16];
    let spread = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes[..8].copy_from_slice(&spread.to_be_bytes());
    Member::new(MemberId::from_bytes(bytes), format!("m{n}"), Endpoint::single(address(n)))
}

/// One node in a view of others, which are played: each answers every round of its heartbeats with one of its own.
struct Stage {
    node: Node,
    view: View,
    now: Timestamp,
    /// Numbers of the newest heartbeats that it sent, by member.
    sent: Vec<u64>,
}

/// The member that is the node; another is the coordinator.
const ME: usize = 2;

impl Stage {
    fn new(members: usize) -> Self {
        let timing = Config::new("test").timing.resolve().expect("the defaults are valid");
        let founder = member(1);
        let first = View::founding(ClusterId::from_bytes([9; 16]), "test".into(), timing, founder);
        let mut change = Change::empty(&first);
        change.joined = (2..=members).map(|n| member(n).into()).collect();
        let view = first.apply(&change).expect("distinct joiners");
        let now = Timestamp::from_millis(1_000);
        let mut config = Config::new("test");
        config.has_seeds = true;
        let node = Node::new(config, member(ME), 1, now).expect("a valid configuration");
        let mut stage = Self { node, view, now, sent: vec![0; members + 1] };
        stage.node.handle_input(now, Input::Command(Command::Seeds(vec![address(1)])));
        let body = FrameBody::Install(Installation::Whole(Box::new(stage.view.clone())));
        let frame = Frame { head: stage.head(1, 1), body };
        let input = Input::Frame { from: address(1), reply: ReplyHandle(1), received_at: now, frame };
        stage.node.handle_input(now, input);
        stage.drain();
        assert_eq!(stage.node.view().map(|view| view.len()), Some(members));
        stage
    }

    fn head(&self, from: usize, number: u64) -> Head {
        let echoed = self.sent[from];
        Head {
            cluster: self.view.cluster().tag(),
            sender: member(from).id.short(),
            recipient: member(ME).id.short(),
            view: self.view.id(),
            accepted: None,
            flags: Flags::default(),
            number,
            quorate_for_ms: None,
            echo: (echoed > 0).then_some(Echo { number: echoed, age_us: 100 }),
        }
    }

    /// Takes all outputs, and returns how many heartbeats are among them.
    fn drain(&mut self) -> usize {
        let mut heartbeats = 0;
        while let Some(output) = self.node.poll_output() {
            let Output::Send { to, datagram } = output else { continue };
            let SocketAddr::V4(to) = to else { panic!("{to} is nobody's") };
            self.sent[usize::from(to.ip().octets()[3])] = datagram.head.number;
            heartbeats += 1;
        }
        heartbeats
    }

    /// Lets the node send its heartbeats, and returns how many and what that took.
    fn send(&mut self) -> (usize, AllocationInfo) {
        let mut sent = 0;
        let took = measure(|| {
            while let Some((at, _)) = self.node.poll_timeout().filter(|_| sent == 0) {
                self.now = self.now.max(at);
                self.node.handle_timeout(self.now);
                sent += self.drain();
            }
        });
        (sent, took)
    }

    /// Lets the node receive everybody's heartbeat number `number`, and returns what that took.
    fn receive(&mut self, number: u64) -> AllocationInfo {
        let others = (1..self.sent.len()).filter(|n| *n != ME);
        let arrivals: Vec<(SocketAddr, Datagram)> = others
            .map(|n| {
                let body = DatagramBody::Heartbeat { answers: Answers::Nothing };
                (address(n), Datagram { head: self.head(n, number), body })
            })
            .collect();
        measure(|| {
            for (from, datagram) in arrivals {
                self.now = self.now + std::time::Duration::from_micros(10);
                let input = Input::Datagram { from, received_at: self.now, datagram };
                self.node.handle_input(self.now, input);
                self.drain();
            }
        })
    }
}

#[test]
fn a_heartbeat_takes_no_memory() {
    for members in [3, 10, 128] {
        let mut stage = Stage::new(members);
        for round in 1..=ROUNDS_TO_WARM_UP + ROUNDS {
            let (sent, sending) = stage.send();
            let receiving = stage.receive(round);
            if round <= ROUNDS_TO_WARM_UP {
                continue;
            }
            assert_eq!(sent, members - 1, "in a view of {members}");
            assert_eq!(sending.count_total, 0, "sending to {} in round {round}: {sending:?}", members - 1);
            assert_eq!(receiving.count_total, 0, "from {} in round {round}: {receiving:?}", members - 1);
        }
        assert!(stage.node.connected_until() > stage.now, "they hear each other all the time");
    }
}
