//! Says in the log that a certificate in use is about to expire, or has.

use std::sync::Arc;
use std::time::Duration;

use crate::dates::{self, Facts};
use crate::shared::Shared;
use crate::tls_error::TlsPart;

const DAY: u64 = 24 * 60 * 60;
/// The most that is warned ahead.
const AHEAD_MAX: u64 = 7 * DAY;
/// Which part of its time a certificate of short life is warned ahead.
const AHEAD_PART: u64 = 10;
/// How often it is said again.
const SAID_EVERY: u64 = DAY;
/// How often the clock is looked at: the machine may sleep, and its clock be set.
const LOOK_EVERY: u64 = 60 * 60;

/// A certificate in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lifetime {
    /// Where it was read from.
    pub(crate) part: TlsPart,
    pub(crate) file: String,
    pub(crate) facts: Facts,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Fresh,
    Ending,
    Over,
}

impl Lifetime {
    /// From when on it is warned that it is about to expire.
    const fn ending_from(&self) -> u64 {
        let ahead = self.facts.until.saturating_sub(self.facts.from) / AHEAD_PART;
        self.facts.until.saturating_sub(if ahead < AHEAD_MAX { ahead } else { AHEAD_MAX })
    }

    const fn stage(&self, now: u64) -> Stage {
        if self.facts.is_over(now) {
            Stage::Over
        } else if now >= self.ending_from() {
            Stage::Ending
        } else {
            Stage::Fresh
        }
    }

    /// Seconds until the stage changes; none once it is over.
    fn changes_in(&self, now: u64) -> Option<u64> {
        let at = [self.ending_from(), self.facts.until.saturating_add(1)];
        at.into_iter().filter(|at| *at > now).map(|at| at - now).min()
    }

    fn sentence(&self, stage: Stage) -> Option<String> {
        let Self { part, file, facts } = self;
        let (whose, effect) = match part {
            TlsPart::Ca => (
                "the CA certificate",
                "members that run go on to trust it, but none starts with it, or takes it when its files are read again",
            ),
            TlsPart::Cert | TlsPart::Key => ("this member's certificate", "new connections fail"),
        };
        let (verb, then) = match stage {
            Stage::Fresh => return None,
            Stage::Ending => ("expires", "after that "),
            Stage::Over => ("expired", ""),
        };
        let (subject, at) = (&facts.subject, dates::stamp(facts.until));
        Some(format!(
            "{whose} {subject:?} in {file} {verb} at {at}; {then}{effect}: write new files and have them read again (SIGHUP)"
        ))
    }
}

/// What was said of which certificate, and when.
#[derive(Debug)]
struct Reminders {
    watched: Vec<Lifetime>,
    said: Vec<Option<(Stage, u64)>>,
}

impl Reminders {
    fn new(watched: Vec<Lifetime>) -> Self {
        Self { said: vec![None; watched.len()], watched }
    }

    /// What is to be said at this moment.
    fn due(&mut self, now: u64) -> Vec<String> {
        let mut due = Vec::new();
        for (lifetime, said) in self.watched.iter().zip(&mut self.said) {
            let stage = lifetime.stage(now);
            let is_said =
                said.is_some_and(|(before, at)| before == stage && now.saturating_sub(at) < SAID_EVERY);
            if let Some(sentence) = lifetime.sentence(stage).filter(|_| !is_said) {
                due.push(sentence);
                *said = Some((stage, now));
            }
        }
        due
    }

    /// When to look again.
    fn pause(&self, now: u64) -> Duration {
        let changes = self.watched.iter().filter_map(|lifetime| lifetime.changes_in(now));
        Duration::from_secs(changes.min().unwrap_or(LOOK_EVERY).min(LOOK_EVERY))
    }
}

/// Watches the certificates in use for as long as the transport is open.
pub(crate) async fn watch(shared: Arc<Shared>) {
    loop {
        let mut reminders = Reminders::new(shared.tls().lifetimes.clone());
        loop {
            let now = dates::now();
            for sentence in reminders.due(now) {
                tracing::warn!(target: "gms::quic", "{sentence}");
            }
            tokio::select! {
                () = tokio::time::sleep(reminders.pause(now)) => {}
                () = shared.replaced.notified() => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifetime(part: TlsPart, from: u64, until: u64) -> Lifetime {
        let facts = Facts { subject: "CN=m".into(), from, until, is_authority: part == TlsPart::Ca };
        Lifetime { part, file: "m.pem".into(), facts }
    }

    #[test]
    fn a_certificate_is_warned_of_a_tenth_of_its_time_ahead_then_daily_and_when_it_expired() {
        let mut reminders = Reminders::new(vec![lifetime(TlsPart::Cert, 0, 30 * DAY)]);
        let mut said = Vec::new();
        let mut now = 0;
        while now < 32 * DAY {
            said.extend(reminders.due(now).iter().map(|sentence| (now, sentence.contains("expired at"))));
            now += reminders.pause(now).as_secs();
        }
        let (begins, over) = (27 * DAY, 30 * DAY + 1);
        let ahead = [begins, begins + DAY, begins + 2 * DAY, begins + 3 * DAY].map(|at| (at, false));
        assert_eq!(said, [&ahead[..], &[(over, true), (over + DAY, true)]].concat());
    }

    #[test]
    fn a_long_life_is_warned_of_seven_days_ahead() {
        let mut reminders = Reminders::new(vec![lifetime(TlsPart::Ca, 0, 3650 * DAY)]);
        assert_eq!(reminders.due(3643 * DAY - 1), [""; 0]);
        let said = reminders.due(3643 * DAY);
        assert!(
            said.len() == 1 && said[0].contains("the CA certificate \"CN=m\" in m.pem expires at"),
            "{said:?}"
        );
    }

    #[test]
    fn the_moment_of_a_change_is_not_slept_through() {
        let reminders =
            Reminders::new(vec![lifetime(TlsPart::Cert, 0, 1000), lifetime(TlsPart::Ca, 0, 5000)]);
        assert_eq!(reminders.pause(0).as_secs(), 900);
        assert_eq!(reminders.pause(900).as_secs(), 101);
        assert_eq!(reminders.pause(5001).as_secs(), LOOK_EVERY);
    }
}
