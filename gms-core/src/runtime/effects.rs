//! What outputs ask of the transport: datagrams in one batch a turn, frames and probes as tasks beside the loop.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::timeout;

use crate::codec::{self, EncodeError};
use crate::evidence::ProbeOutcome;
use crate::input::{CheckHandle, SendFailure, WatchEnd};
use crate::message::{CheckAnswer, CheckRequest, Datagram, Frame};
use crate::output::{CheckTarget, Destination, FrameToken, ProbeId, WatchId};
use crate::transport::{Outgoing, ProbeReply, Transport, TransportError};

/// Most frames on their way at once: a proposal to each member of the largest view, twice.
const FRAMES_IN_FLIGHT_MAX: usize = 2048;
/// Most bytes of them: a whole view to each of a thousand members.
const FRAME_BYTES_IN_FLIGHT_MAX: usize = 256 << 20;
/// Most answers to checks on their way at once; a checker whose question is dropped asks again.
const ANSWERS_IN_FLIGHT_MAX: usize = 1024;
/// How much longer than its deadline a transport may take before it is not waited for.
const SLACK: Duration = Duration::from_millis(100);

/// What became of something that the node asked for.
#[derive(Debug)]
pub(super) enum Report {
    /// A frame was handed to the network.
    FrameSent { token: FrameToken },
    /// A frame was not delivered.
    FrameFailed { token: FrameToken, to: Destination, name: &'static str, failure: SendFailure },
    /// A probe ended.
    ProbeDone { probe: ProbeId, target: CheckTarget, outcome: ProbeOutcome },
    /// A watch connection ended.
    WatchEnded { watch: WatchId, address: SocketAddr, end: WatchEnd },
}

/// How a task beside the loop ended.
enum Done {
    Frame {
        token: FrameToken,
        to: Destination,
        name: &'static str,
        bytes: usize,
        result: Result<(), SendFailure>,
    },
    Probe {
        probe: ProbeId,
        reply: ProbeReply,
    },
    Watch {
        watch: WatchId,
        end: WatchEnd,
    },
    Answer,
}

#[derive(Debug)]
struct RunningProbe {
    target: CheckTarget,
    task: AbortHandle,
}

#[derive(Debug)]
struct OpenWatch {
    address: SocketAddr,
    task: AbortHandle,
}

/// The driver's hands.
pub(super) struct Effects {
    transport: Arc<dyn Transport>,
    tasks: JoinSet<Done>,
    probes: BTreeMap<ProbeId, RunningProbe>,
    watches: BTreeMap<WatchId, OpenWatch>,
    frames: usize,
    frame_bytes: usize,
    answers: usize,
    /// Frames that were never on their way; reported in the next turn.
    refused: Vec<Report>,
    /// This turn's datagrams, one after the other, and whose they are.
    datagrams: Vec<u8>,
    places: Vec<(SocketAddr, Range<usize>)>,
    batch: Vec<Outgoing>,
}

impl Effects {
    pub(super) fn new(transport: Arc<dyn Transport>) -> Self {
        Self {
            transport,
            tasks: JoinSet::new(),
            probes: BTreeMap::new(),
            watches: BTreeMap::new(),
            frames: 0,
            frame_bytes: 0,
            answers: 0,
            refused: Vec::new(),
            datagrams: Vec::new(),
            places: Vec::new(),
            batch: Vec::new(),
        }
    }

    /// Puts a datagram into this turn's batch.
    pub(super) fn send(&mut self, to: SocketAddr, datagram: &Datagram) -> Result<(), EncodeError> {
        let start = self.datagrams.len();
        codec::encode_datagram(datagram, &mut self.datagrams)?;
        self.places.push((to, start..self.datagrams.len()));
        Ok(())
    }

    /// Hands this turn's batch to the transport.
    pub(super) async fn flush(&mut self) -> Result<(), TransportError> {
        if self.places.is_empty() {
            return Ok(());
        }
        let room = self.datagrams.len();
        let bytes = Bytes::from(std::mem::replace(&mut self.datagrams, Vec::with_capacity(room)));
        let outgoing = self.places.drain(..).map(|(to, place)| Outgoing { to, bytes: bytes.slice(place) });
        self.batch.extend(outgoing);
        self.transport.send(&mut self.batch).await
    }

    /// Sends a frame beside the loop. Tasks first run in the order in which they were spawned, so that frames to one
    /// destination reach the transport in order.
    pub(super) fn send_frame(
        &mut self,
        token: FrameToken,
        to: Destination,
        frame: &Frame,
        deadline: Duration,
    ) {
        let name = frame.body.name();
        let refuse = |failure| Report::FrameFailed { token, to, name, failure };
        if self.frames >= FRAMES_IN_FLIGHT_MAX || self.frame_bytes >= FRAME_BYTES_IN_FLIGHT_MAX {
            self.refused.push(refuse(SendFailure::NotQueued));
            return;
        }
        let mut encoded = Vec::new();
        if let Err(error) = codec::encode_frame(frame, &mut encoded) {
            tracing::error!(target: "gms::frame_too_large", %error);
            self.refused.push(refuse(SendFailure::Local));
            return;
        }
        let bytes = encoded.len();
        self.frames += 1;
        self.frame_bytes += bytes;
        let transport = Arc::clone(&self.transport);
        self.tasks.spawn(async move {
            let sent = transport.send_frame(to, encoded.into(), deadline);
            let result =
                timeout(deadline.saturating_add(SLACK), sent).await.unwrap_or(Err(SendFailure::TimedOut));
            Done::Frame { token, to, name, bytes, result }
        });
    }

