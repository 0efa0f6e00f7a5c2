//! One run: a cluster, a fault, and what came of it.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;

use crate::cluster::Cluster;
use crate::cost::Used;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::line::{Line, now};
use crate::outcome::{Idle, Noticed, Outcome, Watched};
use crate::scenario::Scenario;
use crate::system::{System, Tools};

/// How runs are made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Manner {
    /// Members of a cluster.
    pub members: usize,
    /// Victims of the scenarios that take several.
    pub victims: usize,
    /// Whether each member has a network namespace of its own.
    pub in_lab: bool,
    /// How long a cluster stands before anything is done to it.
    pub settle: Duration,
    /// How long an idle one is watched.
    pub idle_for: Duration,
    /// How many percent of the packets are lost.
    pub loss_percent: u8,
    /// How long.
    pub loss_for: Duration,
    /// How long the removal of victims is waited for.
    pub patience: Duration,
}

/// How long a fault may take to be done: more, and it is unknown when it began for whom.
const FAULT_MAX: Duration = Duration::from_millis(500);

/// Sets up a cluster that stands and is left alone for a while.
///
/// # Errors
///
/// The cluster could not be set up, or the user has seen enough.
pub fn set_up(
    system: &System,
    manner: &Manner,
    tools: &Tools,
    interrupt: &Interrupt,
) -> Result<Cluster, Failure> {
    let mut cluster = Cluster::start(tools, system, manner.members, manner.in_lab, interrupt)?;
    cluster.watch(manner.settle)?;
    Ok(cluster)
}

/// Does to a cluster what `scenario` says. Faults fall at a moment drawn by `chance`, since all systems work in periods.
///
/// # Errors
///
/// The fault can't be done, or the user has seen enough.
pub fn inflict(
    scenario: Scenario,
    cluster: &mut Cluster,
    manner: &Manner,
    chance: &mut fastrand::Rng,
) -> Result<Outcome, Failure> {
    cluster.watch(Duration::from_millis(chance.u64(0..1000)))?;
    match scenario {
        Scenario::Idle => idle(cluster, manner).map(Outcome::Idle),
        Scenario::LossAll | Scenario::LossOne => loss(cluster, scenario, manner).map(Outcome::Watched),
        Scenario::Curve => {
            let idle = idle(cluster, manner)?;
            cluster.watch(Duration::from_millis(chance.u64(0..1000)))?;
            let noticed = fault(cluster, Scenario::HostLoss, manner, chance)?;
            Ok(Outcome::Curve { idle, noticed })
        }
        _ => fault(cluster, scenario, manner, chance).map(Outcome::Noticed),
    }
}

/// Takes victims away and waits until no survivor sees them.
fn fault(
    cluster: &mut Cluster,
    scenario: Scenario,
    manner: &Manner,
    chance: &mut fastrand::Rng,
) -> Result<Noticed, Failure> {
    let victims = victims(cluster, scenario, manner, chance);
    let survivors: Vec<usize> = (0..cluster.size()).filter(|place| !victims.contains(place)).collect();
    let gone: BTreeSet<_> = victims.iter().map(|place| cluster.address(*place)).collect();
    let begun = now();
    match scenario {
        Scenario::HostLoss | Scenario::HostLossSeveral => {
            let hosts: Vec<usize> = victims.iter().map(|place| place + 1).collect();
            cluster.lab()?.lose_hosts(&hosts)?;
        }
        Scenario::Hang => cluster.signal(&victims, Signal::STOP)?,
        _ => cluster.signal(&victims, Signal::KILL)?,
    }
    let took = Duration::from_nanos(now() - begun);
    if took > FAULT_MAX {
        return Err(Failure::fault(format!(
            "the fault itself took {took:?}: something else keeps the kernel's network busy; run it again when that is over"
        )));
    }
    let is_noticed = |line: &Line| line.at >= begun && line.members.iter().all(|seen| !gone.contains(seen));
    let noticed_by = |cluster: &Cluster, place: usize| {
        cluster.history(place).iter().find(|line| is_noticed(line)).map(|line| line.at - begun)
    };
    cluster.reaches(manner.patience, |cluster| {
        survivors.iter().all(|place| noticed_by(cluster, *place).is_some())
    })?;
    let times: Vec<Option<u64>> = survivors.iter().map(|place| noticed_by(cluster, *place)).collect();
    let all = times.iter().copied().collect::<Option<Vec<u64>>>();
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    Ok(Noticed {
        victims: victims.len(),
        last_s: all.and_then(|times| times.into_iter().max()).map(seconds),
        survivors_s: times.iter().map(|time| time.map(seconds)).collect(),
        views: survivors.iter().filter_map(|place| views(cluster.history(*place), begun, is_noticed)).max(),
        false_reports: lost_from_sight(cluster, &survivors, &survivors, begun).len(),
    })
}

/// How many views were installed from the moment `begun` up to the first line that `ends` it.
fn views(history: &[Line], begun: u64, ends: impl Fn(&Line) -> bool) -> Option<u64> {
    let before = history.iter().rfind(|line| line.at < begun)?.view?;
    let last = history.iter().find(|line| ends(line))?.view?;
    Some(last.saturating_sub(before))
}

