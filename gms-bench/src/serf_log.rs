//! What a member of serf sees, read from its log.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::line::Line;

/// The members that one of them holds for alive.
#[derive(Debug)]
pub(crate) struct SerfLog {
    names: Vec<(String, SocketAddr)>,
    alive: BTreeSet<SocketAddr>,
}

impl SerfLog {
    /// The log of one of these members.
    pub(crate) fn of(names: Vec<(String, SocketAddr)>) -> Self {
        Self { names, alive: BTreeSet::new() }
    }

    /// What the member sees after this line of its log, if that changed. The moment is that of reading.
    pub(crate) fn read(&mut self, text: &str) -> Option<Line> {
        let (_, event) = text.split_once("serf: EventMember")?;
        let (kind, rest) = event.split_once(": ")?;
        let name = rest.split_whitespace().next()?;
        let address = self.names.iter().find(|(known, _)| known == name)?.1;
        let changed = match kind {
            "Join" => self.alive.insert(address),
            "Failed" | "Leave" | "Reap" => self.alive.remove(&address),
            _ => false,
        };
        changed.then(|| Line::of(self.alive.iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_tells_who_joined_and_who_failed() {
        let address = |n: u8| SocketAddr::from(([10, 0, 0, n], 7946));
        let mut log = SerfLog::of(vec![("m1".into(), address(1)), ("m2".into(), address(2))]);
        let members = |line: Option<Line>| line.map(|line| line.members);
        assert_eq!(
            members(log.read("    2026/11/30 03:00:00 [INFO] serf: EventMemberJoin: m1 10.0.0.1")),
            Some(vec![address(1)])
        );
        let joined = "2026/11/30 03:00:01 [INFO] serf: EventMemberJoin: m2 10.0.0.2";
        assert_eq!(members(log.read(joined)), Some(vec![address(1), address(2)]));
        assert_eq!(members(log.read(joined)), None);
        assert_eq!(members(log.read("2026/11/30 03:00:02 [INFO] serf: EventMemberUpdate: m2")), None);
        let failed = "2026/11/30 03:00:09 [INFO] serf: EventMemberFailed: m2 10.0.0.2";
        assert_eq!(members(log.read(failed)), Some(vec![address(1)]));
    }
}
