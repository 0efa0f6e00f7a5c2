//! The hook through which every protocol step of a member can be recorded.

use std::net::SocketAddr;
use std::time::SystemTime;

use crate::event::Event;
use crate::evidence::ProbeOutcome;
use crate::input::{SendFailure, WatchEnd};
use crate::member::Member;
use crate::message::{CheckAnswer, CheckRequest, Datagram, Frame};
use crate::output::{CheckTarget, Destination};
use crate::time::Timestamp;

/// Takes the steps of one member, in order.
pub trait TraceSink: Send + 'static {
    /// Takes one step. Called on the loop: it must not block, and must not panic.
    fn record(&mut self, step: TraceStep<'_>);
}

/// One step of a member.
#[derive(Clone, Debug)]
pub struct TraceStep<'a> {
    /// When, on the member's clock.
    pub at: Timestamp,
    /// When, on the wall clock.
    pub wall: SystemTime,
    /// The incarnation whose step it is.
    pub me: &'a Member,
    /// What.
    pub kind: StepKind<'a>,
}

/// Kinds of steps.
#[derive(Clone, Debug)]
pub enum StepKind<'a> {
    /// A datagram goes out.
    SentDatagram {
        /// Where to.
        to: SocketAddr,
        /// What.
        datagram: &'a Datagram,
    },
    /// A datagram came in.
    ReceivedDatagram {
        /// Where from.
        from: SocketAddr,
        /// What.
        datagram: &'a Datagram,
    },
    /// A frame is handed to the transport.
    SentFrame {
        /// Where to.
        to: Destination,
        /// What.
        frame: &'a Frame,
    },
    /// A frame could not be delivered.
    FrameFailed {
        /// Where it was going.
        to: Destination,
        /// The message's name.
        name: &'static str,
        /// Why.
        failure: SendFailure,
    },
    /// A frame came in.
    ReceivedFrame {
        /// Where from.
        from: SocketAddr,
        /// What.
        frame: &'a Frame,
    },
    /// A fresh connection is made.
    ProbeStarted {
        /// Where to, and what is asked.
        target: &'a CheckTarget,
    },
    /// A fresh connection brought something.
    ProbeDone {
        /// Where to, and what was asked.
        target: &'a CheckTarget,
        /// What it brought.
        outcome: ProbeOutcome,
    },
    /// A watch connection is opened.
    WatchStarted {
        /// Where to.
        address: SocketAddr,
    },
    /// A watch connection ended, or could not be opened.
    WatchEnded {
        /// Where to.
        address: SocketAddr,
        /// How.
        end: WatchEnd,
    },
    /// A datagram found nobody.
    Unreachable {
        /// Where it went.
        to: SocketAddr,
    },
    /// A check of another member came in.
    CheckAsked {
        /// Where from.
        from: SocketAddr,
        /// The question.
        request: &'a CheckRequest,
    },
    /// It is answered.
    CheckAnswered {
        /// The answer.
        answer: CheckAnswer,
    },
    /// The application is told.
    Event(&'a Event),
}

/// The sink, if there is one.
#[derive(Default)]
pub(super) struct Tracer(pub(super) Option<Box<dyn TraceSink>>);

impl Tracer {
    pub(super) fn record(&mut self, at: Timestamp, me: &Member, kind: StepKind<'_>) {
        if let Some(sink) = &mut self.0 {
            sink.record(TraceStep { at, wall: super::clock::wall(), me, kind });
        }
    }
}

impl std::fmt::Debug for Tracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tracer").field(&self.0.is_some()).finish()
    }
}
