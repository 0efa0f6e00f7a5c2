//! Settings of GMS at which it sends as many bytes as a peer.

use std::time::Duration;

use crate::outcome::{Outcome, Run};
use crate::stats::Spread;
use crate::system::{System, Tuning};

/// Where fewer recipients are set, the share of the heartbeats that is still sent, in clusters of ten.
///
/// Everybody sends to the first four in office, and those to everybody; the others also to one member before them.
fn lean_share(members: usize) -> f64 {
    let (all, hubs) = (members as f64, 4.0_f64.min(members as f64));
    let to_all = all - 1.0;
    let lean = (hubs + 1.0).min(to_all);
    (hubs * to_all + (all - hubs) * lean) / (all * to_all)
}

/// A setting of GMS, and the peer whose bytes it sends.
pub(super) type Match = (Tuning, String);

/// One setting for each peer whose idle cost was measured, the shortest T among those that send what the peer sends:
///
/// 1. the derived interval and all recipients, where T is then at most that of `gms`;
/// 2. the leanest setting: an interval of T/2 and the fewest recipients.
///
/// The first repetition decides, so that all have the same settings.
pub(super) fn settings(gms: Tuning, runs: &[Run]) -> Vec<Match> {
    let first: Vec<&Run> = runs.iter().filter(|run| run.repeat == 1).collect();
    let bytes = |system: &System| idle_bytes(system, first.iter().copied());
    let Some(own) = bytes(&System::Gms(gms)) else { return Vec::new() };
    let members = runs.first().map_or(10, |run| run.members);
    let mut peers: Vec<&System> =
        first.iter().map(|run| &run.system).filter(|system| !system.is_gms()).collect();
    peers.sort_unstable_by_key(|system| system.name());
    peers.dedup();
    let found = peers.into_iter().filter_map(|peer| {
        let tuning = matched(gms, own, bytes(peer)?, members);
        Some((tuning, peer.name()))
    });
    found.collect()
}

fn matched(default: Tuning, own: f64, bytes: f64, members: usize) -> Tuning {
    // Heartbeats are nearly all that an idle member sends, and their number goes with the inverse of the interval.
    let milliseconds = |time: f64| {
        let time = Duration::from_secs_f64((time / 1e3).clamp(0.1, 600.0));
        // To a hundredth of a second: finer would not be measurable.
        Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX).div_ceil(10) * 10)
    };
    let timeout = default.member_timeout_ms as f64;
    let full = timeout * own / bytes;
    if full <= timeout {
        return Tuning::at(milliseconds(full)).over(default.carrier);
    }
    let interval = timeout / 5.0 * own * lean_share(members) / bytes;
    Tuning::lean(milliseconds(interval * 2.0)).over(default.carrier)
}

/// What a member of a system sends per second, as it was measured.
fn idle_bytes<'a>(system: &System, runs: impl Iterator<Item = &'a Run>) -> Option<f64> {
    let own = runs.filter(|run| run.system == *system);
    let measured =
        own.filter_map(|run| if let Outcome::Idle(idle) = &run.outcome { idle.bytes } else { None });
    Spread::of(measured).map(|spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_bytes_than_the_default_mean_a_shorter_timeout() {
        let default = Tuning::at(Duration::from_secs(5));
        assert_eq!(matched(default, 800.0, 1600.0, 10), Tuning::at(Duration::from_millis(2500)));
    }

    #[test]
    fn fewer_bytes_mean_fewer_recipients_and_half_of_t_as_interval() {
        let default = Tuning::at(Duration::from_secs(5));
        // 22 of 30 heartbeats remain.
        assert!((lean_share(10) - 22.0 / 30.0).abs() < 1e-9);
        assert_eq!(matched(default, 800.0, 400.0, 10), Tuning::lean(Duration::from_millis(2940)));
        assert_eq!(Tuning::lean(Duration::from_millis(2940)).heartbeat_interval_ms, Some(1470));
    }
}
