//! Silence for a moment towards addresses at which nobody listens.
//!
//! A kernel sends few ICMP errors to each address (Linux: six in a row, then one a second), and a check needs one of them to
//! be certain. Heartbeats, requests and what quinn repeats would use them up within milliseconds of a death.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gms_core::Timestamp;
use gms_core::member::canonical;

use crate::limits::{MUTED_FOR, MUTED_MAX, MUTES_APART};

/// What is known of an address that an error came from.
#[derive(Clone, Copy, Debug)]
struct Mute {
    since: Timestamp,
    /// Something has come from there since.
    heard: bool,
}

/// Addresses that errors came from a moment ago. Whoever forges errors gains little: an address is muted for a tenth of the
/// time at most, and not while it speaks.
#[derive(Debug, Default)]
pub(crate) struct Mutes {
    by_addr: Mutex<BTreeMap<SocketAddr, Mute>>,
    /// Whether there may be any: without a lock for each packet.
    any: AtomicBool,
}

impl Mutes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Mute>> {
        // Every change under the lock is complete when a panic could strike.
        self.by_addr.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody listens at `to`.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux tells"))]
    pub(crate) fn add(&self, now: Timestamp, to: SocketAddr) {
        let mut mutes = self.lock();
        mutes.retain(|_, mute| now.since(mute.since) < MUTES_APART);
        if mutes.len() < MUTED_MAX {
            mutes.entry(canonical(to)).or_insert(Mute { since: now, heard: false });
        }
        self.any.store(true, Ordering::Release);
    }

    /// Whether nothing is to be sent to `to` at `now`.
    pub(crate) fn holds(&self, now: impl FnOnce() -> Timestamp, to: SocketAddr) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let now = now();
        let mut mutes = self.lock();
        let holds = |mute: &Mute| !mute.heard && now.since(mute.since) < MUTED_FOR;
        let is_held = mutes.get(&canonical(to)).is_some_and(holds);
        if !is_held && mutes.values().all(|mute| now.since(mute.since) >= MUTES_APART) {
            mutes.clear();
            self.any.store(false, Ordering::Release);
        }
        is_held
    }

    /// Something came from `from`.
    pub(crate) fn hear(&self, from: SocketAddr) {
        if self.any.load(Ordering::Acquire)
            && let Some(mute) = self.lock().get_mut(&canonical(from))
        {
            mute.heard = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn addr(port: u16) -> SocketAddr {
        ([10, 0, 0, 1], port).into()
    }

    #[test]
    fn an_error_mutes_its_address_for_a_moment_and_not_again_at_once() {
        let mutes = Mutes::default();
        let holds = |ms: u64| mutes.holds(|| at(ms), addr(1));
        assert!(!holds(1_000));
        mutes.add(at(1_000), addr(1));
        let end = 1_000 + MUTED_FOR.as_millis() as u64;
        assert!(holds(1_000) && holds(end - 1) && !holds(end));
        assert!(!mutes.holds(|| at(1_000), addr(2)));
        mutes.add(at(end), addr(1));
        assert!(!holds(end + 1), "an address is not muted by one error after the other");
        let later = 1_000 + MUTES_APART.as_millis() as u64;
        mutes.add(at(later), addr(1));
        assert!(holds(later));
    }

    #[test]
    fn who_speaks_is_spoken_to() {
        let mutes = Mutes::default();
        mutes.add(at(1_000), addr(1));
        mutes.hear(addr(1));
        assert!(!mutes.holds(|| at(1_001), addr(1)));
        mutes.add(at(1_002), addr(1));
        assert!(!mutes.holds(|| at(1_003), addr(1)));
    }

    #[test]
    fn addresses_are_forgotten() {
        let mutes = Mutes::default();
        for port in 1..=MUTED_MAX as u16 + 1 {
            mutes.add(at(1_000), addr(port));
        }
        assert_eq!(mutes.lock().len(), MUTED_MAX);
        let later = at(1_000) + MUTES_APART + Duration::from_millis(1);
        assert!(!mutes.holds(|| later, addr(1)));
        assert!(mutes.lock().is_empty());
    }
}
