//! What arrives: packets at a host's kernel, then at a process that reads them, and timers.

use std::time::Duration;

use gms_core::codec;
use gms_core::input::{Input, SendFailure};
use gms_core::runtime::StepKind;

use crate::network::StreamMode;
use crate::process::Running;

use super::{Arrival, Item, Parcel, Route, World};

/// Spare buffers kept for datagrams.
const SPARE_MAX: usize = 4_096;

impl World {
    /// Lets one item happen.
    pub(super) fn happen(&mut self, item: Item) {
        match item {
            Item::Datagram { host, port, from, bytes } => match self.listener(host, port) {
                Some(index) if !self.is_off(index) => {
                    self.arrive(index, Arrival::Datagram { from, bytes });
                }
                None => {
                    self.report_unreachable(host, port, from);
                    self.recycle(bytes);
                }
                Some(_) => self.recycle(bytes),
            },
            Item::Parcel(parcel) => self.deliver(*parcel),
            Item::Arrival { process, arrival } => self.arrive(process, arrival),
            Item::Wake { process, plan } => self.wake(process, plan),
            Item::Resume { process, since } => {
                let running = self.processes[process].running;
                if matches!(running, Running::Starved { since: begun, .. } if begun == since) {
                    self.catch_up(process);
                }
            }
            Item::Begin { host, slot, after } => {
                if self.listener(host, crate::network::PORT + slot).is_none()
                    && self.processes[after].is_alive
                {
                    self.begin(host, slot, Some(after));
                }
            }
            Item::Fault(fault) => self.apply(*fault),
            Item::Awake { host } => self.wake_machine(host),
            Item::WatchOpens { process, watch, host, port, address } => {
                self.open_watch(process, watch, (host, port), address);
            }
            Item::FlipFlop { host, outward, lossy, period, until } => {
                self.flip_flop(host, outward, lossy, period, until);
            }
        }
    }

    /// Whether a process's machine is off the network.
    fn is_off(&self, index: usize) -> bool {
        self.net.host(self.processes[index].host).is_some_and(|host| host.is_down)
    }

    fn recycle(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(bytes);
        }
    }

    /// A frame reaches the kernel of the other end, or finds that it can't.
    fn deliver(&mut self, parcel: Parcel) {
        let from_host = self.processes[parcel.from].host;
        let (to, to_host) = match parcel.to {
            Route::Listener(host, port) => (self.listener(host, port), host),
            Route::Process(index) => {
                (Some(index).filter(|index| self.processes[*index].is_up()), self.processes[index].host)
            }
        };
        if !self.net.passes_both_ways(from_host, to_host) {
            return self.try_later(parcel);
        }
        let Parcel { from, token, bytes, .. } = parcel;
        let back = self.now + self.net.transit(to_host, from_host);
        let state = |host| self.net.host(host).cloned().unwrap_or_default();
        let (state, own) = (state(to_host), state(from_host));
        if state.rejects || (to.is_none() && state.squatter.is_none()) {
            let failure = match parcel.to {
                Route::Listener(..) => SendFailure::Refused,
                Route::Process(_) => SendFailure::Broken,
            };
            return self.push_result(back, from, Input::FrameFailed { token, failure });
        }
        let modes = [state.streams, own.streams];
        if modes.contains(&StreamMode::Break) {
            let failure = SendFailure::Broken;
            return self.push_result(back, from, Input::FrameFailed { token, failure });
        }
        if modes.contains(&StreamMode::Hang) {
            let failed = Input::FrameFailed { token, failure: SendFailure::TimedOut };
            return self.push_result(parcel.give_up_at, from, failed);
        }
        // The kernel takes the bytes whether or not anybody reads them; a squatter's does the same.
        self.push_result(back, from, Input::FrameSent { token });
        if let Some(to) = to {
            self.arrive(to, Arrival::Frame { from, bytes });
        }
    }

    /// Something is there for a process: it reads it at once, or when its loop runs again.
    pub(super) fn arrive(&mut self, index: usize, arrival: Arrival) {
        if !self.processes[index].is_up() {
            return;
        }
        if self.processes[index].is_held(self.now) {
            self.processes[index].hold(arrival);
            return;
        }
        self.read(index, arrival);
    }

    fn read(&mut self, index: usize, arrival: Arrival) {
        let received_at = self.processes[index].clock.local(self.now);
        let input = match arrival {
            Arrival::Datagram { from, bytes } => {
                let datagram = codec::decode_datagram(&bytes).expect("what was encoded can be decoded");
                self.recycle(bytes);
                self.show(index, &StepKind::ReceivedDatagram { from, datagram: &datagram });
                Input::Datagram { from, received_at, datagram }
            }
            Arrival::Frame { from, bytes } => {
                let frame = codec::decode_frame(&bytes).expect("what was encoded can be decoded");
                let sender = self.processes[from].member.endpoint.check_addr;
                self.show(index, &StepKind::ReceivedFrame { from: sender, frame: &frame });
                let reply = self.streams.open_reply(from);
                Input::Frame { from: sender, reply, received_at, frame }
            }
            Arrival::Check { from, handle, request } => {
                let sender = self.processes[from].member.endpoint.check_addr;
                self.show(index, &StepKind::CheckAsked { from: sender, request: &request });
                Input::CheckAsked { handle, request }
            }
            Arrival::Result(input) => {
                match *input {
                    Input::ProbeDone { probe, .. } if !self.streams.close_probe(index, probe) => return,
                    Input::WatchEnded { watch, end } => {
                        let Some(address) = self.watches.close(index, watch) else { return };
                        self.show(index, &StepKind::WatchEnded { address, end });
                    }
                    Input::Unreachable { to } => self.show(index, &StepKind::Unreachable { to }),
                    _ => {}
                }
                *input
            }
        };
        self.handle(index, input);
    }

    fn wake(&mut self, index: usize, plan: u64) {
        let process = &mut self.processes[index];
        if !process.is_up() || process.wake.is_none_or(|(_, planned)| planned != plan) {
            return;
        }
        process.wake = None;
        if !process.is_held(self.now) {
            self.timeout(index);
        }
    }

    fn timeout(&mut self, index: usize) {
        let process = &mut self.processes[index];
        let local = process.clock.local(self.now);
        process.node.handle_timeout(local);
        self.drain(index);
    }

    /// A loop that was held runs again: it reads what is there, then looks at the clock.
    pub(super) fn catch_up(&mut self, index: usize) {
        if !self.processes[index].is_up() || self.processes[index].is_held(self.now) {
            return;
        }
        for arrival in self.processes[index].take_held() {
            self.read(index, arrival);
        }
        if self.processes[index].is_up() {
            self.timeout(index);
        }
        if let Running::Starved { since, period, .. } = self.processes[index].running {
            let into = self.now.since(since).as_nanos() % period.as_nanos();
            let left = period - Duration::from_nanos(u64::try_from(into).expect("less than a period"));
            self.queue.push(self.now + left, Item::Resume { process: index, since });
        }
    }
}
