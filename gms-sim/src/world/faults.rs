//! Faults: what the scenario does to processes, machines and the network.

use std::time::Duration;

use gms_core::input::WatchEnd;
use gms_core::{Command, Input, Timestamp};

use crate::network::Host;
use crate::process::Running;
use crate::scenario::Fault;
use crate::truth::LossKind;

use super::{Item, World};

impl World {
    /// Applies a fault at this moment.
    pub(super) fn apply(&mut self, fault: Fault) {
        self.apply_one(fault.clone());
        self.observe(|observer, look| {
            observer.inflicted(look, &fault);
            Ok(())
        });
        self.note_calm();
    }

    fn apply_one(&mut self, fault: Fault) {
        match fault {
            Fault::Start { host } => {
                if self.process_on(host).is_none() {
                    self.begin(host, 0, None);
                }
            }
            Fault::Crash { host } => self.crash(host),
            Fault::Restart { host, elsewhere } => {
                let slot = self.process_on(host).map_or(0, |index| self.processes[index].slot);
                self.crash(host);
                self.begin(host, if elsewhere { (slot + 1) % 1_000 } else { slot }, None);
            }
            Fault::Stop { host } => {
                if let Some(index) = self.process_on(host) {
                    self.truth.lost(self.now, &self.processes, index, LossKind::Stopped);
                    self.set_running(index, Running::Stopped);
                }
            }
            Fault::Continue { host } => {
                if let Some(index) = self.process_on(host) {
                    self.set_running(index, Running::Yes);
                }
            }
            Fault::Starve { host, share, period } => {
                if let Some(index) = self.process_on(host) {
                    let starved = Running::Starved { since: self.now, share, period };
                    self.set_running(index, if share < 1.0 { starved } else { Running::Yes });
                }
            }
            Fault::Suspend { host, span } => {
                self.net.host_mut(host).is_down = true;
                if let Some(index) = self.process_on(host) {
                    self.set_running(index, Running::Stopped);
                }
                self.queue.push(self.now + span, Item::Awake { host });
            }
            Fault::Drift { host, ppm } => {
                if let Some(index) = self.process_on(host) {
                    self.processes[index].clock.set_drift(self.now, ppm);
                    self.processes[index].wake = None;
                    self.plan_wake(index);
                }
            }
            Fault::JumpWallClock { host, seconds } => {
                if let Some(index) = self.process_on(host) {
                    self.processes[index].clock.jump_wall(seconds.saturating_mul(1_000));
                }
            }
            Fault::Leave { host } => {
                if let Some(index) = self.process_on(host) {
                    self.processes[index].is_leaving = true;
                    self.command(index, Command::Leave);
                }
            }
            Fault::Expel { host, by } => self.expel(host, by),
            Fault::Sick { host, sick } => {
                if let Some(index) = self.process_on(host) {
                    self.command(index, Command::SetSick(sick));
                }
            }
            fault => self.apply_to_network(fault),
        }
    }

    fn apply_to_network(&mut self, fault: Fault) {
        match fault {
            Fault::Cut { from, to } => {
                self.net.host_mut(from.max(to));
                self.net.cut(from, to);
            }
            Fault::Partition { groups } => self.net.partition(&groups),
            Fault::Down { host } => {
                self.net.host_mut(host).is_down = true;
                if let Some(index) = self.process_on(host) {
                    self.truth.lost(self.now, &self.processes, index, LossKind::HostLost);
                }
            }
            Fault::Up { host } => {
                self.net.host_mut(host).is_down = false;
            }
            Fault::Loss { share } => {
                let mut link = self.net.default_link().clone();
                link.loss = share;
                self.net.set_default(link);
            }
            Fault::HostLoss { host, inward, outward } => {
                let state = self.net.host_mut(host);
                (state.loss_in, state.loss_out) = (inward, outward);
            }
            Fault::FlipFlop { host, period, span, outward } => {
                self.flip_flop(host, outward, true, period, self.now + span);
            }
            Fault::Link { from, to, link } => {
                self.net.host_mut(from.max(to));
                self.net.set_link(from, to, link);
            }
            Fault::Links { link } => self.net.set_default(link),
            Fault::Streams { host, mode } => self.net.host_mut(host).streams = mode,
            Fault::Forget { host } => self.forget_connections(host),
            Fault::Reject { host, on } => self.net.host_mut(host).rejects = on,
            Fault::Squat { host, squatter } if self.process_on(host).is_none() => {
                self.net.host_mut(host).squatter = Some(squatter);
            }
            Fault::Heal => self.heal(),
            _ => {}
        }
    }

