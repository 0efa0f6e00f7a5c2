//! Writes the trace: steps become lines on the protocol's loop, a thread writes them.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::SocketAddr;

use gms_core::event::Event;
use gms_core::evidence::ProbeOutcome;
use gms_core::input::{SendFailure, WatchEnd};
use gms_core::member::{Member, MemberId, ShortId};
use gms_core::message::{CheckAnswer, Datagram, Frame, FrameBody, Head};
use gms_core::output::{CheckTarget, Destination};
use gms_core::runtime::{StepKind, TraceSink, TraceStep};
use serde_json::Value;

use super::fields::{datagram_fields, frame_fields};
use crate::event_json::{Object, name_and_fields, stamp};
use crate::names::Names;
use crate::sink::{LineSink, Lines};

/// Lines that wait for the disk; a few hundred bytes each.
const QUEUE_LINES: usize = 16_384;

/// A trace that is being written.
#[derive(Debug)]
pub(crate) struct JsonTrace<L = LineSink> {
    sink: L,
    names: Names,
    me: Option<MemberId>,
}

impl JsonTrace {
    /// Writes to `file`; the second value flushes it at the end.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub(crate) fn to_file(file: File) -> io::Result<(Self, LineSink)> {
        let lost = |count| format!("{{\"step\":\"lost\",\"count\":{count}}}\n");
        let sink = LineSink::spawn("gms-trace", QUEUE_LINES, BufWriter::with_capacity(1 << 16, file), lost)?;
        Ok((Self::new(sink.clone(), Names::default()), sink))
    }
}

impl<L: Lines> JsonTrace<L> {
    /// Writes to `sink`; `names` are known from before.
    pub(crate) const fn new(sink: L, names: Names) -> Self {
        Self { sink, names, me: None }
    }

    fn write(&self, object: &Object) {
        if let Ok(line) = serde_json::to_vec(object) {
            self.sink.push(line);
        }
    }

    /// A new incarnation says who it is before its first step.
    fn introduce(&mut self, step: &TraceStep<'_>) {
        if self.me == Some(step.me.id) {
            return;
        }
        self.me = Some(step.me.id);
        self.names.learn(step.me);
        let mut object = begin(step, "incarnation");
        put(&mut object, "addr", step.me.endpoint.addr.to_string());
        put(&mut object, "check_addr", step.me.endpoint.check_addr.to_string());
        self.write(&object);
    }

    fn learn(&mut self, kind: &StepKind<'_>) {
        match kind {
            StepKind::Event(event) => self.names.learn_event(event),
            StepKind::ReceivedFrame { frame, .. } => {
                if let FrameBody::Join { member, .. } = &frame.body {
                    self.names.learn(member);
                }
            }
            _ => {}
        }
    }
}

impl<L: Lines + Send + 'static> TraceSink for JsonTrace<L> {
    fn record(&mut self, step: TraceStep<'_>) {
        self.introduce(&step);
        self.learn(&step.kind);
        let object = match &step.kind {
            StepKind::SentDatagram { to, datagram } => self.datagram(&step, "sent", *to, datagram),
            StepKind::ReceivedDatagram { from, datagram } => {
                self.datagram(&step, "received", *from, datagram)
            }
            StepKind::SentFrame { to, frame } => self.frame(&step, "sent", address(*to), frame),
            StepKind::ReceivedFrame { from, frame } => self.frame(&step, "received", Some(*from), frame),
            StepKind::FrameFailed { to, name, failure } => failed(&step, *to, name, *failure),
            StepKind::ProbeStarted { target } => self.probe(&step, target, None),
            StepKind::ProbeDone { target, outcome } => self.probe(&step, target, Some(*outcome)),
            StepKind::WatchStarted { address } => self.at_address(&step, "watch", *address),
            StepKind::WatchEnded { address, end } => {
                let mut object = self.at_address(&step, "watch_ended", *address);
                put(&mut object, "end", end_name(*end));
                object
            }
            StepKind::Unreachable { to } => self.at_address(&step, "unreachable", *to),
            StepKind::CheckAsked { from, request } => {
                let mut object = begin(&step, "check_asked");
                put(&mut object, "peer_addr", from.to_string());
                put(&mut object, "member", self.names.of(&request.target));
                put(&mut object, "target", request.target.short().to_string());
                put(&mut object, "view", request.view.0);
                object
            }
            StepKind::CheckAnswered { answer } => self.answered(&step, *answer),
            StepKind::Event(event) => self.event(&step, event),
        };
        self.write(&object);
    }
}

impl<L: Lines> JsonTrace<L> {
    fn datagram(&self, step: &TraceStep<'_>, word: &str, peer: SocketAddr, datagram: &Datagram) -> Object {
        let mut object = begin(step, word);
        put(&mut object, "channel", "datagram");
        put(&mut object, "message", datagram.body.name());
        self.head(&mut object, word, Some(peer), &datagram.head);
        datagram_fields(&mut object, &datagram.body, &self.names);
        object
    }

