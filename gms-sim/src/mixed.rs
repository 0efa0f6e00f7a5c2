//! The mixed workload: from a seed a scenario with faults of all kinds, and then a healing phase.
//!
//! Seeds take turns among [`Profile`]s, so that each promise is tested where it holds: losses at one instant in a calm
//! world, partitions, a lossy network, slow machines, and everything at once. A quarter of them have hubs, in a quarter
//! trackers forget connections, and a third have no connections that show a death.

use std::time::Duration;

use fastrand::Rng;
use gms_core::config::HeartbeatRecipients;

use crate::network::{Host, Link, Squatter, StreamMode};
use crate::scenario::{Fault, Scenario, Step, Transport};

/// T of all mixed runs.
const T: Duration = Duration::from_secs(1);
/// What clocks may differ by: `R (1 - ρ) ≥ T (1 + ρ)`, the fine print of p-5, bears this much.
const DRIFT_PPM_MAX: i32 = 100_000;
/// Longest time that healing may take: exclusion is learned by asking, and who joins again waits, up to 60 T where
/// its returns did not last, and asks seeds.
const HEAL_FOR: Duration = Duration::from_secs(120);

/// What kind of a bad day it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Processes and hosts die, several at one instant, others start: all else works.
    Calm,
    /// Cuts, partitions, one-way links, hosts off the network.
    Partitions,
    /// Loss, delay, duplicates, reordering, narrow links, streams that don't work.
    Lossy,
    /// Stopped, starved and sleeping machines, wrong clocks.
    Slow,
    /// Everything.
    Chaotic,
}

impl Profile {
    /// The profile of a seed.
    pub const fn of(seed: u64) -> Self {
        match seed % 6 {
            0 => Self::Calm,
            1 => Self::Partitions,
            2 => Self::Lossy,
            3 => Self::Slow,
            _ => Self::Chaotic,
        }
    }
}

/// The scenario of a seed.
pub fn scenario(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed ^ 0x6d69_7865_6421_0000);
    let members = rng.usize(5..=15);
    let mut scenario = Scenario {
        members,
        seeds: 3,
        seed,
        member_timeout: T,
        run_for: Duration::from_millis(rng.u64(15_000..25_000)),
        heal_for: HEAL_FOR,
        heartbeat_recipients: recipients(seed),
        transport: transport(seed),
        ..Scenario::default()
    };
    if rng.u32(0..4) == 0 {
        draw_roles(&mut scenario, &mut rng);
    }
    let mut day = Day { rng, hosts: members, now: Duration::ZERO, end: scenario.run_for, faults: Vec::new() };
    match Profile::of(seed) {
        Profile::Calm => day.calm(),
        Profile::Partitions => day.draw(&[(1, Day::process), (6, Day::cuts)]),
        Profile::Lossy => day.draw(&[(1, Day::process), (6, Day::links)]),
        Profile::Slow => day.draw(&[(1, Day::process), (6, Day::machines)]),
        Profile::Chaotic => {
            day.draw(&[
                (3, Day::process),
                (2, Day::cuts),
                (2, Day::links),
                (2, Day::machines),
                (1, Day::lies),
            ]);
        }
    }
    scenario.faults = day.faults;
    scenario.faults.extend(forgets(&scenario));
    scenario.faults.sort_by_key(|step| step.at);
    scenario
}

/// On some days trackers on the way forget connections, though nothing else is wrong. Drawn apart from all else, too.
fn forgets(scenario: &Scenario) -> Vec<Step> {
    let mut rng = Rng::with_seed(scenario.seed ^ 0x666f_7267_6574_0000);
    let count = if rng.u32(0..4) == 0 { rng.usize(1..=6) } else { 0 };
    let day = scenario.run_for.as_millis() as u64;
    let forget = |_| {
        let at = Duration::from_millis(rng.u64(0..day));
        Step { at, fault: Fault::Forget { host: rng.usize(0..scenario.members) } }
    };
    (0..count).map(forget).collect()
}

/// Who gets heartbeats: on some days hubs and a few others. Drawn apart from all else, which stays the same.
fn recipients(seed: u64) -> Option<HeartbeatRecipients> {
    let mut rng = Rng::with_seed(seed ^ 0x6875_6273_0000_0000);
    (rng.u32(0..4) == 0).then(|| HeartbeatRecipients::Predecessors(rng.u16(1..=6)))
}

/// On a third of the days datagrams alone show deaths. Drawn apart from all else, too.
fn transport(seed: u64) -> Transport {
    let mut rng = Rng::with_seed(seed ^ 0x7175_6963_0000_0000);
    if rng.u32(0..3) == 0 { Transport::Quic } else { Transport::Udp }
}

