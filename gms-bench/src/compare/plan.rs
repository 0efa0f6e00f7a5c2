//! What is to be run, checked before anything starts.

use std::process::{Command, Stdio};
use std::time::Duration;

use gms_lab::Lab;

use super::matching;
use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::measure::{self, Manner};
use crate::outcome::Run;
use crate::scenario::Scenario;
use crate::system::{Peer, System, Tuning};
use crate::transport::Carrier;

/// Values of T in seconds for the curve, with the derived interval and all members as recipients.
const CURVE: [f64; 5] = [1.0, 2.0, 3.0, 5.0, 8.0];
/// The same for the leanest setting.
const CURVE_LEAN: [f64; 5] = [1.0, 1.5, 2.0, 3.0, 5.0];
/// How long a removal is waited for: longer than the slowest that was ever seen of any system.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many members stand at once, in clusters side by side: as many as two processors hardly notice.
const MEMBERS_AT_ONCE: usize = 200;

/// A checked plan.
#[derive(Debug)]
pub(super) struct Plan {
    /// The other systems.
    pub(super) peers: Vec<Peer>,
    /// What carries the messages of GMS, one at least.
    pub(super) carriers: Vec<Carrier>,
    /// Scenarios in the order in which they are run.
    pub(super) scenarios: Vec<Scenario>,
    /// Repetitions.
    pub(super) repeats: usize,
    /// How runs are made.
    pub(super) manner: Manner,
    /// T of GMS.
    pub(super) member_timeout: Duration,
    /// Where chance comes from.
    pub(super) seed: u64,
    /// What is left out, and why.
    pub(super) notes: Vec<String>,
}

impl Plan {
    /// The plan that the arguments describe.
    pub(super) fn of(args: &CompareArgs) -> Result<Self, Failure> {
        let takes_several = |s: &Scenario| matches!(s, Scenario::CrashSeveral | Scenario::HostLossSeveral);
        let needs_victims = args.scenarios.as_ref().is_none_or(|list| list.iter().any(takes_several));
        if needs_victims && usize::from(args.victims) * 2 >= usize::from(args.members) {
            return Err(Failure::Usage(format!(
                "--victims {} is not less than half of {} members: the rest could not decide",
                args.victims, args.members
            )));
        }
        let least = gms_core::config::MEMBER_TIMEOUT_MIN;
        if args.member_timeout < least || args.member_timeout > gms_core::config::MEMBER_TIMEOUT_MAX {
            return Err(Failure::Usage(format!(
                "--member-timeout {} is out of bounds: from {} to {}",
                humantime::format_duration(args.member_timeout),
                humantime::format_duration(least),
                humantime::format_duration(gms_core::config::MEMBER_TIMEOUT_MAX),
            )));
        }
        let mut notes = Vec::new();
        let peers = peers(args, &mut notes)?;
        let obstacle = if args.loopback { Some("--loopback says so".to_owned()) } else { Lab::obstacle() };
        let wished = args.scenarios.clone().unwrap_or_else(|| Scenario::ALL.to_vec());
        let ordered = Scenario::ALL.into_iter().filter(|scenario| wished.contains(scenario));
        let (scenarios, left_out): (Vec<_>, Vec<_>) =
            ordered.partition(|scenario| obstacle.is_none() || !scenario.needs_lab());
        if let Some(why) = &obstacle {
            let names: Vec<&str> = left_out.iter().map(|scenario| scenario.name()).collect();
            if !names.is_empty() {
                notes.push(format!("left out: {}: {why}", names.join(", ")));
            }
            notes.push(format!("members share loopback, so packets and bytes are not counted: {why}"));
        }
        if scenarios.is_empty() {
            let why = obstacle.unwrap_or_default();
            return Err(Failure::Usage(format!("none of these scenarios can be run here: {why}")));
        }
        let quick =
            |time: Duration, short: u64| if args.quick { time.min(Duration::from_secs(short)) } else { time };
        let manner = Manner {
            members: args.members.into(),
            victims: args.victims.into(),
            in_lab: obstacle.is_none(),
            settle: quick(args.settle, 2),
            idle_for: quick(args.idle_for, 5),
            loss_percent: args.loss,
            loss_for: quick(args.loss_for, 15),
            patience: PATIENCE,
        };
        Ok(Self {
            peers,
            carriers: args.transports.clone(),
            scenarios,
            repeats: if args.quick { 1 } else { args.repeats.into() },
            manner,
            member_timeout: args.member_timeout,
            seed: crate::line::now(),
            notes,
        })
    }

