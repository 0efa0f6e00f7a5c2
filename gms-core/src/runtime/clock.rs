//! The clock of the runtime and of transports: one that counts suspended time.

use crate::time::Timestamp;

/// The current time of `CLOCK_BOOTTIME` (elsewhere the system's monotonic clock), which neither jumps with the wall
/// clock nor stands still while the machine sleeps. All members of one machine share its origin.
pub fn now() -> Timestamp {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Timestamp::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// The wall clock, for stamps of events and traces; it takes part in no decision.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub(crate) fn wall() -> std::time::SystemTime {
    std::time::SystemTime::now()
}
