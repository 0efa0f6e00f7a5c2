//! Every knob: meaning, unit, default, bounds, what too small or too large does, and Geode's name for it.
//!
//! [`Timing`] belongs to the cluster: fixed at founding, it travels in the view. [`Config`] belongs to one member.

mod crash_detection;
mod profile;
mod recipients;

use std::fmt::Display;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::member::NAME_BYTES_MAX;

pub use crash_detection::CrashDetection;
pub use profile::Profile;
pub use recipients::{AUTO_PREDECESSORS, AUTO_RECIPIENTS_VIEW_MAX, HeartbeatRecipients};

/// Shortest member timeout: below it, scheduling noise of a loaded machine looks like death.
pub const MEMBER_TIMEOUT_MIN: Duration = Duration::from_millis(100);
/// Longest member timeout.
pub const MEMBER_TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// The cluster's timing, as a view carries it. One knob, `member_timeout` (T); the rest derives from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timing {
    /// Silence after which a successor is asked. Default 5 s, 100 ms to 10 min. Too small: pauses and loss turn
    /// into checks, and members lose their majority at each hiccup. Too large: lost hosts stay in the view longer.
    /// Geode `member-timeout`.
    pub member_timeout: Duration,
    /// Period of heartbeats. Default T/5, at most T/2. Too small: traffic; too large: one lost datagram is felt.
    /// Geode derives it as `member-timeout` / 2 (`GMSHealthMonitor.LOGICAL_INTERVAL`).
    pub heartbeat_interval: Duration,
    /// Wait for the answer to a heartbeat request, which goes out 4 times within it. Default T/4, at most T.
    /// Too small: a loaded peer can't answer in time; too large: lost hosts stay longer. Geode uses `member-timeout`.
    pub check_timeout: Duration,
    /// Length of the final check, end to end. Default T/4, at most T. Geode uses `member-timeout`.
    pub final_check_timeout: Duration,
    /// Shortest wait for a late sign of life after a refused connection. Default 10 ms, at most
    /// `final_check_timeout`; four smoothed round trips if those are longer. No Geode counterpart.
    pub refused_grace: Duration,
    /// How long changes are collected into one view. Default 5 ms, at most T. Too small: more views; too large:
    /// joins and proven deaths wait. Geode `member-request-collection-interval` (300 ms).
    pub batch_window: Duration,
    /// Who gets heartbeats. No Geode counterpart: there only the ring neighbour and whoever one talks to anyway.
    pub heartbeat_recipients: HeartbeatRecipients,
    /// How many of the first in office are told of a suspicion; in views up to 9 everyone is. Default 10, 1 to 100.
    /// Geode tells as many, and all in views up to 9 (`MembershipConfig.SMALL_CLUSTER_SIZE`, plus one).
    pub suspect_recipients: u16,
    /// How many members are asked to look for themselves during a final check. Default 2, 0 to 16. More: proof of
    /// a death and of a live link survive worse networks, for two datagrams each. No Geode counterpart.
    pub verifiers: u16,
    /// Whether refused connections count as proof of a death. Default `fast`. No Geode counterpart: there a refused
    /// connection of the coordinator alone is enough.
    pub crash_detection: CrashDetection,
}

impl Default for Timing {
    fn default() -> Self {
        Self::from_member_timeout(Profile::Lan.member_timeout())
    }
}

impl Timing {
    /// The timing that derives from `member_timeout` alone.
    pub fn from_member_timeout(member_timeout: Duration) -> Self {
        Self {
            member_timeout,
            heartbeat_interval: member_timeout / 5,
            check_timeout: member_timeout / 4,
            final_check_timeout: member_timeout / 4,
            refused_grace: Duration::from_millis(10).min(member_timeout / 4),
            batch_window: Duration::from_millis(5),
            heartbeat_recipients: HeartbeatRecipients::Auto,
            suspect_recipients: 10,
            verifiers: 2,
            crash_detection: CrashDetection::Fast,
        }
    }

    /// R = T + `check_timeout`: below this silence nobody is removed without proof.
    pub fn removal_silence(&self) -> Duration {
        self.member_timeout + self.check_timeout
    }

    /// Silence beyond which a member is looked at together with one that is already being checked.
    pub fn short_silence(&self) -> Duration {
        self.heartbeat_interval * 2
    }

    /// How often a request that got no answer is repeated on a stream.
    pub fn retry_interval(&self) -> Duration {
        self.heartbeat_interval
    }

