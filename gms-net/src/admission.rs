//! How many incoming connections there may be, overall and from one address, and which makes room for another.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What happens to a new connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// There is room.
    Admit,
    /// There is room once this older one, which has brought nothing whole yet, is closed.
    Replace(usize),
    /// All others have proven to be of use: this one is closed.
    Refuse,
}

#[derive(Debug, Default)]
struct Source {
    connections: usize,
    /// Connections that have not yet brought a whole frame. Serial numbers grow, so the first is the oldest.
    fresh: BTreeSet<usize>,
}

/// The incoming connections by address.
///
/// A flood of connections that say nothing pushes out its own oldest and leaves alone those that carried a frame:
/// a peer that does have something to say is never locked out, as its first words come within a round trip.
//= docs/protocol.md#wr-4
#[derive(Debug)]
pub struct Admission {
    max: usize,
    per_source_max: usize,
    connections: usize,
    fresh: BTreeSet<usize>,
    sources: BTreeMap<IpAddr, Source>,
}

impl Admission {
    /// Nobody is in; at most `max` may be, and `per_source_max` from one address.
    pub fn new(max: usize, per_source_max: usize) -> Self {
        let sources = BTreeMap::new();
        Self { max, per_source_max, connections: 0, fresh: BTreeSet::new(), sources }
    }

    /// Says what to do with another connection from `ip`. Changes nothing.
    pub fn ask(&self, ip: IpAddr) -> Verdict {
        let replace =
            |fresh: &BTreeSet<usize>| fresh.first().map_or(Verdict::Refuse, |s| Verdict::Replace(*s));
        match self.sources.get(&ip) {
            Some(source) if source.connections >= self.per_source_max => replace(&source.fresh),
            _ if self.connections >= self.max => replace(&self.fresh),
            _ => Verdict::Admit,
        }
    }

    /// Counts a connection in.
    pub fn enter(&mut self, ip: IpAddr, serial: usize) {
        self.connections += 1;
        self.fresh.insert(serial);
        let source = self.sources.entry(ip).or_default();
        source.connections += 1;
        source.fresh.insert(serial);
    }

    /// The connection brought a whole frame.
    pub fn prove(&mut self, ip: IpAddr, serial: usize) {
        if self.fresh.remove(&serial)
            && let Some(source) = self.sources.get_mut(&ip)
        {
            source.fresh.remove(&serial);
        }
    }

    /// Counts a connection out that was counted in.
    pub fn leave(&mut self, ip: IpAddr, serial: usize) {
        self.prove(ip, serial);
        self.connections -= 1;
        if let Some(source) = self.sources.get_mut(&ip) {
            source.connections -= 1;
            if source.connections == 0 {
                self.sources.remove(&ip);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn a_source_at_its_bound_replaces_its_own_oldest_that_said_nothing() {
        let mut admission = Admission::new(10, 2);
        admission.enter(B, 1);
        admission.enter(A, 2);
        admission.enter(A, 3);
        assert_eq!(admission.ask(A), Verdict::Replace(2));
        admission.prove(A, 2);
        assert_eq!(admission.ask(A), Verdict::Replace(3));
        admission.prove(A, 3);
        assert_eq!(admission.ask(A), Verdict::Refuse);
        assert_eq!(admission.ask(B), Verdict::Admit);
    }

    #[test]
    fn at_the_bound_of_all_sources_the_oldest_of_all_makes_room() {
        let mut admission = Admission::new(2, 2);
        admission.enter(A, 1);
        admission.enter(B, 2);
        assert_eq!(admission.ask(B), Verdict::Replace(1));
        admission.leave(A, 1);
        assert_eq!(admission.ask(B), Verdict::Admit);
    }

    #[test]
    fn nothing_is_kept_of_a_source_without_connections() {
        let mut admission = Admission::new(2, 2);
        admission.enter(A, 1);
        admission.leave(A, 1);
        assert!(admission.sources.is_empty());
        assert!(admission.fresh.is_empty());
    }
}
