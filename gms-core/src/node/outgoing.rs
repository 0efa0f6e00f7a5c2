//! Heads, numbers and echoes: how actions of the machines become outputs.

use std::net::SocketAddr;
use std::time::Duration;

use crate::config::AUTO_RECIPIENTS_VIEW_MAX;
use crate::member::{ClusterTag, ShortId};
use crate::message::{Answers, Datagram, DatagramBody, Frame, Head, RequestId};
use crate::outbox::Action;
use crate::output::{Destination, FrameToken, Output};
use crate::time::Timestamp;
use crate::view::ViewId;

use super::{Node, Phase};

/// Room for outputs that is kept when none waits, at least: that of the heartbeats in the largest view in which everybody
/// gets them, and some more. What a change of a larger view took is given back, up to what a round of heartbeats takes.
const OUTPUTS_KEPT: usize = AUTO_RECIPIENTS_VIEW_MAX + 32;

/// Which counter a head's number comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Channel {
    Datagram,
    Stream,
}

impl Node {
    /// The next thing to do, in order.
    pub fn poll_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        let kept = self.outputs_of_a_round.max(OUTPUTS_KEPT);
        if output.is_none() && self.outputs.capacity() > kept {
            self.outputs.shrink_to(kept);
        }
        output
    }

    /// Turns queued actions into outputs. Frames to oneself are handled on the spot; returns whether there were any.
    pub(super) fn drain_actions(&mut self, now: Timestamp) -> bool {
        let mut looped = false;
        while let Some(action) = self.out.pop() {
            let output = match action {
                Action::Datagram { to, body } => {
                    let Some((addr, head)) = self.member_head(now, &to, Channel::Datagram) else { continue };
                    Output::Send { to: addr.addr, datagram: Datagram { head, body } }
                }
                Action::DatagramTo { to, recipient, body } => {
                    let mut head = self.stranger_head(now, recipient);
                    //= docs/protocol.md#wr-4
                    // What is accepted is no stranger's business, and would make the answer longer than what it answers.
                    head.accepted = None;
                    Output::Send { to, datagram: Datagram { head, body } }
                }
                Action::Frame { to, body, .. } if to == self.me.id => {
                    looped = true;
                    if let Phase::InView(member) = &mut self.phase {
                        member.handle_own_frame(now, body, &mut self.out);
                    }
                    continue;
                }
                Action::Frame { to, body, token } => {
                    let Some((addr, head)) = self.member_head(now, &to, Channel::Stream) else { continue };
                    self.stream(Destination::Address(addr.check_addr), Frame { head, body }, token)
                }
                Action::FrameTo { to, recipient, body, token } => {
                    let head = self.reply_head(now, recipient);
                    self.stream(to, Frame { head, body }, token)
                }
                Action::StartProbe { probe, target, deadline } => {
                    Output::StartProbe { probe, target, deadline }
                }
                Action::StopProbe { probe } => Output::StopProbe { probe },
                Action::StartWatch { watch, address } => Output::StartWatch { watch, address },
                Action::StopWatch { watch } => Output::StopWatch { watch },
                Action::AnswerCheck { handle, answer } => Output::AnswerCheck { handle, answer },
                Action::Event(event) => Output::Event(event),
                Action::CommandDone { token, result } => Output::CommandDone { token, result },
            };
            self.outputs.push_back(output);
        }
        looped
    }

    /// The periodic heartbeats, straight to outputs: the hot path of a large view.
    //= docs/protocol.md#fd-4
    pub(super) fn send_heartbeats(&mut self, now: Timestamp) {
        let Phase::InView(member) = &mut self.phase else { return };
        let view = std::sync::Arc::clone(member.view());
        let mut head = Head {
            cluster: view.cluster().tag(),
            sender: self.me.id.short(),
            recipient: ShortId::default(),
            view: view.id(),
            accepted: member.accepted_tag(),
            flags: member.flags(now),
            number: 0,
            echo: None,
            quorate_for_ms: member.quorate_for_ms(now),
        };
        let few = member.recipients(now);
        let all = if few.is_none() { 0..view.len() } else { 0..0 };
        let contacts = member.contacts_mut();
        for place in few.unwrap_or_default().into_iter().chain(all) {
            let m = &view.members()[place];
            if m.member.id == self.me.id {
                continue;
            }
            head.recipient = m.member.id.short();
            head.echo = contacts.take_echo(place, now);
            head.number = contacts.at_mut(place).next_number(now);
            let body = DatagramBody::Heartbeat { answers: Answers::Nothing };
            let datagram = Datagram { head: head.clone(), body };
            self.outputs.push_back(Output::Send { to: m.member.endpoint.addr, datagram });
        }
        self.outputs_of_a_round = self.outputs.len();
    }

    /// A joiner's answer to the member that lets it in: it is in no cluster yet, so it speaks in the asker's.
    pub(super) fn answer_as_joiner(
        &mut self,
        now: Timestamp,
        to: SocketAddr,
        asked: &Head,
        request: RequestId,
    ) {
        let mut head = self.stranger_head(now, asked.sender);
        head.cluster = asked.cluster;
        let body = DatagramBody::Heartbeat { answers: Answers::Request(request) };
        self.outputs.push_back(Output::Send { to, datagram: Datagram { head, body } });
    }

    fn stream(&self, to: Destination, frame: Frame, token: FrameToken) -> Output {
        Output::SendStream { to, frame: Box::new(frame), deadline: self.frame_deadline(), token }
    }

    /// A frame is given up after T: whatever it asks is asked again before.
    fn frame_deadline(&self) -> Duration {
        self.view().map_or_else(|| self.timing().member_timeout, |view| view.timing().member_timeout)
    }

    /// Endpoint and head for a member of the view; `None` if it is none.
    fn member_head(
        &mut self,
        now: Timestamp,
        to: &crate::member::MemberId,
        channel: Channel,
    ) -> Option<(crate::member::Endpoint, Head)> {
        let mut head = self.stranger_head(now, to.short());
        let Phase::InView(member) = &mut self.phase else { return None };
        head.quorate_for_ms = member.quorate_for_ms(now);
        let place = member.contacts_mut().place_of(to.short())?;
        let endpoint = member.view().members().get(place).filter(|m| m.member.id == *to)?.member.endpoint;
        let contacts = member.contacts_mut();
        head.echo = contacts.take_echo(place, now);
        let record = contacts.at_mut(place);
        head.number = match channel {
            Channel::Datagram => record.next_number(now),
            Channel::Stream => record.next_frame_number(),
        };
        Some((endpoint, head))
    }

    /// A head for an answer on a connection: to a member it is numbered like any other frame to it.
    fn reply_head(&mut self, now: Timestamp, recipient: ShortId) -> Head {
        let member = match &self.phase {
            Phase::InView(member) => member.view().by_short(recipient).map(|m| m.id),
            Phase::Joining(_) | Phase::Stopped(_) => None,
        };
        let known = member.and_then(|id| self.member_head(now, &id, Channel::Stream));
        known.map_or_else(|| self.stranger_head(now, recipient), |(_, head)| head)
    }

    /// A head without number and echo.
    fn stranger_head(&self, now: Timestamp, recipient: ShortId) -> Head {
        let mut head = Head {
            cluster: ClusterTag::NONE,
            sender: self.me.id.short(),
            recipient,
            view: ViewId::NONE,
            accepted: None,
            flags: crate::message::Flags::default(),
            number: 0,
            echo: None,
            quorate_for_ms: None,
        };
        if let Phase::InView(member) = &self.phase {
            head.cluster = member.view().cluster().tag();
            head.view = member.view().id();
            head.accepted = member.accepted_tag();
            head.flags = member.flags(now);
        }
        head
    }
}
