//! What a finished run says in figures: a value with plain fields, and the same as text.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::metrics::Metrics;
use crate::run::Outcome;

/// How long something took, over many cases. Milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Delays {
    /// Cases; where there are none, there is no rest.
    pub count: usize,
    /// Half of the cases took no longer.
    pub median_ms: Option<f64>,
    /// 99 % of the cases took no longer.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
}

impl Delays {
    /// Sums up.
    pub fn of(mut delays: Vec<Duration>) -> Self {
        delays.sort_unstable();
        let Some(max) = delays.last() else { return Self::default() };
        // The nearest rank: the smallest case that so many of a hundred do not exceed.
        let rank = |percent: usize| delays[(delays.len() * percent).div_ceil(100).saturating_sub(1)];
        Self {
            count: delays.len(),
            median_ms: Some(ms(rank(50))),
            p99_ms: Some(ms(rank(99))),
            max_ms: Some(ms(*max)),
        }
    }
}

/// Traffic, per member that was up on average, and second.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Traffic {
    /// Datagrams sent.
    pub datagrams: f64,
    /// Their bytes, with the heads of IPv4 and UDP.
    pub datagram_bytes: f64,
    /// Frames sent.
    pub frames: f64,
    /// Their bytes, without TCP's.
    pub frame_bytes: f64,
}

/// The figures of one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Processes at the beginning.
    pub members: usize,
    /// The run's seed.
    pub seed: u64,
    /// T.
    pub member_timeout_ms: f64,
    /// Virtual time from the beginning of the first phase.
    pub simulated_ms: f64,
    /// Processor time of the run, where the caller measured it.
    pub cpu_ms: Option<f64>,
    /// What the simulator carried out: cost is proportional to it.
    pub events: u64,
    /// From a loss to a survivor's view without the lost member, over all survivors and losses.
    pub detection: Delays,
    /// Losses among the members, by death, stop or silence.
    pub losses: usize,
    /// Views decided since the first fault; since the beginning where there was none.
    pub views: usize,
    /// Their numbers, in order of decision.
    pub view_numbers: Vec<u64>,
    /// Numbers of members that any view had which anybody installed, smallest first.
    pub view_sizes: Vec<usize>,
    /// From a process's start to its first view, over those that joined during the run.
    pub joining: Delays,
    /// When the last of them was in, from the beginning.
    pub last_joined_ms: Option<f64>,
    /// Suspicions raised.
    pub suspicions: u64,
    /// Of these: of processes that ran, on hosts that were on the network.
    pub false_suspicions: u64,
    /// Members removed by a verdict.
    pub removals: u64,
    /// Of these: for silence, of processes that ran on hosts that were on the network.
    pub removals_of_running: usize,
    /// Times a member was isolated.
    pub isolations: u64,
    /// Times a member learned that it is out.
    pub exclusions: u64,
    /// Times a process gave up joining.
    pub joins_failed: u64,
    /// Times a member asked to leave and was not let go in time.
    pub leaves_timed_out: u64,
    /// How long the second phase took until all was well, where there was one that ended so.
    pub healed_after_ms: Option<f64>,
    /// Traffic per member and second.
    pub traffic: Traffic,
    /// The invariant that broke, with time and circumstances.
    pub violation: Option<String>,
}

