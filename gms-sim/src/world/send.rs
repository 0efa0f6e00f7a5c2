//! What a node's outputs bring about: packets, connections, results that come back.

use std::sync::Arc;
use std::time::Duration;

use gms_core::codec;
use gms_core::event::ExclusionCause;
use gms_core::evidence::ProbeOutcome;
use gms_core::input::{Input, SendFailure};
use gms_core::message::{CheckAnswer, Datagram, Frame};
use gms_core::output::{CheckTarget, Destination, FrameToken, ProbeId};
use gms_core::{Event, Output, Timestamp, View};

use crate::network::{Squatter, StreamMode, address, host_of};

use super::{Arrival, Item, Parcel, Route, World};

impl World {
    /// Carries one output out.
    pub(super) fn carry(&mut self, from: usize, output: Output) {
        match output {
            Output::Send { to, datagram } => self.send_datagram(from, to, &datagram),
            Output::SendStream { to, frame, deadline, token } => {
                self.send_frame(from, to, &frame, deadline, token);
            }
            Output::StartProbe { probe, target, deadline } => self.start_probe(from, probe, target, deadline),
            Output::AnswerCheck { handle, answer } => {
                let Some((asker, probe)) = self.streams.take_check(handle) else { return };
                let outcome = match answer {
                    CheckAnswer::Ok => ProbeOutcome::Ok,
                    CheckAnswer::Other(id) => ProbeOutcome::Other(id),
                    CheckAnswer::Sick => ProbeOutcome::Sick,
                    CheckAnswer::Elsewhere => ProbeOutcome::Elsewhere,
                };
                let (host, to) = (self.processes[from].host, self.processes[asker].host);
                if self.net.passes(host, to) {
                    let at = self.now + self.net.transit(host, to);
                    self.push_result(at, asker, Input::ProbeDone { probe, outcome });
                }
            }
            Output::Event(event) => self.follow_event(from, &event),
            Output::StopProbe { probe } => {
                self.streams.close_probe(from, probe);
            }
            Output::StartWatch { watch, address } => self.start_watch(from, watch, address),
            Output::StopWatch { watch } => self.watches.stop(from, watch),
            Output::CommandDone { .. } => {}
        }
    }

    fn send_datagram(&mut self, from: usize, to: std::net::SocketAddr, datagram: &Datagram) {
        let process = &self.processes[from];
        let (host, source) = (process.host, address(process.host, process.slot));
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        codec::encode_datagram(datagram, &mut bytes).expect("what a node sends can be encoded");
        self.metrics.count_datagram(bytes.len());
        let Some((to_host, port)) = host_of(to) else {
            self.spare.push(bytes);
            return;
        };
        let [first, second] = self.net.carry_datagram(self.now, host, to_host, bytes.len());
        if let Some(at) = second {
            let bytes = bytes.clone();
            self.queue.push(at, Item::Datagram { host: to_host, port, from: source, bytes });
        }
        match first {
            Some(at) => self.queue.push(at, Item::Datagram { host: to_host, port, from: source, bytes }),
            None => self.spare.push(bytes),
        }
    }

    fn send_frame(
        &mut self,
        from: usize,
        to: Destination,
        frame: &Frame,
        deadline: Duration,
        token: FrameToken,
    ) {
        let mut bytes = Vec::new();
        codec::encode_frame(frame, &mut bytes).expect("what a node sends can be encoded");
        self.metrics.count_frame(bytes.len());
        let route = match to {
            Destination::Address(addr) => host_of(addr).map(|(host, port)| Route::Listener(host, port)),
            Destination::Reply(handle) => self.streams.reply_to(handle).map(Route::Process),
        };
        let Some(route) = route else {
            let failure = SendFailure::Broken;
            return self.push_result(self.now, from, Input::FrameFailed { token, failure });
        };
        let give_up_at = self.now + deadline;
        self.dispatch(Parcel { from, to: route, token, bytes, give_up_at, tries: 0 });
    }

    /// Sends a parcel off: it arrives when TCP gets it through, in the order of its direction.
    fn dispatch(&mut self, parcel: Parcel) {
        let from_host = self.processes[parcel.from].host;
        let to_host = match parcel.to {
            Route::Listener(host, _) => host,
            Route::Process(index) => self.processes[index].host,
        };
        self.net.host_mut(to_host);
        let deadline = parcel.give_up_at.since(self.now);
        let transit = self.net.stream_transit(from_host, to_host, deadline);
        let works = self.net.passes_both_ways(from_host, to_host);
        let Some(transit) = transit.filter(|_| works) else { return self.try_later(parcel) };
        let key = match parcel.to {
            Route::Listener(host, port) => self.listener(host, port),
            Route::Process(index) => Some(index),
        };
        let at = self.now + transit;
        let at = key.map_or(at, |to| self.streams.in_order(parcel.from, to, at));
        self.queue.push(at, Item::Parcel(Box::new(parcel)));
    }

