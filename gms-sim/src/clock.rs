//! A process's own clock: it runs at a rate of its own, and its wall clock is wrong by some amount.

use std::time::{Duration, SystemTime};

use gms_core::Timestamp;

/// Parts per million in one.
const MILLION: i128 = 1_000_000;

/// Maps the world's time to one process's time and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// How much faster than the world it runs, in parts per million.
    drift_ppm: i32,
    world: Timestamp,
    local: Timestamp,
    wall_shift_ms: i64,
}

impl Clock {
    /// A clock that shows the world's time until told otherwise.
    pub(crate) const fn new(now: Timestamp) -> Self {
        Self { drift_ppm: 0, world: now, local: now, wall_shift_ms: 0 }
    }

    /// Changes the rate from `now` on.
    pub(crate) fn set_drift(&mut self, now: Timestamp, drift_ppm: i32) {
        self.local = self.local(now);
        self.world = now;
        self.drift_ppm = drift_ppm;
    }

    /// Makes the wall clock jump.
    pub(crate) const fn jump_wall(&mut self, by_ms: i64) {
        self.wall_shift_ms = self.wall_shift_ms.saturating_add(by_ms);
    }

    /// What the monotonic clock shows at the world's `now`.
    pub(crate) fn local(&self, now: Timestamp) -> Timestamp {
        if self.drift_ppm == 0 {
            return self.local + now.since(self.world);
        }
        let elapsed = i128::from(now.since(self.world).as_nanos() as u64);
        let scaled = elapsed * (MILLION + i128::from(self.drift_ppm)) / MILLION;
        self.local + Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// The first moment of the world at which the monotonic clock shows `local` or more.
    pub(crate) fn world(&self, local: Timestamp) -> Timestamp {
        if local == Timestamp::FAR_FUTURE {
            return local;
        }
        if self.drift_ppm == 0 {
            return self.world + local.since(self.local);
        }
        let rate = MILLION + i128::from(self.drift_ppm);
        let elapsed = i128::from(local.since(self.local).as_nanos() as u64);
        let scaled = (elapsed * MILLION + rate - 1) / rate;
        self.world + Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// What the wall clock shows: the world begins at the Unix epoch.
    pub(crate) fn wall(&self, now: Timestamp) -> SystemTime {
        let true_time = SystemTime::UNIX_EPOCH + Duration::from_nanos(now.as_nanos());
        let shift = Duration::from_millis(self.wall_shift_ms.unsigned_abs());
        let shifted =
            if self.wall_shift_ms < 0 { true_time.checked_sub(shift) } else { true_time.checked_add(shift) };
        shifted.unwrap_or(true_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drifting_clock_maps_there_and_back_without_waking_early() {
        let start = Timestamp::from_millis(1_000);
        for drift_ppm in [-100_000, -37, 0, 1, 50_000, 100_000] {
            let mut clock = Clock::new(start);
            clock.set_drift(start, drift_ppm);
            for ms in [0, 1, 7, 999, 123_456] {
                let deadline = start + Duration::from_millis(ms);
                let wake = clock.world(deadline);
                assert!(clock.local(wake) >= deadline, "{drift_ppm} ppm wakes early at {ms} ms");
                let late = clock.local(wake).since(deadline);
                assert!(late < Duration::from_nanos(3), "{drift_ppm} ppm wakes {late:?} late");
            }
        }
    }

    #[test]
    fn a_fast_clock_shows_more_time() {
        let mut clock = Clock::new(Timestamp::ZERO);
        clock.set_drift(Timestamp::ZERO, 100_000);
        assert_eq!(clock.local(Timestamp::from_millis(1_000)), Timestamp::from_millis(1_100));
    }

    #[test]
    fn the_wall_clock_jumps_and_the_other_does_not() {
        let mut clock = Clock::new(Timestamp::ZERO);
        let now = Timestamp::from_millis(5_000);
        let before = clock.wall(now);
        clock.jump_wall(86_400_000);
        assert_eq!(clock.wall(now).duration_since(before).unwrap(), Duration::from_secs(86_400));
        assert_eq!(clock.local(now), now);
    }
}
