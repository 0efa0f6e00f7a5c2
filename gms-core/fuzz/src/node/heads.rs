//! Heads: as the sender would write them, or bent in one field or more.

use gms_core::Input;
use gms_core::member::{ClusterTag, ShortId};
use gms_core::message::{Answers, Datagram, DatagramBody, Echo, Flags, Head};
use gms_core::view::{DigestTag, ViewId};

use super::cast;
use super::stage::Stage;

/// Which counter a head's number comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    Datagram,
    Stream,
}

/// A head as `n` writes it on a stream: it is in the node's view and has heard all that the node sent.
pub fn proper(stage: &mut Stage<'_>, n: usize) -> Head {
    numbered(stage, n, Channel::Stream)
}

fn numbered(stage: &mut Stage<'_>, n: usize, channel: Channel) -> Head {
    let peer = &mut stage.peers[n];
    let counter = match channel {
        Channel::Datagram => &mut peer.number,
        Channel::Stream => &mut peer.frame_number,
    };
    *counter = counter.saturating_add(1);
    let (number, echo) = (*counter, peer.heard.map(|number| Echo { number, age_us: 10 }));
    Head {
        cluster: stage.cluster().tag(),
        sender: cast::id_of(n).short(),
        recipient: stage.node.me().id.short(),
        view: ViewId(stage.view_number().max(1)),
        accepted: None,
        flags: Flags::default(),
        number,
        echo,
        quorate_for_ms: None,
    }
}

/// A head of `n`, proper in two of three cases.
pub fn any(stage: &mut Stage<'_>, n: usize, channel: Channel) -> Head {
    let mut head = numbered(stage, n, channel);
    let mut bends = 0;
    while bends < 4 && stage.draw.below(3) == 2 {
        bend(stage, n, channel, &mut head);
        bends += 1;
    }
    head
}

fn bend(stage: &mut Stage<'_>, n: usize, channel: Channel, head: &mut Head) {
    match stage.draw.below(16) {
        0 => {
            let any = cast::any_cluster(&mut stage.draw).tag();
            head.cluster = stage.draw.of(&[ClusterTag::NONE, cast::CLUSTER.tag(), any]);
        }
        1 => head.recipient = if stage.draw.one_in(2) { ShortId::default() } else { stage.id().short() },
        2 => head.sender = stage.id().short(),
        3..=5 => head.view = ViewId(stage.draw.number(head.view.0)),
        6..=8 => head.accepted = Some(accepted(stage)),
        9..=10 => {
            let bits = stage.draw.byte();
            head.flags = Flags {
                isolated: bits & 1 != 0,
                sick: bits & 2 != 0,
                paused: bits & 4 != 0,
                leaving: bits & 8 != 0,
            };
        }
        11..=12 => {
            head.number = stage.draw.number(head.number);
            // Half of the time the peer goes on from there.
            if stage.draw.one_in(2) {
                match channel {
                    Channel::Datagram => stage.peers[n].number = head.number,
                    Channel::Stream => stage.peers[n].frame_number = head.number,
                }
            }
        }
        13 => head.echo = None,
        _ => {
            let near = stage.peers[n].heard.unwrap_or(1);
            let number = stage.draw.number(near);
            let age_us = stage.draw.of(&[0, 1_000, 1_000_000, 60_000_000, u32::MAX]);
            head.echo = Some(Echo { number, age_us });
            head.quorate_for_ms = number.is_multiple_of(2).then_some(age_us / 1_000);
        }
    }
}

/// The tag of a change: one that the node proposed or that would be one of its view, or any.
fn accepted(stage: &mut Stage<'_>) -> DigestTag {
    match stage.draw.below(3) {
        0 => match stage.said.changes.pick(&mut stage.draw) {
            Some(change) => change.digest().tag(),
            None => DigestTag([0; 8]),
        },
        1 => super::changes::any_change(stage).digest().tag(),
        _ => DigestTag([stage.draw.byte(); 8]),
    }
}

/// Members of the node's view send the heartbeats that are due.
pub fn beat(stage: &mut Stage<'_>) {
    let who = stage.draw.byte();
    for n in (1..cast::MEMBERS).filter(|n| who & (1 << n) == 0) {
        let is_member = stage.node.view().is_some_and(|view| view.contains(&cast::id_of(n)));
        if is_member {
            let head = numbered(stage, n, Channel::Datagram);
            let body = DatagramBody::Heartbeat { answers: Answers::Nothing };
            let datagram = Datagram { head, body };
            let received_at = stage.now;
            stage.feed(Input::Datagram { from: cast::address_of(n), received_at, datagram });
        }
    }
}

/// A proper head of `n` for a datagram.
pub fn proper_datagram(stage: &mut Stage<'_>, n: usize) -> Head {
    numbered(stage, n, Channel::Datagram)
}