    /// How old a process must be before it promises anything to a founder, and the longest time for which a lone
    /// founder admits nobody.
    pub fn founding_age(&self) -> Duration {
        self.member_timeout.min(Duration::from_secs(2))
    }

    /// Checks bounds and relations.
    ///
    /// # Errors
    ///
    /// The first knob that is out of bounds, with its value and the bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self {
            member_timeout: t,
            heartbeat_interval,
            check_timeout,
            final_check_timeout,
            refused_grace,
            batch_window,
            heartbeat_recipients,
            suspect_recipients,
            verifiers,
            crash_detection: CrashDetection::Fast | CrashDetection::Strict,
        } = self;
        let t = *t;
        let ms = Duration::from_millis(1);
        within("member-timeout", t, MEMBER_TIMEOUT_MIN, MEMBER_TIMEOUT_MAX)?;
        within("heartbeat-interval", *heartbeat_interval, 5 * ms, t / 2)?;
        within("check-timeout", *check_timeout, 10 * ms, t)?;
        within("final-check-timeout", *final_check_timeout, 10 * ms, t)?;
        within("refused-grace", *refused_grace, ms, *final_check_timeout)?;
        within("batch-window", *batch_window, Duration::ZERO, t)?;
        if let HeartbeatRecipients::Predecessors(n) = heartbeat_recipients {
            within_count("heartbeat-recipients", *n, 1, 32)?;
        }
        within_count("suspect-recipients", *suspect_recipients, 1, 100)?;
        within_count("verifiers", *verifiers, 0, 16)
    }
}

/// Timing values that a user set explicitly. A founder completes them from the defaults; a joiner that sets none
/// adopts the cluster's, and one that sets others is refused.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TimingOverrides {
    /// See [`Timing::member_timeout`].
    pub member_timeout: Option<Duration>,
    /// See [`Timing::heartbeat_interval`].
    pub heartbeat_interval: Option<Duration>,
    /// See [`Timing::check_timeout`].
    pub check_timeout: Option<Duration>,
    /// See [`Timing::final_check_timeout`].
    pub final_check_timeout: Option<Duration>,
    /// See [`Timing::refused_grace`].
    pub refused_grace: Option<Duration>,
    /// See [`Timing::batch_window`].
    pub batch_window: Option<Duration>,
    /// See [`Timing::heartbeat_recipients`].
    pub heartbeat_recipients: Option<HeartbeatRecipients>,
    /// See [`Timing::suspect_recipients`].
    pub suspect_recipients: Option<u16>,
    /// See [`Timing::verifiers`].
    pub verifiers: Option<u16>,
    /// See [`Timing::crash_detection`].
    pub crash_detection: Option<CrashDetection>,
}

impl TimingOverrides {
    /// The whole timing: what is set here, the rest derived from the member timeout.
    ///
    /// # Errors
    ///
    /// As [`Timing::validate`].
    pub fn resolve(&self) -> Result<Timing, ConfigError> {
        let derived = Timing::from_member_timeout(
            self.member_timeout.unwrap_or_else(|| Profile::default().member_timeout()),
        );
        let final_check_timeout = self.final_check_timeout.unwrap_or(derived.final_check_timeout);
        let timing = Timing {
            member_timeout: derived.member_timeout,
            heartbeat_interval: self.heartbeat_interval.unwrap_or(derived.heartbeat_interval),
            check_timeout: self.check_timeout.unwrap_or(derived.check_timeout),
            final_check_timeout,
            refused_grace: self
                .refused_grace
                .unwrap_or_else(|| derived.refused_grace.min(final_check_timeout)),
            batch_window: self.batch_window.unwrap_or(derived.batch_window),
            heartbeat_recipients: self.heartbeat_recipients.unwrap_or(derived.heartbeat_recipients),
            suspect_recipients: self.suspect_recipients.unwrap_or(derived.suspect_recipients),
            verifiers: self.verifiers.unwrap_or(derived.verifiers),
            crash_detection: self.crash_detection.unwrap_or(derived.crash_detection),
        };
        timing.validate()?;
        Ok(timing)
    }