    /// The process that is up on a host: the newest.
    pub(crate) fn process_on(&self, host: Host) -> Option<usize> {
        let listeners = self.listeners.get(host)?;
        listeners.iter().rev().map(|(_, index)| *index).find(|index| self.processes[*index].is_up())
    }

    fn command(&mut self, index: usize, command: Command) {
        self.arrive(index, super::Arrival::Result(Box::new(Input::Command(command))));
    }

    fn crash(&mut self, host: Host) {
        let Some(index) = self.process_on(host) else {
            // What waits to come back after an exclusion dies as well.
            let last = self.listeners.get(host).and_then(|l| l.last()).map(|(_, index)| *index);
            if let Some(index) = last {
                self.processes[index].is_alive = false;
            }
            return;
        };
        self.truth.lost(self.now, &self.processes, index, LossKind::Crashed);
        self.processes[index].is_alive = false;
        self.processes[index].take_held();
        self.streams.forget(index);
        self.end_watches(index, WatchEnd::Broken);
    }

    fn expel(&mut self, host: Host, by: Host) {
        let (Some(index), Some(operator)) = (self.process_on(host), self.process_on(by)) else { return };
        let member = self.processes[index].member.id;
        let reason = String::from("the scenario says so");
        self.command(operator, Command::Remove { member, reason });
    }

    pub(super) fn wake_machine(&mut self, host: Host) {
        self.net.host_mut(host).is_down = false;
        if let Some(index) = self.process_on(host) {
            self.set_running(index, Running::Yes);
        }
        self.note_calm();
    }

    pub(super) fn flip_flop(
        &mut self,
        host: Host,
        outward: bool,
        lossy: bool,
        period: Duration,
        until: Timestamp,
    ) {
        let ends = self.now >= until;
        let share = if lossy && !ends { 1.0 } else { 0.0 };
        let state = self.net.host_mut(host);
        if outward {
            state.loss_out = share;
        } else {
            state.loss_in = share;
        }
        if !ends {
            let next = Item::FlipFlop { host, outward, lossy: !lossy, period, until };
            self.queue.push((self.now + period).min(until), next);
        }
        self.note_calm();
    }

    fn note_calm(&mut self) {
        let running = self.processes.iter().filter(|p| p.is_up()).all(|p| p.running == Running::Yes);
        self.truth.note_calm(self.now, running && self.net.is_calm());
    }

    fn heal(&mut self) {
        self.net.heal(self.scenario.network.clone());
        for index in 0..self.processes.len() {
            let process = &self.processes[index];
            if process.is_up() && process.running != Running::Yes {
                self.set_running(index, Running::Yes);
            }
            // Also of one that waits to come back, which runs on as it ran.
            self.processes[index].running = Running::Yes;
        }
    }

    /// Heals, and starts what has to run for anybody to find the others: the seeds, where a process ever ran.
    pub(crate) fn restore(&mut self) {
        self.apply(Fault::Heal);
        for host in 0..self.scenario.seeds.min(self.listeners.len()) {
            let ever_ran = !self.listeners[host].is_empty();
            if ever_ran && self.process_on(host).is_none() && !self.waits_to_come_back(host) {
                self.begin(host, 0, None);
            }
        }
    }

    fn waits_to_come_back(&self, host: Host) -> bool {
        let last = self.listeners.get(host).and_then(|l| l.last()).map(|(_, index)| *index);
        last.is_some_and(|index| {
            let process = &self.processes[index];
            process.is_alive && !process.is_leaving && process.comeback.is_out()
        })
    }
}
