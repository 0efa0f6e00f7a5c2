//! Processes that die, stand still, starve, and are restarted.

use std::time::Duration;

use crate::network::Host;
use crate::scenario::{Fault, Scenario, Step};

use super::checks::{COMPLETE, HEALTHY_STAY, IN_TIME, ONE_VIEW, TOGETHER};
use super::{Check, Published};

/// A fault and its time in seconds.
pub(super) const fn at(seconds: u64, fault: Fault) -> Step {
    Step { at: Duration::from_secs(seconds), fault }
}

/// `count` of `members` hosts, evenly spread, none of them the first.
pub(super) fn spread(members: usize, count: usize) -> impl Iterator<Item = Host> {
    (0..count).map(move |place| (place * members + members / 2) / count)
}

/// R2: one member in a hundred dies, all in the same instant; their hosts refuse.
pub fn crashes(members: usize, seed: u64) -> Published {
    losses(format!("r2-crashes-{members}"), members, seed, |host| Fault::Crash { host })
}

/// R2 with hosts that fall silent in the place of processes that die.
pub fn lost_hosts(members: usize, seed: u64) -> Published {
    losses(format!("r2-lost-hosts-{members}"), members, seed, |host| Fault::Down { host })
}

fn losses(name: String, members: usize, seed: u64, fault: fn(Host) -> Fault) -> Published {
    Published {
        name,
        question: "When do all survivors know of losses at one instant, and in how many views?",
        scenario: Scenario {
            members,
            seed,
            run_for: Duration::from_secs(20),
            rejoin: false,
            faults: spread(members, members.div_ceil(100)).map(|host| at(10, fault(host))).collect(),
            ..Scenario::default()
        },
        checks: vec![ONE_VIEW, IN_TIME, HEALTHY_STAY],
    }
}

/// L1: `starving` of `members` processes run for a tenth of the time only, one second in ten, for five minutes.
pub fn starved(members: usize, starving: usize, seed: u64) -> Published {
    let starve = |host| Fault::Starve { host, share: 0.1, period: Duration::from_secs(10) };
    Published {
        name: format!("l1-starved-{starving}-of-{members}"),
        question: "Do members that get no processor have healthy ones removed?",
        scenario: Scenario {
            members,
            seed,
            run_for: Duration::from_secs(310),
            heal_for: Duration::from_secs(600),
            faults: spread(members, starving).map(|host| at(10, starve(host))).collect(),
            ..Scenario::default()
        },
        checks: vec![HEALTHY_STAY, TOGETHER],
    }
}

/// Which member stands still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The one that watches a member that dies at the same time.
    Watcher,
    /// Any.
    Victim,
    /// The first in office.
    Coordinator,
}

/// P1: one of ten members stands still for some seconds.
pub fn stopped(role: Role, seconds: u64, seed: u64) -> Published {
    let (host, name) = match role {
        Role::Watcher => (4, "watcher"),
        Role::Victim => (5, "victim"),
        Role::Coordinator => (0, "coordinator"),
    };
    let mut faults = vec![at(10, Fault::Stop { host }), at(10 + seconds, Fault::Continue { host })];
    if role == Role::Watcher {
        faults.insert(0, at(10, Fault::Crash { host: host + 1 }));
    }
    // The check takes until R, so that a stop within T removes nobody; the crashed member goes anyway.
    let short_stops = Check::new("who stands still for no longer than T stays", |outcome| {
        let stopped = outcome.world.scenario().faults.iter().rev().find_map(|step| match step.fault {
            Fault::Stop { host } => Some(host),
            _ => None,
        });
        let mut processes = outcome.world.processes().iter().filter(|p| Some(p.host()) == stopped);
        let stays = processes.next().is_some_and(crate::Process::is_up);
        if stays { Ok(()) } else { Err(String::from("it was excluded")) }
    });
    let mut checks = vec![HEALTHY_STAY, TOGETHER];
    if seconds <= 5 {
        checks.push(short_stops);
    }
    if role != Role::Watcher {
        checks.push(COMPLETE);
    }
    Published {
        name: format!("p1-stopped-{name}-{seconds}s"),
        question: "Whom does a process that stood still take along, and does it come back?",
        scenario: Scenario {
            members: 10,
            seed,
            run_for: Duration::from_secs(120),
            faults,
            ..Scenario::default()
        },
        checks,
    }
}

/// W1: all members are killed and started again at once on the same address, one after the other.
pub fn rolling_restart(members: usize, seed: u64) -> Published {
    let restart = |host| at(10 + 5 * host as u64, Fault::Restart { host, elsewhere: false });
    Published {
        name: format!("w1-rolling-restart-{members}"),
        question: "Does a cluster survive that all its processes are restarted in turn?",
        scenario: Scenario {
            members,
            seed,
            run_for: Duration::from_secs(40 + 5 * members as u64),
            faults: (0..members).map(restart).collect(),
            ..Scenario::default()
        },
        checks: vec![HEALTHY_STAY, COMPLETE],
    }
}
