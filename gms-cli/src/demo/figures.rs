//! The distribution of the times of many runs.

use std::time::Duration;

use serde_json::Value;

use crate::event_json::millis;

/// Sorted times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Distribution {
    sorted: Vec<Duration>,
}

impl Distribution {
    /// The distribution of these times; `None` of none.
    pub(super) fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        (!times.is_empty()).then_some(Self { sorted: times })
    }

    /// The smallest time that at least `percent` of all don't exceed.
    fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1);
        self.sorted[rank - 1]
    }

    fn points(&self) -> [(&'static str, Duration); 5] {
        [
            ("min", self.sorted[0]),
            ("p50", self.percentile(50)),
            ("p90", self.percentile(90)),
            ("p99", self.percentile(99)),
            ("max", self.percentile(100)),
        ]
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let points = self.points().map(|(name, time)| format!("{name} {:.3} s", time.as_secs_f64()));
        points.join(", ")
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let points = self.points().map(|(name, time)| (name.to_owned(), millis(time)));
        Value::Object(points.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(millis: &[u64]) -> Distribution {
        Distribution::of(millis.iter().map(|ms| Duration::from_millis(*ms)).collect()).unwrap()
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let ten = of(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(ten.text(), "min 0.001 s, p50 0.005 s, p90 0.009 s, p99 0.010 s, max 0.010 s");
        assert_eq!(of(&[7]).json(), json!({ "min": 7, "p50": 7, "p90": 7, "p99": 7, "max": 7 }));
        assert_eq!(Distribution::of(Vec::new()), None);
    }
}