    /// TCP sends again after a while, as long as the sender waits.
    pub(super) fn try_later(&mut self, mut parcel: Parcel) {
        let pause = Duration::from_millis(200) * 2u32.saturating_pow(parcel.tries.min(6));
        parcel.tries += 1;
        let at = self.now + pause;
        if at >= parcel.give_up_at {
            let failed = Input::FrameFailed { token: parcel.token, failure: SendFailure::TimedOut };
            return self.push_result(parcel.give_up_at, parcel.from, failed);
        }
        self.queue.push(at, Item::Parcel(Box::new(parcel)));
    }

    fn start_probe(&mut self, from: usize, probe: ProbeId, target: CheckTarget, deadline: Duration) {
        let host = self.processes[from].host;
        let end = self.now + deadline;
        let done = |outcome| Input::ProbeDone { probe, outcome };
        self.streams.open_probe(from, probe);
        let Some((to, port)) = host_of(target.address) else {
            return self.push_result(self.now, from, done(ProbeOutcome::Unreachable));
        };
        self.net.host_mut(to);
        let state = self.net.host(to).expect("made in the line before");
        let (rejects, mode, squatter) = (state.rejects, state.streams, state.squatter);
        let own_mode = self.net.host(host).map_or(StreamMode::Work, |state| state.streams);
        let passes = self.net.passes_both_ways(host, to);
        let transit = self.net.stream_transit(host, to, deadline).filter(|_| passes);
        // Whatever happens, the prober hears of it at its deadline at the latest.
        self.push_result(end, from, done(ProbeOutcome::TimedOut));
        let Some(transit) = transit else { return };
        let back = self.now + transit + self.net.transit(to, host);
        if rejects {
            return self.push_result(back, from, done(ProbeOutcome::Refused));
        }
        match (mode, own_mode) {
            (StreamMode::Work, StreamMode::Work) => {}
            (StreamMode::Break, _) | (_, StreamMode::Break) => {
                return self.push_result(back, from, done(ProbeOutcome::Reset));
            }
            _ => return,
        }
        match (self.listener(to, port), squatter) {
            (Some(process), _) => {
                let handle = self.streams.open_check(from, probe);
                let arrival = Arrival::Check { from, handle, request: target.request };
                self.queue.push(self.now + transit, Item::Arrival { process, arrival });
            }
            (None, None) => self.push_result(back, from, done(ProbeOutcome::Refused)),
            (None, Some(Squatter::Silent)) => {}
            (None, Some(Squatter::Resets)) => self.push_result(back, from, done(ProbeOutcome::Reset)),
            (None, Some(Squatter::Garbage)) => self.push_result(back, from, done(ProbeOutcome::Garbage)),
        }
    }

    pub(super) fn push_result(&mut self, at: Timestamp, process: usize, input: Input) {
        let arrival = Arrival::Result(Box::new(input));
        self.queue.push(at, Item::Arrival { process, arrival });
    }

    /// What the runtime around a node does at some of its events.
    fn follow_event(&mut self, index: usize, event: &Event) {
        match event {
            Event::ViewInstalled(change) => {
                let process = &mut self.processes[index];
                let me = process.member.id;
                let others = change.view.members().iter().map(|m| &m.member).filter(|m| m.id != me);
                // Enough to find the way back; a whole list for each of a thousand members would not fit.
                process.way_back = others.take(8).map(|m| m.endpoint.addr).collect();
                process.comeback.joined(self.now);
                self.share(index, &change.view);
            }
            Event::Excluded { cause: ExclusionCause::GaveWay { at, .. }, .. } => {
                let process = &mut self.processes[index];
                process.comeback.gives_way();
                process.way_back.push(*at);
            }
            Event::Stopped { reason } => {
                self.streams.forget(index);
                self.end_watches(index, gms_core::input::WatchEnd::Goodbye);
                let process = &mut self.processes[index];
                let wait = process.comes_back_after(self.now, &self.scenario, reason, &mut self.rng);
                if let Some(wait) = wait {
                    let (host, slot) = (process.host, process.slot);
                    self.queue.push(self.now + wait, Item::Begin { host, slot, after: index });
                }
            }
            _ => {}
        }
    }

    /// Lets nodes that installed equal views hold one copy: a thousand views of a thousand members would not fit.
    fn share(&mut self, index: usize, view: &Arc<View>) {
        match &self.newest {
            Some(newest) if newest.id() == view.id() && self.processes[index].node.share_view(newest) => {}
            Some(newest) if newest.id() >= view.id() => {}
            _ => self.newest = Some(Arc::clone(view)),
        }
    }
}
