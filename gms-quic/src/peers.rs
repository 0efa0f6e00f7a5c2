//! The table of connections by address: at most one of them is in use for each.

use std::collections::BTreeMap;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gms_core::Timestamp;
use gms_core::input::SendFailure;
use tokio::sync::{Notify, oneshot};

use crate::end::LinkEnd;
use crate::limits::{REST_MAX, REST_MIN, RESTING_MAX, WAITING_DATAGRAMS_MAX};
use crate::link::Link;
use crate::outbox::Queued;

/// What waits for a connection that is being made.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) datagrams: Vec<Bytes>,
    pub(crate) frames: Vec<Queued>,
    pub(crate) watchers: Vec<oneshot::Sender<Result<Arc<Link>, SendFailure>>>,
}

/// How it stands with an address.
#[derive(Debug)]
enum Peer {
    /// A connection is being made.
    Dialling { waiting: Waiting, dial: Arc<Dial>, failures: u32 },
    /// This one is in use.
    Linked(Arc<Link>),
    /// Nobody was reached; datagrams start no new try before then.
    Resting { failures: u32, until: Timestamp },
}

/// What whoever makes a connection is told meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Dial {
    /// The network says that nobody listens there.
    pub(crate) refused: Notify,
    /// There is no time to wait for the other side's connection, or it is there.
    pub(crate) hurry: Notify,
}

/// What is to be done after a call.
#[derive(Debug)]
pub(crate) enum Todo {
    Nothing,
    /// Make a connection.
    Dial(Arc<Dial>),
}

/// Something to be sent to an address.
#[derive(Debug)]
pub(crate) enum Item {
    Datagram(Bytes),
    Frame(Queued),
    Watcher(oneshot::Sender<Result<Arc<Link>, SendFailure>>),
}

impl Dial {
    /// Something waits for the connection, and somebody for what comes of it: a datagram may as well be a moment later.
    fn handle_item(&self, item: &Item) {
        if matches!(item, Item::Frame(_)) {
            self.hurry.notify_one();
        }
    }
}

/// What became of an [`Item`].
#[derive(Debug)]
pub(crate) enum Offered {
    /// There is a connection: it goes there.
    Linked(Arc<Link>, Item),
    /// It waits.
    Waits(Todo),
    /// A datagram that is not sent: too many wait, or nobody answered a moment ago.
    Dropped,
}

/// All connections of a transport.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    by_addr: BTreeMap<SocketAddr, Peer>,
    links: BTreeMap<u64, Arc<Link>>,
    resting: usize,
}

impl Peers {
    /// Where `item` goes.
    pub(crate) fn offer(&mut self, now: Timestamp, to: SocketAddr, item: Item) -> Offered {
        let failures = match self.by_addr.get_mut(&to) {
            Some(Peer::Linked(link)) => return Offered::Linked(Arc::clone(link), item),
            Some(Peer::Dialling { waiting, dial, .. }) => {
                dial.handle_item(&item);
                return waiting.add(item);
            }
            Some(Peer::Resting { until, .. }) if *until > now && matches!(item, Item::Datagram(_)) => {
                return Offered::Dropped;
            }
            Some(Peer::Resting { failures, .. }) => *failures,
            None => 0,
        };
        let dial = Arc::new(Dial::default());
        dial.handle_item(&item);
        let mut waiting = Waiting::default();
        let _ = waiting.add(item);
        self.set(to, Peer::Dialling { waiting, dial: Arc::clone(&dial), failures });
        Offered::Waits(Todo::Dial(dial))
    }

    /// A connection is there. Returns what waited for it, and the one that is in use from here on.
    pub(crate) fn link(
        &mut self,
        now: Timestamp,
        link: &Arc<Link>,
        overlap: Duration,
    ) -> (Waiting, Arc<Link>) {
        self.links.insert(link.serial, Arc::clone(link));
        let peer = link.peer;
        match self.by_addr.get(&peer) {
            // Both ends of it are here.
            Some(Peer::Linked(old)) if old.rank == link.rank => return (Waiting::default(), Arc::clone(old)),
            Some(Peer::Linked(old)) => {
                let old = Arc::clone(old);
                // Both sides dialled at the same time: both keep the same one. Else the other side has lost the old one.
                let together = old.dialled != link.dialled && now.since(old.since) < overlap;
                let (kept, other) =
                    if together && old.rank < link.rank { (&old, link) } else { (link, &old) };
                other.set_end(if together { LinkEnd::Replaced } else { LinkEnd::Broken });
                if other.dialled {
                    other.retired.notify_one();
                }
                let kept = Arc::clone(kept);
                self.set(peer, Peer::Linked(Arc::clone(&kept)));
                return (Waiting::default(), kept);
            }
            Some(Peer::Dialling { .. } | Peer::Resting { .. }) | None => {}
        }
        let waiting = match self.set(peer, Peer::Linked(Arc::clone(link))) {
            Some(Peer::Dialling { waiting, dial, .. }) => {
                dial.hurry.notify_one();
                waiting
            }
            _ => Waiting::default(),
        };
        (waiting, Arc::clone(link))
    }