    fn frame(&self, step: &TraceStep<'_>, word: &str, peer: Option<SocketAddr>, frame: &Frame) -> Object {
        let mut object = begin(step, word);
        put(&mut object, "channel", "stream");
        put(&mut object, "message", frame.body.name());
        self.head(&mut object, word, peer, &frame.head);
        frame_fields(&mut object, &frame.body, &self.names);
        object
    }

    fn head(&self, object: &mut Object, word: &str, addr: Option<SocketAddr>, head: &Head) {
        let peer = if word == "sent" { head.recipient } else { head.sender };
        let known = self.names.find(peer).map(str::to_owned);
        put(object, "peer", known.or_else(|| addr.map(|a| a.to_string())));
        if peer != ShortId::default() {
            put(object, "peer_id", peer.to_string());
        }
        put(object, "peer_addr", addr.map(|a| a.to_string()));
        put(object, "view", head.view.0);
        put(object, "number", head.number);
        if let Some(echo) = head.echo {
            put(object, "echo", echo.number);
        }
        let flags: Vec<&str> = [
            (head.flags.isolated, "isolated"),
            (head.flags.sick, "sick"),
            (head.flags.paused, "paused"),
            (head.flags.leaving, "leaving"),
        ]
        .into_iter()
        .filter_map(|(set, name)| set.then_some(name))
        .collect();
        if !flags.is_empty() {
            put(object, "flags", flags);
        }
    }

    fn probe(&self, step: &TraceStep<'_>, target: &CheckTarget, outcome: Option<ProbeOutcome>) -> Object {
        let mut object = begin(step, if outcome.is_some() { "probe_done" } else { "probe" });
        put(&mut object, "peer", self.names.of(&target.request.target));
        put(&mut object, "peer_id", target.request.target.short().to_string());
        put(&mut object, "peer_addr", target.address.to_string());
        put(&mut object, "view", target.request.view.0);
        if let Some(outcome) = outcome {
            put(&mut object, "outcome", outcome_name(outcome));
            if let ProbeOutcome::Other(id) = outcome {
                put(&mut object, "other", id.short().to_string());
            }
        }
        object
    }

    fn at_address(&self, step: &TraceStep<'_>, word: &str, address: SocketAddr) -> Object {
        let mut object = begin(step, word);
        put(&mut object, "peer_addr", address.to_string());
        object
    }

    fn answered(&self, step: &TraceStep<'_>, answer: CheckAnswer) -> Object {
        let mut object = begin(step, "check_answered");
        let word = match answer {
            CheckAnswer::Ok => "ok",
            CheckAnswer::Other(_) => "other",
            CheckAnswer::Sick => "sick",
            CheckAnswer::Elsewhere => "elsewhere",
        };
        put(&mut object, "answer", word);
        object
    }

    fn event(&self, step: &TraceStep<'_>, event: &Event) -> Object {
        let mut object = begin(step, "event");
        let (name, fields) = name_and_fields(event, &self.names);
        put(&mut object, "event", name);
        if let Value::Object(fields) = fields {
            object.extend(fields);
        }
        object
    }
}

const fn end_name(end: WatchEnd) -> &'static str {
    match end {
        WatchEnd::Goodbye => "goodbye",
        WatchEnd::Broken => "broken",
        WatchEnd::Refused => "refused",
        WatchEnd::Failed => "failed",
    }
}

fn failed(step: &TraceStep<'_>, to: Destination, name: &str, failure: SendFailure) -> Object {
    let mut object = begin(step, "failed");
    put(&mut object, "channel", "stream");
    put(&mut object, "message", name);
    put(&mut object, "peer_addr", address(to).map(|a| a.to_string()));
    put(&mut object, "failure", failure.to_string());
    object
}

fn begin(step: &TraceStep<'_>, word: &str) -> Object {
    let mut object = Object::new();
    let me: &Member = step.me;
    put(&mut object, "at_ns", step.at.as_nanos());
    put(&mut object, "wall", stamp(step.wall));
    put(&mut object, "me", me.name.as_str());
    put(&mut object, "id", me.id.short().to_string());
    put(&mut object, "step", word);
    object
}

fn put(object: &mut Object, key: &str, value: impl Into<Value>) {
    object.insert(key.to_owned(), value.into());
}

const fn address(to: Destination) -> Option<SocketAddr> {
    match to {
        Destination::Address(addr) => Some(addr),
        Destination::Reply(_) => None,
    }
}

const fn outcome_name(outcome: ProbeOutcome) -> &'static str {
    match outcome {
        ProbeOutcome::Ok => "ok",
        ProbeOutcome::Other(_) => "other",
        ProbeOutcome::Sick => "sick",
        ProbeOutcome::Refused => "refused",
        ProbeOutcome::Reset => "reset",
        ProbeOutcome::TimedOut => "timed_out",
        ProbeOutcome::Unreachable => "unreachable",
        ProbeOutcome::LocalFault => "local_fault",
        ProbeOutcome::Garbage => "garbage",
        ProbeOutcome::Elsewhere => "elsewhere",
    }
}