impl Report {
    /// The figures of a finished run.
    pub fn new(outcome: &Outcome) -> Self {
        let metrics = &outcome.metrics;
        let scenario = outcome.world.scenario();
        let since_first_fault = metrics.since() + first_fault(outcome);
        let mut views: Vec<_> =
            metrics.views.iter().filter(|(_, seen)| seen.at >= since_first_fault).collect();
        views.sort_by_key(|(_, seen)| seen.at);
        let joins = || metrics.joined.iter().map(|(process, at)| (&outcome.world.processes()[*process], *at));
        Self {
            members: scenario.members,
            seed: scenario.seed,
            member_timeout_ms: ms(scenario.member_timeout),
            simulated_ms: ms(outcome.elapsed),
            cpu_ms: None,
            events: outcome.events,
            detection: Delays::of(metrics.detections.iter().map(|detection| detection.after).collect()),
            losses: outcome.world.look().truth.losses().len(),
            views: views.len(),
            view_numbers: views.iter().map(|((_, number), _)| *number).collect(),
            view_sizes: metrics.sizes.iter().copied().collect(),
            joining: Delays::of(joins().map(|(process, at)| at.since(process.started_at())).collect()),
            last_joined_ms: joins().map(|(_, at)| ms(at.since(metrics.since()))).reduce(f64::max),
            suspicions: metrics.suspicions,
            false_suspicions: metrics.false_suspicions,
            removals: metrics.removals,
            removals_of_running: metrics.removals_of_running.len(),
            isolations: metrics.isolations,
            exclusions: metrics.exclusions,
            joins_failed: metrics.joins_failed,
            leaves_timed_out: metrics.leaves_timed_out,
            healed_after_ms: outcome.healed_after.map(ms),
            traffic: traffic(metrics, scenario.members, outcome.elapsed),
            violation: outcome.violation.as_ref().map(ToString::to_string),
        }
    }

    /// With the processor time that the run took.
    #[must_use]
    pub fn with_cpu(mut self, cpu: Duration) -> Self {
        self.cpu_ms = Some(ms(cpu));
        self
    }
}

fn first_fault(outcome: &Outcome) -> Duration {
    outcome.world.scenario().faults.iter().map(|step| step.at).min().unwrap_or_default()
}

fn traffic(metrics: &Metrics, members: usize, elapsed: Duration) -> Traffic {
    let share = |count: u64| {
        let member_seconds = members as f64 * elapsed.as_secs_f64();
        if member_seconds > 0.0 { count as f64 / member_seconds } else { 0.0 }
    };
    Traffic {
        datagrams: share(metrics.datagrams),
        datagram_bytes: share(metrics.datagram_bytes),
        frames: share(metrics.frames),
        frame_bytes: share(metrics.frame_bytes),
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// Milliseconds for reading: in seconds from one second on.
struct Span(f64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1_000.0 { write!(f, "{:.1} ms", self.0) } else { write!(f, "{:.2} s", self.0 / 1_000.0) }
    }
}

impl fmt::Display for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(median), Some(p99), Some(max)) = (self.median_ms, self.p99_ms, self.max_ms) else {
            return f.write_str("none");
        };
        let (median, p99, max) = (Span(median), Span(p99), Span(max));
        write!(f, "median {median}, 99 % {p99}, longest {max} ({} cases)", self.count)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeout = Span(self.member_timeout_ms);
        writeln!(f, "{} members, T {timeout}, seed {}", self.members, self.seed)?;
        write!(f, "simulated    {} in {} events", Span(self.simulated_ms), self.events)?;
        match self.cpu_ms {
            Some(cpu) => writeln!(f, ", {} of processor time", Span(cpu))?,
            None => writeln!(f)?,
        }
        writeln!(f, "losses       {}; detected: {}", self.losses, self.detection)?;
        writeln!(f, "views        {}{}", self.views, numbers(&self.view_numbers))?;
        writeln!(f, "view sizes   {}{}", self.view_sizes.len(), numbers(&self.view_sizes))?;
        write!(f, "joins        {}", self.joining)?;
        match self.last_joined_ms {
            Some(last) => writeln!(f, "; the last after {}", Span(last))?,
            None => writeln!(f)?,
        }
        writeln!(f, "suspicions   {}, of them false {}", self.suspicions, self.false_suspicions)?;
        writeln!(f, "removals     {}, of them of running {}", self.removals, self.removals_of_running)?;
        writeln!(f, "isolations   {}; exclusions {}", self.isolations, self.exclusions)?;
        writeln!(f, "gave up      joins {}; leaves {}", self.joins_failed, self.leaves_timed_out)?;
        let Traffic { datagrams, datagram_bytes, frames, frame_bytes } = self.traffic;
        writeln!(
            f,
            "traffic      {datagrams:.1} datagrams with {datagram_bytes:.0} bytes, {frames:.2} frames with \
             {frame_bytes:.0} bytes per member and second"
        )?;
        if let Some(healed) = self.healed_after_ms {
            writeln!(f, "healed       after {}", Span(healed))?;
        }
        match &self.violation {
            Some(violation) => writeln!(f, "{violation}"),
            None => writeln!(f, "no invariant broke"),
        }
    }
}

