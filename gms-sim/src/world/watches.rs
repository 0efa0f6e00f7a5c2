//! Watch connections and ICMP errors: what kernels tell at once when a process dies, and what they get wrong.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use gms_core::input::{Input, WatchEnd};
use gms_core::output::WatchId;

use crate::network::{Host, host_of};

use super::{Item, World};

/// How long a kernel takes to tear a killed process down: the median measured for an idle TCP connection on Linux 6.18.
const TEARDOWN: Duration = Duration::from_micros(2_900);
/// How long a connection is tried: three unanswered ARP requests, one second each.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Open watch connections: by process and name, where they lead and, once open, to which process.
#[derive(Debug, Default)]
pub(super) struct Watches {
    open: BTreeMap<(usize, WatchId), (SocketAddr, Option<usize>)>,
}

impl Watches {
    /// Closes one from the watcher's side.
    pub(super) fn stop(&mut self, process: usize, watch: WatchId) {
        self.open.remove(&(process, watch));
    }

    /// Forgets one that has ended. Returns where it led, if it was wanted.
    pub(super) fn close(&mut self, process: usize, watch: WatchId) -> Option<SocketAddr> {
        self.open.remove(&(process, watch)).map(|(address, _)| address)
    }
}

impl World {
    /// A process opens a watch connection.
    pub(super) fn start_watch(&mut self, process: usize, watch: WatchId, address: SocketAddr) {
        if !self.scenario.transport.watch_shows_crashes() {
            return;
        }
        self.watches.open.insert((process, watch), (address, None));
        let failed = Input::WatchEnded { watch, end: WatchEnd::Failed };
        let Some((host, port)) = host_of(address) else {
            return self.push_result(self.now, process, failed);
        };
        self.net.host_mut(host);
        let own = self.processes[process].host;
        match self.net.stream_transit(own, host, CONNECT_TIMEOUT) {
            Some(transit) if self.net.passes_both_ways(own, host) => {
                let item = Item::WatchOpens { process, watch, host, port, address };
                self.queue.push(self.now + transit, item);
            }
            _ => self.push_result(self.now + CONNECT_TIMEOUT, process, failed),
        }
    }

    /// A watch connection reaches the other end: a kernel accepts for whoever listens, also where its process is stopped.
    pub(super) fn open_watch(
        &mut self,
        process: usize,
        watch: WatchId,
        (host, port): (Host, u16),
        address: SocketAddr,
    ) {
        let own = self.processes[process].host;
        let back = self.now + self.net.transit(host, own);
        let state = self.net.host(host).cloned().unwrap_or_default();
        let end = |end| Input::WatchEnded { watch, end };
        if !self.net.passes_both_ways(own, host) {
            return self.push_result(self.now + CONNECT_TIMEOUT, process, end(WatchEnd::Failed));
        }
        match self.listener(host, port) {
            _ if state.rejects => self.push_result(back, process, end(WatchEnd::Refused)),
            Some(target) => {
                if let Some(open) = self.watches.open.get_mut(&(process, watch)) {
                    *open = (address, Some(target));
                }
            }
            None if state.squatter.is_some() => {}
            None => self.push_result(back, process, end(WatchEnd::Refused)),
        }
    }

    /// A process is gone, or closes in order: watchers learn of it where packets pass.
    pub(super) fn end_watches(&mut self, target: usize, end: WatchEnd) {
        self.watches.open.retain(|(process, _), _| *process != target);
        let watched: Vec<(usize, WatchId)> = self
            .watches
            .open
            .iter()
            .filter(|(_, (_, to))| *to == Some(target))
            .map(|(key, _)| *key)
            .collect();
        let host = self.processes[target].host;
        for (process, watch) in watched {
            let own = self.processes[process].host;
            if self.net.passes_both_ways(host, own) {
                let at = self.now + TEARDOWN + self.net.transit(host, own);
                self.push_result(at, process, Input::WatchEnded { watch, end });
            }
        }
    }

    /// A connection tracker forgets the connections to and from a host.
    pub(super) fn forget_connections(&mut self, host: Host) {
        let touches = |process: usize, to: Option<usize>| {
            let host_of = |index: usize| self.processes[index].host;
            host_of(process) == host || to.is_some_and(|to| host_of(to) == host)
        };
        let broken: Vec<(usize, WatchId)> = self
            .watches
            .open
            .iter()
            .filter(|((process, _), (_, to))| touches(*process, *to))
            .map(|(key, _)| *key)
            .collect();
        for (process, watch) in broken {
            self.push_result(self.now, process, Input::WatchEnded { watch, end: WatchEnd::Broken });
        }
    }

    /// A datagram found nobody: the host's kernel says so, if it may.
    pub(super) fn report_unreachable(&mut self, host: Host, port: u16, from: SocketAddr) {
        let is_up = self.net.host(host).is_some_and(|state| !state.is_down && state.squatter.is_none());
        let Some((sender_host, sender_port)) = host_of(from) else { return };
        if !is_up || !self.net.passes(host, sender_host) || !self.net.takes_error(self.now, host) {
            return;
        }
        let Some(process) = self.listener(sender_host, sender_port) else { return };
        let to = crate::network::address(host, port - crate::network::PORT);
        let at = self.now + self.net.transit(host, sender_host);
        self.push_result(at, process, Input::Unreachable { to });
    }
}
