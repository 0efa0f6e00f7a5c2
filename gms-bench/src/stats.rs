//! Medians and spread of a few measurements.

use serde::{Deserialize, Serialize};

/// What is said of several measurements of one thing.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// How many there are.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// The middle one; of an even number, the mean of the two in the middle.
    pub median: f64,
    /// The smallest that at least 99 % don't exceed: with less than a hundred, the largest.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of these measurements; `None` of none. Those that are no numbers are left out.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len();
        let rank = (count * 99).div_ceil(100).max(1);
        let median = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
        Some(Self { count, min: first, median, p99: sorted[rank - 1], max: last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_and_percentiles_are_measured_values() {
        let odd = Spread::of([3.0, 1.0, 2.0]).unwrap();
        assert_eq!(odd, Spread { count: 3, min: 1.0, median: 2.0, p99: 3.0, max: 3.0 });
        let even = Spread::of([4.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!((even.median, even.p99), (3.0, 10.0));
        let many = Spread::of((1..=200).map(f64::from)).unwrap();
        assert_eq!((many.median, many.p99, many.max), (100.5, 198.0, 200.0));
    }

    #[test]
    fn nothing_has_no_spread() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([f64::NAN]), None);
    }
}