/// The first numbers of a list, in words.
fn numbers<T: fmt::Display>(all: &[T]) -> String {
    const SHOWN: usize = 16;
    let mut text = String::new();
    for (place, number) in all.iter().take(SHOWN).enumerate() {
        text += if place == 0 { ": " } else { ", " };
        text += &number.to_string();
    }
    if all.len() > SHOWN {
        text += ", …";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Fault, Scenario, Step};

    fn delays_of(count: usize, median_ms: f64, p99_ms: f64, max_ms: f64) -> Delays {
        Delays { count, median_ms: Some(median_ms), p99_ms: Some(p99_ms), max_ms: Some(max_ms) }
    }

    #[test]
    fn delays_are_summed_up_by_the_nearest_rank() {
        let delays = Delays::of((1..=200).rev().map(Duration::from_millis).collect());
        assert_eq!(delays, delays_of(200, 100.0, 198.0, 200.0));
        let one = Delays::of(vec![Duration::from_millis(7)]);
        assert_eq!(one, delays_of(1, 7.0, 7.0, 7.0));
        let none = Delays { count: 0, median_ms: None, p99_ms: None, max_ms: None };
        assert_eq!(Delays::of(Vec::new()), none);
    }

    #[test]
    fn who_can_not_join_and_who_is_not_let_go_are_counted() {
        let step = |at, fault| Step { at: Duration::from_secs(at), fault };
        let faults = vec![
            step(1, Fault::Down { host: 0 }),
            step(1, Fault::Down { host: 1 }),
            step(2, Fault::Start { host: 3 }),
            step(2, Fault::Down { host: 3 }),
            step(30, Fault::Leave { host: 2 }),
        ];
        let run_for = Duration::from_secs(600);
        let scenario = Scenario { members: 3, run_for, faults, ..Scenario::default() };
        let report = Report::new(&crate::run::run(scenario).unwrap());
        assert_eq!((report.joins_failed, report.leaves_timed_out), (1, 1), "{report}");
        assert!(report.to_string().contains("gave up      joins 1; leaves 1\n"), "{report}");
    }

    #[test]
    fn a_report_counts_the_loss_its_view_and_everybody_who_saw_it() {
        let faults = vec![Step { at: Duration::from_secs(3), fault: Fault::Crash { host: 2 } }];
        let scenario =
            Scenario { members: 4, run_for: Duration::from_secs(20), faults, ..Scenario::default() };
        let report = Report::new(&crate::run::run(scenario).unwrap()).with_cpu(Duration::from_millis(5));
        assert_eq!((report.losses, report.views, report.detection.count), (1, 1, 3));
        assert_eq!((report.removals, report.removals_of_running), (1, 0));
        assert_eq!(report.view_sizes, [3]);
        assert!(report.detection.max_ms.unwrap() <= 7_600.0, "{report}");
        // Everybody sends three heartbeats a second, and little else.
        assert!((2.0..4.0).contains(&report.traffic.datagrams), "{report}");
        let text = report.to_string();
        assert!(text.starts_with("4 members, T 5.00 s, seed 0\nsimulated    20.00 s in "), "{text}");
        assert!(text.contains(", 5.0 ms of processor time\n"), "{text}");
        assert!(text.ends_with("no invariant broke\n"), "{text}");
    }
}