/// Other weights than ten, and members that come last in office.
fn draw_roles(scenario: &mut Scenario, rng: &mut Rng) {
    /// Founders have more than nothing, and nobody may weigh more than the cluster that it joins.
    const WEIGHTS: [u8; 4] = [0, 1, 5, 14];
    for host in scenario.seeds..scenario.members {
        if rng.u32(0..3) == 0 {
            scenario.weights.insert(host, WEIGHTS[rng.usize(0..WEIGHTS.len())]);
        }
    }
    for host in 0..scenario.members {
        if rng.u32(0..4) == 0 {
            scenario.not_eligible.insert(host);
        }
    }
}

/// Draws faults one after the other.
struct Day {
    rng: Rng,
    hosts: usize,
    now: Duration,
    end: Duration,
    faults: Vec<Step>,
}

/// Draws one fault, or a few that belong together.
type Draw = fn(&mut Day);

impl Day {
    fn push(&mut self, fault: Fault) {
        self.faults.push(Step { at: self.now, fault });
    }

    fn wait(&mut self, from_ms: u64, to_ms: u64) {
        self.now += Duration::from_millis(self.rng.u64(from_ms..to_ms));
    }

    fn host(&mut self) -> Host {
        self.rng.usize(0..self.hosts)
    }

    /// Two different hosts.
    fn pair(&mut self) -> (Host, Host) {
        let (a, b) = (self.host(), self.rng.usize(0..self.hosts - 1));
        (a, if b >= a { b + 1 } else { b })
    }

    fn newcomer(&mut self) -> Host {
        self.hosts += 1;
        self.hosts - 1
    }

    fn left(&self) -> Duration {
        self.end.saturating_sub(self.now)
    }

    /// A span of a few T that ends with the day.
    fn span(&mut self) -> Duration {
        Duration::from_millis(self.rng.u64(50..5_000)).min(self.left())
    }

    /// Draws from tables, by weight, until the day is over.
    fn draw(&mut self, tables: &[(u32, Draw)]) {
        let total = tables.iter().map(|(weight, _)| weight).sum();
        self.wait(0, 2_000);
        while self.now < self.end {
            let mut drawn = self.rng.u32(0..total);
            let table = tables.iter().find(|(weight, _)| {
                let is_it = drawn < *weight;
                drawn = drawn.saturating_sub(*weight);
                is_it
            });
            let (_, draw) = table.expect("drawn below the sum");
            draw(self);
            self.wait(1, 900);
        }
    }

    /// Groups of losses at one instant, with time between them in which all is calm.
    fn calm(&mut self) {
        self.wait(2_600, 3_500);
        while self.now < self.end {
            let most = (self.hosts - 1) / 2;
            let count = self.rng.usize(1..=most.min(5));
            let mut hosts: Vec<Host> = (0..self.hosts).collect();
            self.rng.shuffle(&mut hosts);
            if self.rng.bool() {
                // Side by side in the ring, or the first in office.
                hosts.sort_unstable();
                let by = self.rng.usize(0..hosts.len());
                hosts.rotate_left(by);
            }
            hosts.truncate(count);
            let (way, elsewhere, mixes) = (self.rng.u32(0..5), self.rng.bool(), self.rng.bool());
            for host in hosts {
                self.push(match way {
                    0 => Fault::Down { host },
                    1 if mixes && host % 2 == 0 => Fault::Down { host },
                    2 => Fault::Restart { host, elsewhere },
                    _ => Fault::Crash { host },
                });
            }
            let shortest = if self.rng.u32(0..4) == 0 { 100 } else { 2_000 };
            self.wait(shortest, 4_500);
            match self.rng.u32(0..3) {
                0 => {
                    for host in 0..self.hosts {
                        self.push(Fault::Up { host });
                        self.push(Fault::Start { host });
                    }
                    self.wait(3_500, 6_000);
                }
                1 => {
                    let host = self.newcomer();
                    self.push(Fault::Start { host });
                    self.wait(300, 3_000);
                }
                _ => {}
            }
        }
        let end = self.end;
        self.faults.retain(|step| step.at <= end);
    }

    fn process(&mut self) {
        let host = self.host();
        let fault = match self.rng.u32(0..16) {
            0..=2 => Fault::Crash { host },
            3..=4 => Fault::Restart { host, elsewhere: self.rng.u32(0..3) == 0 },
            5..=8 => Fault::Start { host },
            9 if self.hosts < 20 => Fault::Start { host: self.newcomer() },
            10..=11 => Fault::Leave { host },
            12 => {
                let (host, by) = self.pair();
                Fault::Expel { host, by }
            }
            13 => Fault::Sick { host, sick: true },
            14 => Fault::Sick { host, sick: false },
            _ => {
                let count = self.rng.usize(2..=self.hosts / 2);
                for _ in 1..count {
                    let host = self.host();
                    self.push(Fault::Crash { host });
                }
                Fault::Crash { host }
            }
        };
        self.push(fault);
    }

