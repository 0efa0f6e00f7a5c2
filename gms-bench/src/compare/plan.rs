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

/// Values of T in seconds for the curve, with the derived interval and all members as recipients.
const CURVE: [f64; 5] = [1.0, 2.0, 3.0, 5.0, 8.0];
/// The same for the leanest setting.
const CURVE_LEAN: [f64; 5] = [1.0, 1.5, 2.0, 3.0, 5.0];
/// How long a removal is waited for: longer than the slowest that was ever seen of any system.
const PATIENCE: Duration = Duration::from_secs(120);

/// A checked plan.
#[derive(Debug)]
pub(super) struct Plan {
    /// The other systems.
    pub(super) peers: Vec<Peer>,
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
            scenarios,
            repeats: if args.quick { 1 } else { args.repeats.into() },
            manner,
            member_timeout: args.member_timeout,
            seed: crate::line::now(),
            notes,
        })
    }

    /// GMS with the settings asked for.
    pub(super) fn gms(&self) -> System {
        System::Gms(Tuning::at(self.member_timeout))
    }

    /// The systems that a scenario is run for, given what was measured before.
    pub(super) fn systems(&self, scenario: Scenario, runs: &[Run]) -> Vec<System> {
        let mut systems = vec![self.gms()];
        if scenario == Scenario::Curve {
            let seconds = |seconds: &f64| Duration::from_secs_f64(*seconds);
            let full = CURVE.iter().map(|t| Tuning::at(seconds(t)));
            let lean = CURVE_LEAN.iter().map(|t| Tuning::lean(seconds(t)));
            systems.extend(full.chain(lean).map(System::Gms));
        } else if scenario.depends_on_traffic() {
            let matched = matching::settings(&self.gms(), runs);
            systems.extend(matched.into_iter().map(|(tuning, _)| System::Gms(tuning)));
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

    /// How many runs there are, at most.
    pub(super) fn count(&self) -> u64 {
        let of = |scenario: &Scenario| match scenario {
            Scenario::Curve => CURVE.len() + CURVE_LEAN.len() + self.peers.len(),
            scenario if scenario.depends_on_traffic() && self.scenarios.contains(&Scenario::Idle) => {
                1 + 2 * self.peers.len()
            }
            _ => 1 + self.peers.len(),
        };
        let runs: usize = self.scenarios.iter().map(of).sum();
        (runs * self.repeats) as u64
    }

    /// How long all of it takes, roughly.
    pub(super) fn expected(&self) -> Duration {
        let each = self.scenarios.iter().map(|scenario| measure::expected(*scenario, &self.manner));
        let mean = each.sum::<Duration>() / u32::try_from(self.scenarios.len().max(1)).unwrap_or(1);
        mean * u32::try_from(self.count()).unwrap_or(u32::MAX)
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
