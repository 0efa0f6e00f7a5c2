//! What sub-machines hand to the node: actions in order. The node alone turns them into outputs, because heads,
//! numbers and echoes are its business.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use crate::event::Event;
use crate::input::{CheckHandle, CommandToken, DropCause, ReplyHandle};
use crate::member::{MemberId, ShortId};
use crate::message::{CheckAnswer, DatagramBody, FrameBody};
use crate::output::{CheckTarget, CommandResult, Destination, FrameToken, ProbeId, WatchId};

/// One thing that a sub-machine wants done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// A datagram to a member of the installed view; dropped if it is none.
    Datagram { to: MemberId, body: DatagramBody },
    /// A datagram to an address; `recipient` is all zero where unknown.
    DatagramTo { to: SocketAddr, recipient: ShortId, body: DatagramBody },
    /// A frame to a member of the installed view; dropped if it is none.
    Frame { to: MemberId, body: FrameBody, token: FrameToken },
    /// A frame to somebody else; `recipient` is all zero where unknown.
    FrameTo { to: Destination, recipient: ShortId, body: FrameBody, token: FrameToken },
    /// As [`Output::StartProbe`](crate::Output::StartProbe).
    StartProbe { probe: ProbeId, target: CheckTarget, deadline: Duration },
    /// As [`Output::StopProbe`](crate::Output::StopProbe).
    StopProbe { probe: ProbeId },
    /// As [`Output::StartWatch`](crate::Output::StartWatch).
    StartWatch { watch: WatchId, address: SocketAddr },
    /// As [`Output::StopWatch`](crate::Output::StopWatch).
    StopWatch { watch: WatchId },
    /// As [`Output::AnswerCheck`](crate::Output::AnswerCheck).
    AnswerCheck { handle: CheckHandle, answer: CheckAnswer },
    /// As [`Output::Event`](crate::Output::Event).
    Event(Event),
    /// As [`Output::CommandDone`](crate::Output::CommandDone).
    CommandDone { token: CommandToken, result: CommandResult },
}

/// Room for actions that is kept when none waits; what a change of a large view took beyond it is given back.
const ACTIONS_KEPT: usize = 64;

/// Collects actions and hands out the names of probes and frames.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    actions: VecDeque<Action>,
    last_probe: u64,
    last_watch: u64,
    last_token: u64,
    /// Why the message of this call is not looked at.
    dropped: Option<DropCause>,
}

impl Outbox {
    /// A datagram to a member of the view.
    pub(crate) fn datagram(&mut self, to: MemberId, body: DatagramBody) {
        self.actions.push_back(Action::Datagram { to, body });
    }

    /// A datagram to an address outside the view.
    pub(crate) fn datagram_to(&mut self, to: SocketAddr, recipient: ShortId, body: DatagramBody) {
        self.actions.push_back(Action::DatagramTo { to, recipient, body });
    }

    /// A frame to a member of the view.
    pub(crate) fn frame(&mut self, to: MemberId, body: FrameBody) -> FrameToken {
        let token = self.next_token();
        self.actions.push_back(Action::Frame { to, body, token });
        token
    }

    /// A frame to an address outside the view.
    pub(crate) fn frame_to(&mut self, to: SocketAddr, recipient: ShortId, body: FrameBody) -> FrameToken {
        let token = self.next_token();
        self.actions.push_back(Action::FrameTo { to: Destination::Address(to), recipient, body, token });
        token
    }

    /// A frame back on the connection on which one arrived.
    pub(crate) fn reply(&mut self, to: ReplyHandle, recipient: ShortId, body: FrameBody) {
        let token = self.next_token();
        self.actions.push_back(Action::FrameTo { to: Destination::Reply(to), recipient, body, token });
    }

    /// A fresh connection; its result comes under the name returned.
    pub(crate) fn start_probe(&mut self, target: CheckTarget, deadline: Duration) -> ProbeId {
        self.last_probe += 1;
        let probe = ProbeId(self.last_probe);
        self.actions.push_back(Action::StartProbe { probe, target, deadline });
        probe
    }

    /// The probe's result is not wanted any more.
    pub(crate) fn stop_probe(&mut self, probe: ProbeId) {
        self.actions.push_back(Action::StopProbe { probe });
    }

    /// A watch connection; its end comes under the name returned.
    pub(crate) fn start_watch(&mut self, address: SocketAddr) -> WatchId {
        self.last_watch += 1;
        let watch = WatchId(self.last_watch);
        self.actions.push_back(Action::StartWatch { watch, address });
        watch
    }

    /// The watch connection is not wanted any more.
    pub(crate) fn stop_watch(&mut self, watch: WatchId) {
        self.actions.push_back(Action::StopWatch { watch });
    }

    /// An answer to an incoming check.
    pub(crate) fn answer_check(&mut self, handle: CheckHandle, answer: CheckAnswer) {
        self.actions.push_back(Action::AnswerCheck { handle, answer });
    }

    /// Something for the application.
    pub(crate) fn event(&mut self, event: Event) {
        self.actions.push_back(Action::Event(event));
    }

    /// A command's result.
    pub(crate) fn command_done(&mut self, token: CommandToken, result: CommandResult) {
        self.actions.push_back(Action::CommandDone { token, result });
    }

    /// The message that is being handled is not looked at.
    pub(crate) const fn drop_message(&mut self, cause: DropCause) {
        self.dropped = Some(cause);
    }

    /// Why the message that came last was not looked at, since this was forgotten.
    pub(crate) const fn dropped(&self) -> Option<DropCause> {
        self.dropped
    }

    /// Forgets why a message was not looked at.
    pub(crate) const fn forget_dropped(&mut self) {
        self.dropped = None;
    }

    /// The next action.
    pub(crate) fn pop(&mut self) -> Option<Action> {
        let action = self.actions.pop_front();
        if action.is_none() && self.actions.capacity() > ACTIONS_KEPT {
            self.actions.shrink_to(ACTIONS_KEPT);
        }
        action
    }

    /// Whether nothing waits.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// All actions, for tests that compare the exact list.
    #[cfg(test)]
    pub(crate) fn drain(&mut self) -> Vec<Action> {
        self.actions.drain(..).collect()
    }

    fn next_token(&mut self) -> FrameToken {
        self.last_token += 1;
        FrameToken(self.last_token)
    }
}