/// Who is taken away.
fn victims(cluster: &Cluster, scenario: Scenario, manner: &Manner, chance: &mut fastrand::Rng) -> Vec<usize> {
    let last = cluster.history(0).last();
    let in_charge = last.and_then(|line| line.coordinator).and_then(|address| cluster.place(address));
    let in_charge = in_charge.unwrap_or(0);
    // In the order of the view where there is one, else in that of joining: neighbours are the harder case for rings.
    let order: Vec<usize> = match last {
        Some(line) if line.view.is_some() => {
            line.members.iter().filter_map(|address| cluster.place(*address)).collect()
        }
        _ => (0..cluster.size()).collect(),
    };
    let others: Vec<usize> = order.into_iter().filter(|place| *place != in_charge).collect();
    match scenario {
        Scenario::CrashCoordinator => vec![in_charge],
        _ => {
            let count = if scenario.is_several() { manner.victims } else { 1 };
            let first = chance.usize(0..=others.len().saturating_sub(count));
            others.into_iter().skip(first).take(count).collect()
        }
    }
}

/// Loses packets for a while and counts who is wrongly not seen.
fn loss(cluster: &mut Cluster, scenario: Scenario, manner: &Manner) -> Result<Watched, Failure> {
    let all: Vec<usize> = (0..cluster.size()).collect();
    let hosts: Vec<usize> = all.iter().map(|place| place + 1).collect();
    let begun = now();
    let lab = cluster.lab()?;
    if scenario == Scenario::LossAll {
        lab.lose_from(&hosts, manner.loss_percent)?;
    } else {
        let one = [hosts.len() / 2];
        lab.lose_from(&one, manner.loss_percent)?;
        lab.lose_to(&one, manner.loss_percent)?;
    }
    cluster.watch(manner.loss_for)?;
    let reports = lost_from_sight(cluster, &all, &all, begun);
    let members: BTreeSet<usize> = reports.iter().copied().collect();
    Ok(Watched { false_reports: reports.len(), members_reported: members.len() })
}

/// What members cost that do nothing.
fn idle(cluster: &mut Cluster, manner: &Manner) -> Result<Idle, Failure> {
    let all: Vec<usize> = (0..cluster.size()).collect();
    let begun = now();
    let used = |cluster: &Cluster| {
        all.iter().map(|place| Used::of(cluster.process_id(*place))).collect::<Result<Vec<_>, _>>()
    };
    let before = used(cluster)?;
    cluster.watch(manner.idle_for)?;
    let after = used(cluster)?;
    let seconds = (now() - begun) as f64 / 1e9;
    let per_second = |of: fn(&Used) -> u64| {
        let sum: u64 =
            before.iter().zip(&after).map(|(before, after)| of(after).saturating_sub(of(before))).sum();
        sum as f64 / seconds / all.len() as f64
    };
    let rss = after.iter().map(|used| used.rss).max().unwrap_or(0);
    Ok(Idle {
        cpu_ms: per_second(|used| used.cpu) / 1e6,
        packets: manner.in_lab.then(|| per_second(|used| used.packets)),
        bytes: manner.in_lab.then(|| per_second(|used| used.bytes)),
        rss_mib: rss as f64 / 1024.0,
        false_reports: lost_from_sight(cluster, &all, &all, begun).len(),
    })
}

/// Each time that one of `observers` stopped seeing one of `living` since `begun`, as the place of the latter.
fn lost_from_sight(cluster: &Cluster, observers: &[usize], living: &[usize], begun: u64) -> Vec<usize> {
    let mut lost = Vec::new();
    for observer in observers {
        let history = cluster.history(*observer);
        for pair in history.windows(2).filter(|pair| pair[1].at >= begun) {
            let (before, after) = (&pair[0].members, &pair[1].members);
            let gone = before.iter().filter(|address| !after.contains(address));
            let gone = gone.filter_map(|address| cluster.place(*address));
            lost.extend(gone.filter(|place| place != observer && living.contains(place)));
        }
    }
    lost
}

/// How long a run takes about, beside what it waits for.
pub(crate) fn expected(scenario: Scenario, manner: &Manner) -> Duration {
    let waits = match scenario {
        Scenario::Idle => manner.idle_for,
        Scenario::LossAll | Scenario::LossOne => manner.loss_for,
        Scenario::Curve => manner.idle_for + Duration::from_secs(5),
        _ => Duration::from_secs(5),
    };
    manner.settle + waits + Duration::from_secs(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: u64, view: u64) -> Line {
        Line { at, members: Vec::new(), view: Some(view), coordinator: None }
    }

    #[test]
    fn views_are_counted_from_the_one_that_stood_at_the_fault() {
        let history = [line(1, 1), line(5, 4), line(12, 5), line(20, 6), line(30, 7)];
        assert_eq!(views(&history, 10, |line| line.at >= 20), Some(2));
        assert_eq!(views(&history, 10, |line| line.at >= 12), Some(1));
        assert_eq!(views(&history, 10, |_| false), None);
    }
}
