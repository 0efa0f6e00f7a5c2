//! What measuring programs share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of this process so far.
pub(crate) fn time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("a clock that counts up from zero")
}