    /// The first value set here that differs from the cluster's: knob, value set, value of the cluster.
    //= docs/protocol.md#vw-11
    pub fn conflict(&self, cluster: &Timing) -> Option<TimingConflict> {
        let duration = |knob, own: Option<Duration>, theirs: Duration| {
            own.filter(|own| *own != theirs).map(|own| TimingConflict {
                knob: String::from(knob),
                joiner: plain(own),
                cluster: plain(theirs),
            })
        };
        duration("member-timeout", self.member_timeout, cluster.member_timeout)
            .or_else(|| duration("heartbeat-interval", self.heartbeat_interval, cluster.heartbeat_interval))
            .or_else(|| duration("check-timeout", self.check_timeout, cluster.check_timeout))
            .or_else(|| {
                duration("final-check-timeout", self.final_check_timeout, cluster.final_check_timeout)
            })
            .or_else(|| duration("refused-grace", self.refused_grace, cluster.refused_grace))
            .or_else(|| duration("batch-window", self.batch_window, cluster.batch_window))
            .or_else(|| word("suspect-recipients", self.suspect_recipients, cluster.suspect_recipients))
            .or_else(|| word("verifiers", self.verifiers, cluster.verifiers))
            .or_else(|| word("crash-detection", self.crash_detection, cluster.crash_detection))
            .or_else(|| word("heartbeat-recipients", self.heartbeat_recipients, cluster.heartbeat_recipients))
    }
}

/// As [`TimingOverrides::conflict`], of a value that is shown as it is written in a flag.
fn word<V: PartialEq + Display>(knob: &str, own: Option<V>, theirs: V) -> Option<TimingConflict> {
    own.filter(|own| *own != theirs).map(|own| TimingConflict {
        knob: String::from(knob),
        joiner: own.to_string(),
        cluster: theirs.to_string(),
    })
}

/// A timing value that a joiner set otherwise than the cluster has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{knob} is {cluster} in this cluster, not {joiner}: leave it out, or set it to the cluster's value")]
pub struct TimingConflict {
    /// The knob's name as a flag.
    pub knob: String,
    /// What the joiner set.
    pub joiner: String,
    /// What the cluster was founded with.
    pub cluster: String,
}

/// What a member does when its side has lost the majority for [`Config::quorum_loss_timeout`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QuorumLoss {
    /// Keep the old view and go on trying.
    #[default]
    Wait,
    /// Shut the member down.
    Leave,
}

/// What one member is told at its start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Name of the cluster, at most [`NAME_BYTES_MAX`] bytes. Members of other names never mix.
    pub cluster_name: String,
    /// Timing values set explicitly; see [`TimingOverrides`].
    pub timing: TimingOverrides,
    /// Whether the member was given seeds. Their addresses come as [`Command::Seeds`](crate::Command), since
    /// resolving names is I/O. Without seeds it founds a cluster at once.
    pub has_seeds: bool,
    /// How many seed processes there are, where the list of seeds can't tell (a name that resolves to a varying
    /// number of addresses). Without it the list's length counts.
    pub expected_seeds: Option<u16>,
    /// How long joining is tried before it ends with an error that says what each seed answered. Default 24 s
    /// (Geode `join-timeout`), at least 100 ms.
    pub join_timeout: Duration,
    /// How long a leaver waits for the view without it. Default: T.
    pub leave_timeout: Option<Duration>,
    /// What happens when the majority is lost for long.
    pub quorum_loss: QuorumLoss,
    /// How long the majority must be lost before [`QuorumLoss::Leave`] acts. Default: 4 T.
    pub quorum_loss_timeout: Option<Duration>,
    /// Whether members take turns with heartbeats after a view. Default: yes. It shows deaths sooner where datagrams alone do, and
    /// costs the receivers a wake-up for each; the runtime asks the transport.
    pub take_turns: bool,
}

impl Config {
    /// A configuration with defaults for everything but the cluster's name.
    pub fn new(cluster_name: impl Into<String>) -> Self {
        Self {
            cluster_name: cluster_name.into(),
            timing: TimingOverrides::default(),
            has_seeds: false,
            expected_seeds: None,
            join_timeout: Duration::from_secs(24),
            leave_timeout: None,
            quorum_loss: QuorumLoss::Wait,
            quorum_loss_timeout: None,
            take_turns: true,
        }
    }

    /// Checks bounds and relations.
    ///
    /// # Errors
    ///
    /// The first knob that is out of bounds, with its value and the bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let name = &self.cluster_name;
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
            return Err(ConfigError::ClusterName(name.clone()));
        }
        let hour = Duration::from_secs(3600);
        let ms = Duration::from_millis(1);
        within("join-timeout", self.join_timeout, 100 * ms, 24 * hour)?;
        if let Some(timeout) = self.leave_timeout {
            within("leave-timeout", timeout, 10 * ms, hour)?;
        }
        if let Some(timeout) = self.quorum_loss_timeout {
            within("quorum-loss-timeout", timeout, 10 * ms, 24 * hour)?;
        }
        if let Some(expected) = self.expected_seeds {
            within_count("expect", expected, 1, 1000)?;
        }
        self.timing.resolve().map(drop)
    }
}