    /// A connection is over; another one to the same address takes its place if there is one.
    pub(crate) fn unlink(&mut self, link: &Link) {
        self.links.remove(&link.serial);
        if !self.is_in_use(link) {
            return;
        }
        let spare =
            self.links.values().rev().find(|other| other.peer == link.peer && other.rank != link.rank);
        match spare.cloned() {
            Some(spare) => drop(self.set(link.peer, Peer::Linked(spare))),
            None => drop(self.by_addr.remove(&link.peer)),
        }
    }

    /// A connection could not be made. Returns what waited for it.
    pub(crate) fn dial_failed(&mut self, now: Timestamp, to: SocketAddr) -> Waiting {
        let Some(Peer::Dialling { waiting, failures, .. }) = self.by_addr.get_mut(&to) else {
            return Waiting::default();
        };
        let (waiting, failures) = (mem::take(waiting), *failures);
        let rest = REST_MIN.saturating_mul(1 << failures.min(10)).min(REST_MAX);
        self.set(to, Peer::Resting { failures: failures + 1, until: now + rest });
        self.forget_rested(now);
        waiting
    }

    /// The network says that nobody listens there.
    pub(crate) fn refuse(&self, to: SocketAddr) {
        if let Some(Peer::Dialling { dial, .. }) = self.by_addr.get(&to) {
            dial.refused.notify_one();
        }
    }

    /// Whether this attempt is still needed.
    pub(crate) fn is_dialling(&self, to: SocketAddr, attempt: &Arc<Dial>) -> bool {
        matches!(self.by_addr.get(&to), Some(Peer::Dialling { dial, .. }) if Arc::ptr_eq(dial, attempt))
    }

    /// The connection with this serial.
    pub(crate) fn by_serial(&self, serial: u64) -> Option<Arc<Link>> {
        self.links.get(&serial).cloned()
    }

    /// Whether what is sent to its address goes over it.
    pub(crate) fn is_in_use(&self, link: &Link) -> bool {
        matches!(self.by_addr.get(&link.peer), Some(Peer::Linked(used)) if used.serial == link.serial)
    }

    /// Everything that waits, and all connections.
    pub(crate) fn clear(&mut self) -> (Vec<Waiting>, Vec<Arc<Link>>) {
        let waiting = mem::take(&mut self.by_addr).into_values().filter_map(|peer| match peer {
            Peer::Dialling { waiting, .. } => Some(waiting),
            Peer::Linked(_) | Peer::Resting { .. } => None,
        });
        (waiting.collect(), mem::take(&mut self.links).into_values().collect())
    }

    fn set(&mut self, to: SocketAddr, peer: Peer) -> Option<Peer> {
        let rests = |peer: &Peer| usize::from(matches!(peer, Peer::Resting { .. }));
        self.resting += rests(&peer);
        let old = self.by_addr.insert(to, peer);
        self.resting -= old.as_ref().map_or(0, rests);
        old
    }

    /// Addresses are forgotten once many rest: those that may be tried again anyway.
    fn forget_rested(&mut self, now: Timestamp) {
        if self.resting > RESTING_MAX {
            self.by_addr.retain(|_, peer| !matches!(peer, Peer::Resting { until, .. } if *until <= now));
            self.resting = self.by_addr.values().filter(|peer| matches!(peer, Peer::Resting { .. })).count();
        }
    }
}

impl Waiting {
    fn add(&mut self, item: Item) -> Offered {
        match item {
            Item::Datagram(_) if self.datagrams.len() >= WAITING_DATAGRAMS_MAX => return Offered::Dropped,
            Item::Datagram(bytes) => self.datagrams.push(bytes),
            Item::Frame(frame) => self.frames.push(frame),
            Item::Watcher(watcher) => self.watchers.push(watcher),
        }
        Offered::Waits(Todo::Nothing)
    }

    /// Tells everybody who waits why nothing came of it; says how many datagrams are lost.
    pub(crate) fn fail(self, failure: SendFailure) -> usize {
        for frame in self.frames {
            frame.settle(Err(failure));
        }
        for watcher in self.watchers {
            // It may have stopped waiting.
            let _ = watcher.send(Err(failure));
        }
        self.datagrams.len()
    }
}
