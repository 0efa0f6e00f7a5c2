//! The loop's own delay: a process that stood still must not take its own absence for the silence of others.

use std::collections::VecDeque;
use std::time::Duration;

use crate::config::Timing;
use crate::planted::{self, Planted};
use crate::time::Timestamp;

/// Pauses remembered for the `paused` flag; more within 2 T each beyond a heartbeat interval can't happen with the
/// default ratio of five intervals per T.
const PAUSES_MAX: usize = 16;

/// Compares when the loop runs with when it planned to.
#[derive(Debug, Default)]
pub(crate) struct PauseDetector {
    planned: Option<Timestamp>,
    recent: VecDeque<(Timestamp, Duration)>,
}

impl PauseDetector {
    /// Notes when the loop is to run next.
    pub(crate) const fn plan(&mut self, next: Option<Timestamp>) {
        self.planned = next;
    }

    /// The pause that ended with this run of the loop, if it is later than planned by more than a heartbeat interval.
    //= docs/protocol.md#fd-26
    pub(crate) fn observe(&mut self, now: Timestamp, heartbeat_interval: Duration) -> Option<Duration> {
        let planned = self.planned.take()?;
        let late = now.since(planned);
        if late <= heartbeat_interval || planted::is(Planted::PauseUnnoticed) {
            self.planned = Some(planned);
            return None;
        }
        if self.recent.len() == PAUSES_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((now, late));
        Some(late)
    }

    /// Whether more than T/2 of the last 2 T was lost to pauses: such a coordinator says so and is not protected.
    //= docs/protocol.md#fd-26
    pub(crate) fn is_paused(&self, now: Timestamp, timing: &Timing) -> bool {
        let span = timing.member_timeout * 2;
        let recent = self.recent.iter().filter(|(at, _)| now.since(*at) <= span);
        recent.map(|(_, lost)| *lost).sum::<Duration>() > timing.member_timeout / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::timing;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    //= docs/protocol.md#fd-26
    fn lateness_beyond_a_heartbeat_interval_is_a_pause() {
        let mut detector = PauseDetector::default();
        let interval = timing().heartbeat_interval;
        detector.plan(Some(at(1_000)));
        assert_eq!(detector.observe(at(900), interval), None);
        assert_eq!(detector.observe(at(1_200), interval), None);
        assert_eq!(detector.observe(at(1_500), interval), Some(Duration::from_millis(500)));
        assert_eq!(detector.observe(at(9_000), interval), None, "nothing was planned since");
    }

    #[test]
    //= docs/protocol.md#fd-26
    fn a_coordinator_that_loses_half_a_timeout_says_paused_for_two_timeouts() {
        let mut detector = PauseDetector::default();
        let timing = timing();
        detector.plan(Some(at(1_000)));
        detector.observe(at(1_400), timing.heartbeat_interval);
        assert!(!detector.is_paused(at(1_400), &timing));
        detector.plan(Some(at(1_500)));
        detector.observe(at(1_800), timing.heartbeat_interval);
        assert!(detector.is_paused(at(1_800), &timing));
        assert!(!detector.is_paused(at(3_500), &timing));
    }
}
