//! When an excluded member comes back under a new id: soon at first, ever later while it does not last.
//!
//! The cluster cannot tell a member that comes and goes from newcomers, since each incarnation has an id of its own; the
//! process can. Whatever drives [`Node`](crate::Node)s asks this how long to wait before it makes the next one.

use std::time::Duration;

use fastrand::Rng;

use crate::config::Timing;
use crate::event::StopReason;
use crate::message::JoinRefusal;
use crate::time::Timestamp;

/// A return shorter than so many T did not last.
const LASTING: u32 = 24;
/// Longest wait after the first return that did not last, in T. It doubles with each further one.
const FIRST_LONG_WAIT: u32 = 12;
/// Longest wait of all, in T: five minutes at the default.
const LONG_WAIT_MAX: u32 = 60;
/// Returns that did not last, beyond which counting them changes nothing.
const SHORT_MAX: u32 = 8;
/// How often in a row an id that may have been used is drawn anew.
const DRAWS_MAX: u32 = 30;
/// Waits between such draws: none before the first, then from the one to the other.
const DRAW_AFTER_MIN: Duration = Duration::from_millis(50);
const DRAW_AFTER_MAX: Duration = Duration::from_secs(1);

/// The waits of one process, over all its incarnations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Comeback {
    /// Incarnations in a row that were in no view.
    tries: u32,
    /// Returns in a row that did not last.
    short: u32,
    /// Whether the process was in a view, and is in none.
    is_out: bool,
    /// When its last return began.
    back_since: Option<Timestamp>,
    /// Whether it gives, or gave, way to an older cluster.
    gave_way: bool,
    /// Incarnations in a row that were refused for their ids.
    draws: u32,
}

impl Comeback {
    /// A process that was never excluded.
    pub const fn new() -> Self {
        Self { tries: 0, short: 0, is_out: false, back_since: None, gave_way: false, draws: 0 }
    }

    /// Whether the process was excluded and is in no view since.
    pub const fn is_out(&self) -> bool {
        self.is_out
    }

    /// A view contains the process. Returns whether that is a return after an exclusion.
    pub const fn joined(&mut self, now: Timestamp) -> bool {
        self.tries = 0;
        self.draws = 0;
        if self.is_out && !std::mem::replace(&mut self.gave_way, false) {
            self.back_since = Some(now);
        }
        std::mem::replace(&mut self.is_out, false)
    }

    /// An incarnation ended for `reason`: how long to wait before the next one begins, or `None` where there is none. `rejoin` says
    /// whether the process comes back after an exclusion at all.
    pub fn after(
        &mut self,
        now: Timestamp,
        reason: &StopReason,
        rejoin: bool,
        timing: &Timing,
        rng: &mut Rng,
    ) -> Option<Duration> {
        if let StopReason::JoinFailed(failure) = reason
            && failure.refusal == Some(JoinRefusal::IdInUse)
            && let Some(wait) = self.id_in_use()
        {
            return Some(wait);
        }
        match reason {
            StopReason::Excluded if rejoin => Some(self.excluded(now, timing, rng)),
            StopReason::JoinFailed(_) if self.is_out => Some(self.next_try(timing, rng)),
            _ => None,
        }
    }

    /// An incarnation was refused for its id: how long to wait before the next one begins, with another. `None` once that was so
    /// too often.
    //= docs/protocol.md#vw-11
    fn id_in_use(&mut self) -> Option<Duration> {
        let wait = match self.draws {
            0 => Duration::ZERO,
            n if n < DRAWS_MAX => DRAW_AFTER_MIN.saturating_mul(1 << n.min(8)).min(DRAW_AFTER_MAX),
            _ => return None,
        };
        self.draws += 1;
        Some(wait)
    }

    /// The exclusion to come is no sign of trouble: a founder of its own gives way to an older cluster.
    pub const fn gives_way(&mut self) {
        self.gave_way = true;
        self.back_since = None;
    }

    /// An incarnation ended by an exclusion: how long to wait before the next one begins.
    //= docs/protocol.md#vw-24
    fn excluded(&mut self, now: Timestamp, timing: &Timing, rng: &mut Rng) -> Duration {
        let lasting = timing.member_timeout * LASTING;
        let is_short = self.back_since.take().is_some_and(|since| now.since(since) < lasting);
        self.short = if is_short { (self.short + 1).min(SHORT_MAX) } else { 0 };
        self.is_out = true;
        if self.short == 0 {
            return self.next_try(timing, rng);
        }
        let doubled = FIRST_LONG_WAIT << (self.short - 1);
        let most = timing.member_timeout * doubled.min(LONG_WAIT_MAX);
        most / 2 + (most / 2).mul_f64(rng.f64())
    }

