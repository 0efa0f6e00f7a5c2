//! What kernels remember of streams: whose answer goes where, and that bytes of one direction keep their order.

use std::collections::{BTreeMap, BTreeSet};

use gms_core::Timestamp;
use gms_core::input::{CheckHandle, ReplyHandle};
use gms_core::output::ProbeId;

/// Handles kept open at most: beyond that the oldest close, as a real listener's would.
const HANDLES_MAX: usize = 4_096;

/// Streams and connections that wait for an answer. Processes are named by their place in the world's list.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    last: u64,
    replies: BTreeMap<u64, usize>,
    checks: BTreeMap<u64, (usize, ProbeId)>,
    ordered: BTreeMap<(usize, usize), Timestamp>,
    probes: BTreeSet<(usize, ProbeId)>,
}

impl Streams {
    /// A handle by which the receiver of a frame answers process `sender`.
    pub(crate) fn open_reply(&mut self, sender: usize) -> ReplyHandle {
        self.last += 1;
        self.replies.insert(self.last, sender);
        if self.replies.len() > HANDLES_MAX {
            self.replies.pop_first();
        }
        ReplyHandle(self.last)
    }

    /// The process that a handle leads to.
    pub(crate) fn reply_to(&self, handle: ReplyHandle) -> Option<usize> {
        self.replies.get(&handle.0).copied()
    }

    /// A handle by which a check of process `asker` is answered.
    pub(crate) fn open_check(&mut self, asker: usize, probe: ProbeId) -> CheckHandle {
        self.last += 1;
        self.checks.insert(self.last, (asker, probe));
        if self.checks.len() > HANDLES_MAX {
            self.checks.pop_first();
        }
        CheckHandle(self.last)
    }

    /// Who asked, once.
    pub(crate) fn take_check(&mut self, handle: CheckHandle) -> Option<(usize, ProbeId)> {
        self.checks.remove(&handle.0)
    }

    /// Remembers that a process waits for a probe's result.
    pub(crate) fn open_probe(&mut self, asker: usize, probe: ProbeId) {
        self.probes.insert((asker, probe));
    }

    /// Whether a process waits for that result: the first one counts, later ones come to a closed connection.
    pub(crate) fn close_probe(&mut self, asker: usize, probe: ProbeId) -> bool {
        self.probes.remove(&(asker, probe))
    }

    /// When bytes that could arrive at `at` do, behind those sent before them in the same direction.
    pub(crate) fn in_order(&mut self, from: usize, to: usize, at: Timestamp) -> Timestamp {
        let last = self.ordered.entry((from, to)).or_insert(at);
        *last = at.max(*last);
        *last
    }

    /// Forgets the streams of a process that is gone.
    pub(crate) fn forget(&mut self, process: usize) {
        self.replies.retain(|_, sender| *sender != process);
        self.checks.retain(|_, (asker, _)| *asker != process);
        self.probes.retain(|(asker, _)| *asker != process);
        self.ordered.retain(|(from, to), _| *from != process && *to != process);
    }
}
