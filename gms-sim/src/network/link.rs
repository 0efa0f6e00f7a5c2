//! One direction of a link: what it does to packets.

use std::time::Duration;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

use crate::scenario::values::share;

/// What one direction of a link does to packets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// Shortest one-way delay. Default 100 µs.
    #[serde(with = "humantime_serde")]
    pub delay_min: Duration,
    /// Mean one-way delay; what goes beyond the shortest is exponentially distributed. Default 250 µs.
    #[serde(with = "humantime_serde")]
    pub delay_mean: Duration,
    /// Share of packets, 0 to 1, that take up to [`Link::tail`] longer. Default 0.
    #[serde(deserialize_with = "share")]
    pub tail_chance: f64,
    /// Longest additional delay of those.
    #[serde(with = "humantime_serde")]
    pub tail: Duration,
    /// Share of packets lost, 0 to 1. Streams are not cut by loss: they take longer.
    #[serde(deserialize_with = "share")]
    pub loss: f64,
    /// Share of datagrams that arrive twice, 0 to 1.
    #[serde(deserialize_with = "share")]
    pub duplicate: f64,
    /// Share of datagrams, 0 to 1, held back by up to four mean delays so that later ones overtake them.
    #[serde(deserialize_with = "share")]
    pub reorder: f64,
    /// Bytes a second that the sender's interface passes; none means no limit.
    pub bandwidth: Option<u64>,
    /// Largest datagram, in bytes with 28 bytes of IPv4 and UDP heads; larger ones are lost. None means no limit.
    pub mtu: Option<u32>,
}

/// Longest delay and tail: a run lasts a thousand hours at most, and sums of these stay far from overflowing.
const DELAY_MAX: Duration = Duration::from_secs(1_000 * 3_600);
/// Bytes of the heads of IPv4 and UDP.
pub(crate) const HEADS_BYTES: usize = 28;

impl Default for Link {
    /// A local network.
    fn default() -> Self {
        Self {
            delay_min: Duration::from_micros(100),
            delay_mean: Duration::from_micros(250),
            tail_chance: 0.0,
            tail: Duration::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            bandwidth: None,
            mtu: None,
        }
    }
}

impl Link {
    /// What is wrong with the values, if anything.
    pub fn fault(&self) -> Option<String> {
        let shares = [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
            ("tail_chance", self.tail_chance),
        ];
        if let Some((name, share)) = shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Some(format!("{name} is {share}: a share lies between 0 and 1"));
        }
        let times = [("delay_min", self.delay_min), ("delay_mean", self.delay_mean), ("tail", self.tail)];
        if let Some((name, time)) = times.into_iter().find(|(_, time)| *time > DELAY_MAX) {
            return Some(format!("{name} is {time:?}: at most 1000h"));
        }
        if self.delay_mean < self.delay_min {
            let (mean, min) = (self.delay_mean, self.delay_min);
            return Some(format!("delay_mean {mean:?} is shorter than delay_min {min:?}"));
        }
        if self.mtu == Some(0) {
            return Some(String::from("mtu is 0: nothing would ever pass, cut the link instead"));
        }
        if self.bandwidth == Some(0) {
            return Some(String::from("bandwidth is 0: cut the link instead"));
        }
        None
    }

    /// Draws one packet's time on the way.
    pub(crate) fn transit(&self, rng: &mut Rng) -> Duration {
        let spread = self.delay_mean.saturating_sub(self.delay_min);
        // The inverse of the exponential distribution, cut where one in a billion lies.
        let exponential = -(1.0 - rng.f64()).max(1e-9).ln();
        let mut transit = self.delay_min + spread.mul_f64(exponential);
        if self.tail_chance > 0.0 && rng.f64() < self.tail_chance {
            transit += self.tail.mul_f64(rng.f64());
        }
        transit
    }

    /// Whether a datagram of `bytes` is too large.
    pub(crate) fn is_too_large(&self, bytes: usize) -> bool {
        self.mtu.is_some_and(|mtu| bytes + HEADS_BYTES > mtu as usize)
    }

    /// Additional delay of a datagram that is overtaken.
    pub(crate) fn held_back(&self, rng: &mut Rng) -> Duration {
        if self.reorder > 0.0 && rng.f64() < self.reorder {
            self.delay_mean.mul_f64(4.0 * rng.f64())
        } else {
            Duration::ZERO
        }
    }

    /// Whether a datagram arrives twice.
    pub(crate) fn duplicates(&self, rng: &mut Rng) -> bool {
        self.duplicate > 0.0 && rng.f64() < self.duplicate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_have_the_shortest_and_the_mean_that_they_should() {
        let link = Link {
            delay_min: Duration::from_millis(1),
            delay_mean: Duration::from_millis(3),
            ..Link::default()
        };
        let mut rng = Rng::with_seed(1);
        let delays: Vec<Duration> = (0..20_000).map(|_| link.transit(&mut rng)).collect();
        assert!(delays.iter().all(|delay| *delay >= link.delay_min));
        let mean = delays.iter().sum::<Duration>() / 20_000;
        assert!(mean > Duration::from_micros(2_900), "{mean:?}");
        assert!(mean < Duration::from_micros(3_100), "{mean:?}");
    }

    #[test]
    fn a_tail_takes_some_packets_much_longer() {
        let link = Link { tail_chance: 0.1, tail: Duration::from_secs(1), ..Link::default() };
        let mut rng = Rng::with_seed(2);
        let late = (0..10_000).filter(|_| link.transit(&mut rng) > Duration::from_millis(50)).count();
        assert!((850..1_050).contains(&late), "{late} of 10 000 are late");
    }

    #[test]
    fn what_exceeds_the_mtu_is_lost() {
        let link = Link { mtu: Some(1_228), ..Link::default() };
        assert!(!link.is_too_large(1_200));
        assert!(link.is_too_large(1_201));
    }

    #[test]
    fn values_out_of_bounds_are_named() {
        let link = Link { loss: 1.5, ..Link::default() };
        assert_eq!(link.fault().unwrap(), "loss is 1.5: a share lies between 0 and 1");
        let link = Link { delay_mean: Duration::MAX, ..Link::default() };
        assert!(link.fault().unwrap().ends_with(": at most 1000h"));
        let link = Link { tail: Duration::MAX, ..Link::default() };
        assert!(link.fault().unwrap().starts_with("tail is "));
        assert_eq!(Link::default().fault(), None);
    }
}