    /// An incarnation after an exclusion did not get in: how long to wait before the next one begins. At least a
    /// heartbeat interval, growing to T, randomised so that many excluded at once do not return at once.
    //= docs/protocol.md#vw-18
    fn next_try(&mut self, timing: &Timing, rng: &mut Rng) -> Duration {
        self.tries = self.tries.saturating_add(1);
        let least = timing.heartbeat_interval;
        let doubled = least.saturating_mul(1 << self.tries.min(16));
        let most = doubled.min(timing.member_timeout).max(least);
        least + (most - least).mul_f64(rng.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Duration = Duration::from_secs(5);

    fn seconds(wait: Duration) -> u64 {
        wait.as_secs()
    }

    /// A process that stays for `stay` after each return: its waits.
    fn waits(stay: Duration, returns: usize) -> Vec<Duration> {
        let (mut comeback, mut rng) = (Comeback::new(), Rng::with_seed(3));
        let mut now = Timestamp::from_millis(1_000);
        assert!(!comeback.joined(now), "the first join is no return");
        let mut waits = Vec::new();
        for _ in 0..returns {
            now = now + stay;
            let wait = comeback.excluded(now, &Timing::default(), &mut rng);
            assert!(comeback.is_out());
            waits.push(wait);
            now = now + wait;
            assert!(comeback.joined(now));
            assert!(!comeback.is_out());
        }
        waits
    }

    //= docs/protocol.md#vw-24
    #[test]
    fn who_does_not_last_waits_ever_longer_up_to_sixty_timeouts() {
        let waits: Vec<u64> = waits(Duration::from_secs(119), 6).into_iter().map(seconds).collect();
        let bounds = [(1, 2), (30, 60), (60, 120), (120, 240), (150, 300), (150, 300)];
        for (wait, (least, most)) in waits.iter().zip(bounds) {
            assert!((least..=most).contains(wait), "{waits:?}");
        }
    }

    //= docs/protocol.md#vw-24
    #[test]
    fn who_lasted_comes_back_as_soon_as_after_the_first_exclusion() {
        for wait in waits(T * LASTING, 10) {
            assert!(wait <= Duration::from_secs(2), "{wait:?}");
        }
    }

    #[test]
    fn a_first_membership_counts_as_lasting_however_short() {
        assert!(waits(Duration::ZERO, 1)[0] <= Duration::from_secs(2));
    }

    //= docs/protocol.md#vw-11
    #[test]
    fn an_id_in_use_is_drawn_anew_at_once_then_ever_later_but_not_for_ever() {
        let mut comeback = Comeback::new();
        let waits: Vec<Duration> = std::iter::from_fn(|| comeback.id_in_use()).collect();
        let millis: Vec<u128> = waits.iter().map(Duration::as_millis).collect();
        assert_eq!(millis[..6], [0, 100, 200, 400, 800, 1_000]);
        assert_eq!(millis.len(), 30);
        comeback.joined(Timestamp::ZERO);
        assert_eq!(comeback.id_in_use(), Some(Duration::ZERO));
    }

    #[test]
    fn giving_way_to_an_older_cluster_is_no_exclusion() {
        let (mut comeback, mut rng) = (Comeback::new(), Rng::with_seed(5));
        let (now, timing) = (Timestamp::from_millis(1_000), Timing::default());
        for _ in 0..3 {
            comeback.gives_way();
            assert!(comeback.excluded(now, &timing, &mut rng) <= Duration::from_secs(2));
            assert!(comeback.joined(now));
        }
        assert!(comeback.excluded(now, &timing, &mut rng) <= Duration::from_secs(2), "the first exclusion");
        assert!(comeback.joined(now));
        assert!(comeback.excluded(now, &timing, &mut rng) >= Duration::from_secs(30), "the second");
    }

    //= docs/protocol.md#vw-18
    #[test]
    fn tries_to_get_in_wait_from_a_heartbeat_interval_up_to_t() {
        let (mut comeback, mut rng) = (Comeback::new(), Rng::with_seed(4));
        let timing = Timing::default();
        comeback.excluded(Timestamp::ZERO, &timing, &mut rng);
        for round in 1..20 {
            let wait = comeback.next_try(&timing, &mut rng);
            let most = if round == 1 { Duration::from_secs(4) } else { T };
            assert!(wait >= Duration::from_secs(1) && wait <= most, "{wait:?} in round {round}");
        }
    }
}
