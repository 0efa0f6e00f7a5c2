//! Time as the protocol sees it: nanoseconds from an opaque origin, always passed in, never read.
//!
//! `std::time::Instant` cannot be built from a number, so a simulated clock could not make one, and on Linux it
//! stands still while the machine sleeps. The runtime fills these from `CLOCK_BOOTTIME`.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment on the local monotonic clock, in nanoseconds from an origin that only the clock's owner knows.
///
/// Timestamps of different processes can't be compared. Arithmetic saturates: far future and origin are the ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin of the clock.
    pub const ZERO: Self = Self(0);
    /// A moment that never comes, for deadlines that nothing limits.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The moment `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The moment `millis` milliseconds after the origin.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(nanos(rhs)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(rhs)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::FAR_FUTURE {
            return f.write_str("never");
        }
        write!(f, "{}.{:06}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000 / 1_000)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let t = Timestamp::from_millis(5);
        assert_eq!(t - Duration::from_secs(1), Timestamp::ZERO);
        assert_eq!(Timestamp::FAR_FUTURE + Duration::from_secs(1), Timestamp::FAR_FUTURE);
        assert_eq!(t.since(Timestamp::from_millis(7)), Duration::ZERO);
        assert_eq!((t + Duration::from_millis(2)).since(t), Duration::from_millis(2));
    }

    #[test]
    fn a_moment_prints_as_seconds() {
        assert_eq!(format!("{:?}", Timestamp::from_nanos(1_500_000_000)), "1.500000s");
        assert_eq!(format!("{:?}", Timestamp::FAR_FUTURE), "never");
    }
}
