//! The loop's other half: carrying out what the node wants, and the end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::Driver;
use crate::event::{Event, JoinFailure, State, StopReason};
use crate::output::Output;
use crate::runtime::handle::explain;
use crate::runtime::trace::{StepKind, Tracer};
use crate::time::Timestamp;
use crate::transport::TransportError;

/// How long a stopping member waits for its last frames to be handed over.
const LAST_FRAMES: Duration = Duration::from_secs(1);
/// How long it waits for its transport to close.
const CLOSING: Duration = Duration::from_secs(1);

impl Driver {
    /// Carries out this turn's outputs, in their order; datagrams leave in one batch.
    pub(super) async fn carry_out(&mut self, now: Timestamp) -> Result<(), TransportError> {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            self.carry_out_one(now, output);
        }
        self.outputs = outputs;
        self.effects.flush().await?;
        if self.life.is_running() && self.node.is_stopped() && self.ended.is_none() {
            // A stopped node that did not say why would hang its user.
            self.node_ended(now, StopReason::Aborted);
        }
        if !self.life.is_running() {
            self.publish();
        }
        Ok(())
    }

    fn carry_out_one(&mut self, now: Timestamp, output: Output) {
        let counters = &self.shared.counters;
        match output {
            Output::Send { to, datagram } => match self.effects.send(to, &datagram) {
                Ok(()) => {
                    counters.datagrams_sent.add_one(datagram.body.name());
                    self.trace.record(now, &self.me, StepKind::SentDatagram { to, datagram: &datagram });
                }
                Err(error) => {
                    counters.dropped.add_one("too_large");
                    tracing::error!(target: "gms::datagram_too_large", %error);
                }
            },
            Output::SendStream { to, frame, deadline, token } => {
                counters.frames_sent.add_one(frame.body.name());
                self.trace.record(now, &self.me, StepKind::SentFrame { to, frame: &frame });
                self.effects.send_frame(token, to, &frame, deadline);
            }
            Output::StartProbe { probe, target, deadline } => {
                counters.probes_started.add_one();
                self.trace.record(now, &self.me, StepKind::ProbeStarted { target: &target });
                self.effects.start_probe(probe, target, deadline);
            }
            Output::StopProbe { probe } => self.effects.stop_probe(probe),
            Output::StartWatch { watch, address } => {
                self.trace.record(now, &self.me, StepKind::WatchStarted { address });
                self.effects.start_watch(watch, address);
            }
            Output::StopWatch { watch } => self.effects.stop_watch(watch),
            Output::AnswerCheck { handle, answer } => {
                if self.effects.answer_check(handle, &answer) {
                    counters.checks_answered.add_one();
                    self.trace.record(now, &self.me, StepKind::CheckAnswered { answer });
                } else {
                    counters.dropped.add_one("too_many_checks");
                }
            }
            Output::Event(event) => self.tell(now, event),
            Output::CommandDone { token, result } => self.answer_command(token, result),
        }
    }

    fn tell(&mut self, now: Timestamp, event: Event) {
        let event = match event {
            Event::Stopped { reason } => return self.node_ended(now, reason),
            Event::Joined { view } if self.life.joined(now) => Event::Rejoined { view },
            event => event,
        };
        if matches!(event, Event::Paused { .. }) {
            self.shared.counters.pauses.add_one();
        }
        let excluded = matches!(event, Event::Excluded { .. });
        self.announce(now, event);
        if excluded {
            self.node_ended(now, StopReason::Excluded);
        }
    }

    fn announce(&mut self, now: Timestamp, event: Event) {
        self.trace.record(now, &self.me, StepKind::Event(&event));
        self.shared.counters.events.add_one();
        self.events.publish(event);
    }

    /// The node has ended: the member has stopped, or another incarnation follows.
    fn node_ended(&mut self, now: Timestamp, reason: StopReason) {
        if !self.life.is_running() || self.ended.is_some() {
            return;
        }
        let reason = match reason {
            StopReason::JoinFailed(failure) => {
                StopReason::JoinFailed(JoinFailure { unresolved: self.resolver.unresolved(), ..failure })
            }
            reason => reason,
        };
        let failure = match &reason {
            StopReason::JoinFailed(failure) => Some(explain(failure)),
            _ => None,
        };
        self.ended = self.life.ended(now, reason);
        if self.ended.is_none() {
            if let Some(why) = failure {
                tracing::warn!(target: "gms::join_tried_again", name = %self.me.name, %why);
            }
            self.effects.reset();
            self.awaiting.clear();
        }
    }

    /// Hands over the last frames, closes the transport, and tells everybody that the member has stopped.
    pub(super) async fn finish(&mut self, reason: StopReason) {
        self.shared.publish(None, final_state(&reason), Timestamp::ZERO);
        if !matches!(reason, StopReason::Aborted | StopReason::TransportFailed(_)) {
            // What is not handed over by then is lost, like anything on a network.
            let _ = timeout(LAST_FRAMES, self.effects.finish_frames()).await;
        }
        self.effects.reset();
        if timeout(CLOSING, Arc::clone(&self.transport).close()).await.is_err() {
            tracing::warn!(target: "gms::transport_not_closed", transport = self.transport.name());
        }
        self.stop(reason);
    }

    fn stop(&mut self, reason: StopReason) {
        self.finished = true;
        self.shared.publish(None, final_state(&reason), Timestamp::ZERO);
        self.announce(self.last_now, Event::Stopped { reason: reason.clone() });
        self.shared.set_stopped(reason);
    }
}

/// A loop that dies leaves nobody waiting.
impl Drop for Driver {
    fn drop(&mut self) {
        if !self.finished {
            // The sink may be what died.
            self.trace = Tracer::default();
            self.stop(StopReason::Aborted);
        }
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("life", &self.life)
            .field("effects", &self.effects)
            .finish_non_exhaustive()
    }
}

const fn final_state(reason: &StopReason) -> State {
    match reason {
        StopReason::Excluded => State::Excluded,
        _ => State::Leaving,
    }
}