    fn cuts(&mut self) {
        let (a, b) = self.pair();
        match self.rng.u32(0..9) {
            0..=1 => {
                self.push(Fault::Cut { from: a, to: b });
                self.push(Fault::Cut { from: b, to: a });
            }
            2..=3 => self.push(Fault::Cut { from: a, to: b }),
            4..=5 => {
                let groups = self.groups();
                self.push(Fault::Partition { groups });
            }
            6 => self.push(Fault::Down { host: a }),
            7 => self.push(Fault::Up { host: a }),
            _ => self.push(Fault::Heal),
        }
    }

    /// Two or three groups of all hosts.
    fn groups(&mut self) -> Vec<Vec<Host>> {
        let count = self.rng.usize(2..=3);
        let mut groups = vec![Vec::new(); count];
        for host in 0..self.hosts {
            let group = self.rng.usize(0..count);
            groups[group].push(host);
        }
        groups
    }

    fn links(&mut self) {
        let (a, b) = self.pair();
        let fault = match self.rng.u32(0..10) {
            0..=1 => Fault::Loss { share: self.rng.f64() * 0.7 },
            2..=3 => Fault::HostLoss { host: a, inward: self.rng.f64(), outward: self.rng.f64() },
            4 => Fault::FlipFlop {
                host: a,
                period: Duration::from_millis(self.rng.u64(20..2_500)),
                span: self.span(),
                outward: self.rng.bool(),
            },
            5..=6 => Fault::Link { from: a, to: b, link: self.link() },
            7 => Fault::Links { link: self.link() },
            8 => {
                let modes = [StreamMode::Work, StreamMode::Hang, StreamMode::Break];
                Fault::Streams { host: a, mode: modes[self.rng.usize(0..3)] }
            }
            _ => Fault::Heal,
        };
        self.push(fault);
    }

    /// A bad link of one kind or of several.
    fn link(&mut self) -> Link {
        let mut link = Link::default();
        let kinds = self.rng.u32(1..64);
        if kinds & 1 != 0 {
            link.delay_min = Duration::from_millis(self.rng.u64(0..100));
            link.delay_mean = link.delay_min + Duration::from_millis(self.rng.u64(1..200));
        }
        if kinds & 2 != 0 {
            link.tail_chance = self.rng.f64() * 0.3;
            link.tail = Duration::from_millis(self.rng.u64(10..3_000));
        }
        if kinds & 4 != 0 {
            link.loss = self.rng.f64() * 0.8;
        }
        if kinds & 8 != 0 {
            link.duplicate = self.rng.f64() * 0.5;
        }
        if kinds & 16 != 0 {
            link.reorder = self.rng.f64() * 0.5;
        }
        if kinds & 32 != 0 {
            link.mtu = Some(self.rng.u32(100..1_500));
            link.bandwidth = Some(self.rng.u64(2_000..2_000_000));
        }
        link
    }

    fn machines(&mut self) {
        let host = self.host();
        let fault = match self.rng.u32(0..11) {
            0..=1 => Fault::Stop { host },
            2..=4 => Fault::Continue { host },
            5..=6 => Fault::Starve {
                host,
                share: 0.02 + 0.9 * self.rng.f64(),
                period: Duration::from_millis(self.rng.u64(5..3_000)),
            },
            7 => Fault::Suspend { host, span: self.span() },
            8 => Fault::Drift { host, ppm: self.rng.i32(-DRIFT_PPM_MAX..=DRIFT_PPM_MAX) },
            9 => Fault::JumpWallClock { host, seconds: self.rng.i64(-100_000..100_000) },
            _ => Fault::Heal,
        };
        self.push(fault);
    }

    /// Firewalls and programs that speak in a member's name.
    fn lies(&mut self) {
        let host = self.host();
        if self.rng.bool() {
            let on = self.rng.u32(0..3) > 0;
            return self.push(Fault::Reject { host, on });
        }
        let squatters = [Squatter::Silent, Squatter::Resets, Squatter::Garbage];
        let squatter = squatters[self.rng.usize(0..3)];
        self.push(Fault::Crash { host });
        self.push(Fault::Squat { host, squatter });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_seed_gives_a_valid_scenario_and_the_same_one_again() {
        for seed in 0..300 {
            let drawn = scenario(seed);
            assert_eq!(drawn.validate(), Ok(()), "seed {seed}");
            assert_eq!(drawn, scenario(seed));
        }
    }

    #[test]
    fn some_days_have_hubs_in_every_profile() {
        let with_hubs = (0..100).filter(|seed| recipients(*seed).is_some());
        let kinds: BTreeSet<u64> = with_hubs.map(|seed| seed % 6).collect();
        assert_eq!(kinds.len(), 6);
    }

    #[test]
    fn all_kinds_of_faults_are_drawn() {
        let kind = |fault: &Fault| {
            let text = format!("{fault:?}");
            text.split([' ', '{']).next().unwrap_or_default().to_owned()
        };
        let steps = (0..100).flat_map(|seed| scenario(seed).faults);
        let kinds: BTreeSet<String> = steps.map(|step| kind(&step.fault)).collect();
        // All but none: the list grows with the enum.
        assert_eq!(kinds.len(), 26, "{kinds:?}");
    }
}
