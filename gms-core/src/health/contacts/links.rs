//! Loss per direction and round trip of one link, from numbers and echoes of ordinary messages alone.

use std::time::Duration;

/// Datagrams after which a share of loss is taken and the count begins anew. At five heartbeats per member timeout
/// this is four timeouts: long enough that one lost datagram is 5 %, short enough to notice a change.
const WINDOW: u32 = 20;

/// What one link loses and how long it takes.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    received: u32,
    missing: u32,
    loss_in: f32,
    loss_out: f32,
    newest_judged: u64,
    judged: u32,
    unarrived: u32,
    rtt: Option<Duration>,
}

impl Link {
    /// A link of which nothing is known.
    pub(super) const fn new() -> Self {
        Self {
            received: 0,
            missing: 0,
            loss_in: 0.0,
            loss_out: 0.0,
            newest_judged: 0,
            judged: 0,
            unarrived: 0,
            rtt: None,
        }
    }

    /// Counts a datagram that arrived `gap` numbers after the newest before it (1 where none is missing).
    pub(crate) fn count_received(&mut self, gap: u64) {
        self.received += 1;
        self.missing = self.missing.saturating_add(u32::try_from(gap - 1).unwrap_or(u32::MAX));
        if self.received.saturating_add(self.missing) >= WINDOW {
            self.loss_in = share(self.missing, self.received.saturating_add(self.missing));
            self.received = 0;
            self.missing = 0;
        }
    }

    /// Counts whether the datagram `number`, sent long enough before the other end spoke, had arrived there by then.
    ///
    /// Each number is looked at once. Those in between are not known: an echo names the newest alone.
    pub(crate) fn count_echo(&mut self, number: u64, arrived: bool) {
        if number <= self.newest_judged {
            return;
        }
        self.newest_judged = number;
        self.judged += 1;
        self.unarrived += u32::from(!arrived);
        if self.judged == WINDOW {
            self.loss_out = share(self.unarrived, self.judged);
            self.judged = 0;
            self.unarrived = 0;
        }
    }

    /// Smooths one measured round trip in, with the weights of RFC 6298 (1/8).
    pub(crate) fn measure_rtt(&mut self, sample: Duration) {
        self.rtt = Some(self.rtt.map_or(sample, |old| old - old / 8 + sample / 8));
    }

    /// Smoothed round trip.
    pub(crate) const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Share of datagrams from the other end that were lost, 0 to 1.
    pub(crate) const fn loss_in(&self) -> f32 {
        self.loss_in
    }

    /// Share of datagrams to the other end that were lost, 0 to 1.
    pub(crate) const fn loss_out(&self) -> f32 {
        self.loss_out
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of small counts for display")]
fn share(part: u32, whole: u32) -> f32 {
    part as f32 / whole as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_in_the_numbers_are_loss_towards_us() {
        let mut link = Link::new();
        for _ in 0..5 {
            link.count_received(1);
            link.count_received(3);
        }
        assert_eq!(link.loss_in(), 0.5);
    }

    #[test]
    fn datagrams_that_had_not_arrived_when_the_other_end_spoke_are_loss_on_the_way_out() {
        let mut link = Link::new();
        for number in 1..=20 {
            link.count_echo(number, number % 4 != 0);
            link.count_echo(number, false);
        }
        assert_eq!(link.loss_out(), 0.25);
    }

    #[test]
    fn round_trips_are_smoothed() {
        let mut link = Link::new();
        link.measure_rtt(Duration::from_millis(8));
        assert_eq!(link.rtt(), Some(Duration::from_millis(8)));
        link.measure_rtt(Duration::from_millis(16));
        assert_eq!(link.rtt(), Some(Duration::from_millis(9)));
    }
}
