//! What comes out of a [`Node`](crate::Node): one ordered stream. The trace of a run is its outputs.

use std::net::SocketAddr;
use std::time::Duration;

use crate::event::Event;
use crate::evidence::Verdict;
use crate::input::{CheckHandle, CommandToken, ReplyHandle};
use crate::message::{CheckAnswer, CheckRequest, Datagram, Frame};

/// Names a frame whose fate is reported back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameToken(pub u64);

/// Names a probe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProbeId(pub u64);

/// Names a watch connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WatchId(pub u64);

/// Where a frame goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Destination {
    /// A check/stream address.
    Address(SocketAddr),
    /// Back on the connection on which a frame arrived.
    Reply(ReplyHandle),
}

/// A fresh connection to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckTarget {
    /// The check address.
    pub address: SocketAddr,
    /// The question to put there.
    pub request: CheckRequest,
}

/// What a command brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandResult {
    /// It is under way, or done.
    Accepted,
    /// A check ended.
    Checked(Verdict),
    /// There is no such member.
    NoSuchMember,
    /// Not in a view, isolated or leaving: not possible now.
    NotNow,
}

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Send a datagram, best effort.
    Send {
        /// Where to.
        to: SocketAddr,
        /// What.
        datagram: Datagram,
    },
    /// Send a frame; report [`Input::FrameSent`](crate::Input::FrameSent) or
    /// [`Input::FrameFailed`](crate::Input::FrameFailed).
    SendStream {
        /// Where to.
        to: Destination,
        /// What; boxed, so that heartbeats, which are nearly all outputs, stay small.
        frame: Box<Frame>,
        /// Give up after this time.
        deadline: Duration,
        /// Names it in the report.
        token: FrameToken,
    },
    /// Make a fresh connection and put the check's question; report
    /// [`Input::ProbeDone`](crate::Input::ProbeDone).
    StartProbe {
        /// Names it in the report.
        probe: ProbeId,
        /// Where to and what to ask.
        target: CheckTarget,
        /// Report `TimedOut` after this time.
        deadline: Duration,
    },
    /// The probe's result is not wanted any more; none is reported.
    StopProbe {
        /// Which.
        probe: ProbeId,
    },
    /// Open a connection to a member's check address and keep it open; report
    /// [`Input::WatchEnded`](crate::Input::WatchEnded) when it ends or can't be opened.
    StartWatch {
        /// Names it in the report.
        watch: WatchId,
        /// Where to.
        address: SocketAddr,
    },
    /// The watch connection is not wanted any more: close it; nothing is reported.
    StopWatch {
        /// Which.
        watch: WatchId,
    },
    /// Answer an incoming check.
    AnswerCheck {
        /// Which.
        handle: CheckHandle,
        /// The answer.
        answer: CheckAnswer,
    },
    /// Tell the application.
    Event(Event),
    /// A command's result.
    CommandDone {
        /// Which.
        token: CommandToken,
        /// What it brought.
        result: CommandResult,
    },
}