    /// Makes a fresh connection beside the loop.
    pub(super) fn start_probe(&mut self, probe: ProbeId, target: CheckTarget, deadline: Duration) {
        let transport = Arc::clone(&self.transport);
        let address = target.address;
        let question = Bytes::from(codec::encode_check_request(&target.request));
        let task = self.tasks.spawn(async move {
            let asked = transport.probe(address, question, deadline);
            let reply = timeout(deadline.saturating_add(SLACK), asked).await.unwrap_or(ProbeReply::TimedOut);
            Done::Probe { probe, reply }
        });
        if let Some(replaced) = self.probes.insert(probe, RunningProbe { target, task }) {
            replaced.task.abort();
        }
    }

    /// Drops a probe; nothing is reported of it.
    pub(super) fn stop_probe(&mut self, probe: ProbeId) {
        if let Some(running) = self.probes.remove(&probe) {
            running.task.abort();
        }
    }

    /// Opens a watch connection beside the loop.
    pub(super) fn start_watch(&mut self, watch: WatchId, address: SocketAddr) {
        let transport = Arc::clone(&self.transport);
        let task = self.tasks.spawn(async move {
            let end = transport.watch(address).await;
            Done::Watch { watch, end }
        });
        if let Some(replaced) = self.watches.insert(watch, OpenWatch { address, task }) {
            replaced.task.abort();
        }
    }

    /// Closes a watch connection; nothing is reported of it.
    pub(super) fn stop_watch(&mut self, watch: WatchId) {
        if let Some(open) = self.watches.remove(&watch) {
            open.task.abort();
        }
    }

    /// Answers a check beside the loop. Says whether it is on its way.
    pub(super) fn answer_check(&mut self, handle: CheckHandle, answer: &CheckAnswer) -> bool {
        if self.answers >= ANSWERS_IN_FLIGHT_MAX {
            return false;
        }
        self.answers += 1;
        let transport = Arc::clone(&self.transport);
        let answer = Bytes::from(codec::encode_check_answer(answer));
        self.tasks.spawn(async move {
            transport.answer_check(handle, answer).await;
            Done::Answer
        });
        true
    }

    /// Whether [`Effects::take`] has something without waiting.
    pub(super) fn has_reports(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Whether tasks run.
    pub(super) fn is_busy(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Waits until a task ends. May be cancelled without losing anything.
    pub(super) async fn wait(&mut self) -> Option<Report> {
        match self.tasks.join_next().await {
            Some(ended) => self.report(ended),
            None => std::future::pending().await,
        }
    }

    /// All reports that are there.
    pub(super) fn take(&mut self, into: &mut Vec<Report>) {
        into.append(&mut self.refused);
        while let Some(ended) = self.tasks.try_join_next() {
            into.extend(self.report(ended));
        }
    }

    /// Waits until all frames are handed over or failed.
    pub(super) async fn finish_frames(&mut self) {
        while self.frames > 0 {
            self.wait().await;
        }
    }

    /// Drops everything under way; nothing is reported of it.
    pub(super) fn reset(&mut self) {
        *self = Self::new(Arc::clone(&self.transport));
    }

    fn report(&mut self, ended: Result<Done, JoinError>) -> Option<Report> {
        let done = match ended {
            Ok(done) => done,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_cancelled) => return None,
        };
        match done {
            Done::Frame { token, to, name, bytes, result } => {
                self.frames -= 1;
                self.frame_bytes -= bytes;
                Some(match result {
                    Ok(()) => Report::FrameSent { token },
                    Err(failure) => Report::FrameFailed { token, to, name, failure },
                })
            }
            Done::Probe { probe, reply } => {
                // A probe stopped as it ended is not wanted any more.
                let target = self.probes.remove(&probe)?.target;
                let outcome = outcome_of(&reply, &target.request);
                Some(Report::ProbeDone { probe, target, outcome })
            }
            Done::Watch { watch, end } => {
                // A watch stopped as it ended is not wanted any more.
                let address = self.watches.remove(&watch)?.address;
                Some(Report::WatchEnded { watch, address, end })
            }
            Done::Answer => {
                self.answers -= 1;
                None
            }
        }
    }
}

impl std::fmt::Debug for Effects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Effects")
            .field("frames", &self.frames)
            .field("probes", &self.probes)
            .finish_non_exhaustive()
    }
}

/// What the bytes that came back mean, compared with what was asked.
fn outcome_of(reply: &ProbeReply, request: &CheckRequest) -> ProbeOutcome {
    match reply {
        ProbeReply::Answer(bytes) => match codec::decode_check_answer(bytes) {
            Ok(CheckAnswer::Ok) => ProbeOutcome::Ok,
            Ok(CheckAnswer::Other(id)) if id == request.target => ProbeOutcome::Garbage,
            Ok(CheckAnswer::Other(id)) => ProbeOutcome::Other(id),
            Ok(CheckAnswer::Sick) => ProbeOutcome::Sick,
            Ok(CheckAnswer::Elsewhere) => ProbeOutcome::Elsewhere,
            Err(_) => ProbeOutcome::Garbage,
        },
        ProbeReply::Refused => ProbeOutcome::Refused,
        ProbeReply::Reset => ProbeOutcome::Reset,
        ProbeReply::TimedOut => ProbeOutcome::TimedOut,
        ProbeReply::Unreachable => ProbeOutcome::Unreachable,
        ProbeReply::LocalFault => ProbeOutcome::LocalFault,
        ProbeReply::Garbage => ProbeOutcome::Garbage,
    }
}

#[cfg(test)]
mod tests;