    /// GMS with the settings asked for, over each transport.
    fn gms(&self) -> impl Iterator<Item = Tuning> {
        let tuning = Tuning::at(self.member_timeout);
        self.carriers.iter().map(move |carrier| tuning.over(*carrier))
    }

    /// The systems that a scenario is run for, given what was measured before.
    pub(super) fn systems(&self, scenario: Scenario, runs: &[Run]) -> Vec<System> {
        let mut systems: Vec<System> = self.gms().map(System::Gms).collect();
        let first = self.carriers.first().copied().unwrap_or_default();
        if scenario == Scenario::Curve {
            let seconds = |seconds: &f64| Duration::from_secs_f64(*seconds);
            let full = CURVE.iter().map(|t| Tuning::at(seconds(t)));
            let lean = CURVE_LEAN.iter().map(|t| Tuning::lean(seconds(t)));
            systems.extend(full.chain(lean).map(|tuning| System::Gms(tuning.over(first))));
        }
        if scenario.depends_on_traffic() {
            let matched = self.gms().next().map(|tuning| matching::settings(tuning, runs));
            systems.extend(matched.into_iter().flatten().map(|(tuning, _)| System::Gms(tuning)));
        }
        systems.extend(self.peers.iter().copied().map(System::Peer));
        let mut seen = Vec::new();
        systems.retain(|system| {
            !seen.contains(system) && {
                seen.push(system.clone());
                true
            }
        });
        systems
    }

    /// Whether this run needs the machine to itself: where milliseconds decide, and where clusters would share an
    /// interface.
    pub(super) fn is_alone(&self, scenario: Scenario, system: &System) -> bool {
        !self.manner.in_lab || (scenario.is_crash() && system.is_gms())
    }

    /// How many clusters of others stand at once.
    pub(super) fn clusters_at_once(&self) -> usize {
        (MEMBERS_AT_ONCE / self.manner.members).max(1)
    }

    /// How many runs there are in one repetition, at most: those that are alone, and those side by side.
    fn runs(&self, scenario: Scenario) -> (usize, usize) {
        let (own, peers) = (self.carriers.len(), self.peers.len());
        let settings = if scenario == Scenario::Curve { CURVE.len() + CURVE_LEAN.len() } else { 0 };
        let is_matched = scenario.depends_on_traffic() && self.scenarios.contains(&Scenario::Idle);
        let own = own + settings + if is_matched { peers } else { 0 };
        let are_alone = |is_alone: bool, count: usize| if is_alone { (count, 0) } else { (0, count) };
        let in_lab = self.manner.in_lab;
        let (own, peers) = (are_alone(!in_lab || scenario.is_crash(), own), are_alone(!in_lab, peers));
        (own.0 + peers.0, own.1 + peers.1)
    }

    /// How many runs there are, at most.
    pub(super) fn count(&self) -> u64 {
        let runs = self.scenarios.iter().map(|scenario| self.runs(*scenario));
        let runs: usize = runs.map(|(alone, side_by_side)| alone + side_by_side).sum();
        (runs * self.repeats) as u64
    }

    /// How long all of it takes, roughly.
    pub(super) fn expected(&self) -> Duration {
        let times = self.scenarios.iter().map(|scenario| {
            let (alone, side_by_side) = self.runs(*scenario);
            let turns = alone + side_by_side.div_ceil(self.clusters_at_once());
            measure::expected(*scenario, &self.manner) * u32::try_from(turns).unwrap_or(u32::MAX)
        });
        times.sum::<Duration>() * u32::try_from(self.repeats).unwrap_or(u32::MAX)
    }
}

/// The peers that are there.
fn peers(args: &CompareArgs, notes: &mut Vec<String>) -> Result<Vec<Peer>, Failure> {
    let wished: Vec<Peer> = match &args.peers {
        Some(list) => list.iter().copied().flatten().collect(),
        None => Peer::ALL.to_vec(),
    };
    let mut peers: Vec<Peer> = Peer::ALL.into_iter().filter(|peer| wished.contains(peer)).collect();
    let has_serf =
        || Command::new("serf").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if peers.contains(&Peer::Serf) && !has_serf() {
        if args.peers.is_some() {
            return Err(Failure::Usage(
                "the program serf is not installed: install it or leave it out".into(),
            ));
        }
        notes.push("left out: serf: the program is not installed".into());
        peers.retain(|peer| *peer != Peer::Serf);
    }
    Ok(peers)
}