/// A knob out of bounds.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A duration is too short or too long.
    #[error("{knob} is {}, which is not between {} and {}", plain(*value), plain(*min), plain(*max))]
    Duration {
        /// The knob's name as a flag.
        knob: &'static str,
        /// What was set.
        value: Duration,
        /// Smallest value.
        min: Duration,
        /// Largest value.
        max: Duration,
    },
    /// A number is too small or too large.
    #[error("{knob} is {value}, which is not between {min} and {max}")]
    Count {
        /// The knob's name as a flag.
        knob: &'static str,
        /// What was set.
        value: u16,
        /// Smallest value.
        min: u16,
        /// Largest value.
        max: u16,
    },
    /// The cluster's name is empty, too long or has control characters.
    #[error("cluster name {0:?} must have 1 to 64 bytes and no control characters")]
    ClusterName(String),
}

/// A duration as people write it: `0s`, where the standard library says `0ns`.
fn plain(duration: Duration) -> String {
    if duration.is_zero() { String::from("0s") } else { format!("{duration:?}") }
}

fn within(knob: &'static str, value: Duration, min: Duration, max: Duration) -> Result<(), ConfigError> {
    if value < min || value > max {
        return Err(ConfigError::Duration { knob, value, min, max });
    }
    Ok(())
}

fn within_count(knob: &'static str, value: u16, min: u16, max: u16) -> Result<(), ConfigError> {
    if value < min || value > max {
        return Err(ConfigError::Count { knob, value, min, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_derives_from_the_member_timeout() {
        let timing = Timing::default();
        assert_eq!(timing.member_timeout, Duration::from_secs(5));
        assert_eq!(timing.heartbeat_interval, Duration::from_secs(1));
        assert_eq!(timing.removal_silence(), Duration::from_millis(6250));
        assert_eq!(timing.validate(), Ok(()));
        for t in [MEMBER_TIMEOUT_MIN, MEMBER_TIMEOUT_MAX] {
            assert_eq!(Timing::from_member_timeout(t).validate(), Ok(()));
        }
    }

    #[test]
    fn bounds_are_named_with_the_value() {
        let overrides =
            TimingOverrides { member_timeout: Some(Duration::from_millis(99)), ..Default::default() };
        let error = overrides.resolve().unwrap_err().to_string();
        assert_eq!(error, "member-timeout is 99ms, which is not between 100ms and 600s");
        let overrides = TimingOverrides { member_timeout: Some(Duration::ZERO), ..Default::default() };
        let error = overrides.resolve().unwrap_err().to_string();
        assert_eq!(error, "member-timeout is 0s, which is not between 100ms and 600s");
        let overrides = TimingOverrides {
            heartbeat_recipients: Some(HeartbeatRecipients::Predecessors(0)),
            ..Default::default()
        };
        let error = overrides.resolve().unwrap_err().to_string();
        assert_eq!(error, "heartbeat-recipients is 0, which is not between 1 and 32");
        let overrides =
            TimingOverrides { heartbeat_interval: Some(Duration::from_secs(3)), ..Default::default() };
        let error = overrides.resolve().unwrap_err().to_string();
        assert_eq!(error, "heartbeat-interval is 3s, which is not between 5ms and 2.5s");
    }

    #[test]
    fn a_joiner_that_sets_nothing_conflicts_with_nothing() {
        let cluster = Timing::from_member_timeout(Duration::from_secs(1));
        assert_eq!(TimingOverrides::default().conflict(&cluster), None);
        let same = TimingOverrides { member_timeout: Some(Duration::from_secs(1)), ..Default::default() };
        assert_eq!(same.conflict(&cluster), None);
    }

    #[test]
    fn a_joiner_with_other_timing_is_told_both_values() {
        let cluster = Timing::from_member_timeout(Duration::from_secs(1));
        let other = TimingOverrides { member_timeout: Some(Duration::from_secs(2)), ..Default::default() };
        let conflict = other.conflict(&cluster).unwrap().to_string();
        assert!(conflict.starts_with("member-timeout is 1s in this cluster, not 2s"), "{conflict}");
        let number = HeartbeatRecipients::Predecessors(3);
        let other = TimingOverrides { heartbeat_recipients: Some(number), ..Default::default() };
        let conflict = other.conflict(&cluster).unwrap().to_string();
        assert!(conflict.starts_with("heartbeat-recipients is auto in this cluster, not 3"), "{conflict}");
    }
}
