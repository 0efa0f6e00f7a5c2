//! What is going to be run: the scenario of each seed, as the flags and files say.

use std::path::Path;
use std::time::Duration;

use gms_sim::network::HOSTS_MAX;
use gms_sim::published::{self, Check};
use gms_sim::scenario::{Fault, Scenario, Start, Step};
use gms_sim::{ScenarioError, Transport, mixed};

use crate::args::{FaultArgs, SimulateArgs, TransportName, WorldArgs};
use crate::exit::Failure;
use crate::files;

/// Members where nothing else is said: enough for a ring that one death does not concern everybody in.
const MEMBERS: usize = 20;
/// When faults happen where nothing else is said.
const AT: Duration = Duration::from_secs(10);
/// Keeps the choice of victims apart from what else is drawn from the seed.
const VICTIMS: u64 = 0x7669_6374_696d_7300;
/// What stands for stdin where a file is named.
const STDIN: &str = "-";
/// Characters of an error that quotes a file.
const QUOTED_MAX: usize = 600;
/// Share of the mean delay that is the shortest, as in the default network.
const SHORTEST: f64 = 0.4;

/// Where scenarios come from.
#[derive(Clone, Debug)]
enum Source {
    /// One that is changed and added to as the flags say.
    Flags(Box<Flags>),
    /// The mixed workload.
    Mixed,
    /// A published one, by its name.
    Published(String),
}

impl Source {
    fn flags(base: Scenario, world: &WorldArgs, faults: FaultArgs) -> Self {
        Self::Flags(Box::new(Flags { base, world: world.clone(), faults }))
    }
}

/// A scenario, and what changes it.
#[derive(Clone, Debug)]
struct Flags {
    base: Scenario,
    world: WorldArgs,
    faults: FaultArgs,
}

/// What is going to be run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    source: Source,
    /// What the scenarios are called in reports.
    pub(super) workload: String,
    /// The first seed.
    pub(super) seed: u64,
    /// How many seeds follow each other, where there is more than one run to sum up.
    pub(super) seeds: Option<u64>,
}

impl Plan {
    /// The plan of these arguments.
    ///
    /// # Errors
    ///
    /// A file that can't be read or is no scenario, a name that nothing is published under, values out of bounds.
    pub(super) fn of(args: &SimulateArgs) -> Result<Self, Failure> {
        let (world, faults) = (&args.world, &args.faults);
        let is_bare = *world == WorldArgs::default() && *faults == FaultArgs::default();
        if faults.at.is_some() && is_quiet(faults) && (args.ready.scenario.is_some() || world.loss.is_some())
        {
            return Err(Failure::usage(
                "--at says when --crash, --stop, --host-loss, --leave and --join happen: give one of them, or leave it out",
            ));
        }
        let mut seed = args.seed.unwrap_or(0);
        let (source, workload) = if let Some(file) = &args.ready.scenario {
            let base = read(file)?;
            seed = args.seed.unwrap_or(base.seed);
            (Source::flags(base, world, faults.clone()), "scenario")
        } else if let Some(name) = &args.ready.published {
            let name = full_name(name)?;
            (Source::Published(name.clone()), &*format!("published {name}"))
        } else if args.ready.mixed || (args.seeds.is_some() && is_bare) {
            (Source::Mixed, "mixed")
        } else {
            let base = Scenario { members: MEMBERS, ..Scenario::default() };
            (Source::flags(base, world, or_one_crash(world, faults)), "flags")
        };
        let plan = Self { source, workload: workload.to_owned(), seed, seeds: args.seeds };
        if seed.checked_add(args.seeds.unwrap_or(0)).is_none() {
            return Err(Failure::usage(format!("--seed {seed}: not so many seeds follow, begin lower")));
        }
        plan.scenario(seed)?.validate().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(plan)
    }

    /// The scenario of a seed.
    ///
    /// # Errors
    ///
    /// More victims than members.
    pub(super) fn scenario(&self, seed: u64) -> Result<Scenario, Failure> {
        match &self.source {
            Source::Mixed => Ok(mixed::scenario(seed)),
            Source::Published(name) => Ok(find(name, seed).scenario),
            Source::Flags(flags) => {
                let Flags { base, world, faults } = &**flags;
                let mut scenario = Scenario { seed, ..base.clone() };
                change(&mut scenario, world);
                let checked = scenario.validate().and_then(|()| scenario.check_hosts());
                checked.map_err(|error| Failure::usage(error.to_string()))?;
                add(&mut scenario, faults)?;
                Ok(scenario)
            }
        }
    }

    /// What must hold at the end of a seed's run, beside the invariants.
    pub(super) fn checks(&self, seed: u64) -> Vec<Check> {
        match &self.source {
            Source::Published(name) => find(name, seed).checks,
            Source::Flags(flags) if flags.base.start == Start::Together => vec![published::CAME_IN],
            Source::Mixed | Source::Flags(_) => Vec::new(),
        }
    }
}

fn read(file: &Path) -> Result<Scenario, Failure> {
    let is_stdin = file == Path::new(STDIN);
    let text = if is_stdin { files::read_stdin() } else { files::read_text(file) };
    let text = text.map_err(|error| {
        Failure::usage(format!("--scenario {} can't be read ({error}): name a readable file", file.display()))
    })?;
    Scenario::from_toml(&text).map_err(|error| match error {
        ScenarioError::File(text) => Failure::usage(format!("{}, {}", file.display(), cut(&text))),
        error => Failure::usage(format!("{}: {error}", file.display())),
    })
}

/// The beginning of what is said of a file: it may quote a line of any length.
fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text.to_owned(),
    }
}

fn find(name: &str, seed: u64) -> published::Published {
    published::named(name, seed).expect("the name was looked up")
}

/// The names of what is published, and what each asks.
pub(super) fn names() -> Vec<(String, &'static str)> {
    published::all(0).into_iter().map(|published| (published.name, published.question)).collect()
}

/// The one name that begins so, in any case of letters.
fn full_name(wanted: &str) -> Result<String, Failure> {
    let lower = wanted.to_lowercase();
    let names: Vec<String> = names().into_iter().map(|(name, _)| name).collect();
    if names.contains(&lower) {
        return Ok(lower);
    }
    let mut begin: Vec<String> = names.iter().filter(|name| name.starts_with(&lower)).cloned().collect();
    match begin.len() {
        1 => Ok(begin.remove(0)),
        0 => Err(Failure::usage(format!(
            "--published {wanted}: there is none of this name, but {}",
            names.join(", ")
        ))),
        _ => Err(Failure::usage(format!(
            "--published {wanted} means several: name one of {}",
            begin.join(", ")
        ))),
    }
}

/// The faults, or one crash where the flags would leave a world in which nothing happens.
fn or_one_crash(world: &WorldArgs, faults: &FaultArgs) -> FaultArgs {
    let crash = if is_quiet(faults) && world.loss.is_none() { Some(1) } else { faults.crash };
    FaultArgs { crash, ..faults.clone() }
}

/// Whether the flags name nothing that happens.
fn is_quiet(faults: &FaultArgs) -> bool {
    let FaultArgs { at: _, crash, stop, host_loss, leave, join } = faults;
    [crash, stop, host_loss, leave, join].iter().all(|count| count.is_none())
}

fn change(scenario: &mut Scenario, world: &WorldArgs) {
    let WorldArgs {
        members,
        member_timeout,
        heartbeat_recipients,
        transport,
        crash_detection,
        loss,
        delay,
        run_for,
        heal,
    } = world;
    scenario.members = members.unwrap_or(scenario.members);
    scenario.seeds = scenario.seeds.min(scenario.members);
    scenario.member_timeout = member_timeout.unwrap_or(scenario.member_timeout);
    scenario.run_for = run_for.unwrap_or(scenario.run_for);
    scenario.heal_for = heal.unwrap_or(scenario.heal_for);
    scenario.network.loss = loss.unwrap_or(scenario.network.loss);
    if let Some(delay) = delay {
        scenario.network.delay_mean = *delay;
        scenario.network.delay_min = delay.mul_f64(SHORTEST);
    }
    scenario.heartbeat_recipients = heartbeat_recipients.or(scenario.heartbeat_recipients);
    scenario.transport = match transport {
        Some(TransportName::Udp) => Transport::Udp,
        Some(TransportName::Quic) => Transport::Quic,
        None => scenario.transport,
    };
    scenario.crash_detection = crash_detection.or(scenario.crash_detection);
}

/// A fault at a host.
type At = fn(usize) -> Fault;

/// Adds the faults: nobody is hit twice.
fn add(scenario: &mut Scenario, faults: &FaultArgs) -> Result<(), Failure> {
    let FaultArgs { at, crash, stop, host_loss, leave, join } = faults;
    let at = at.unwrap_or_else(|| AT.min(scenario.run_for / 2));
    if at > scenario.run_for {
        let end = scenario.run_for;
        return Err(Failure::usage(format!(
            "--at {at:?}: the run ends at {end:?}, let it happen earlier or make --for longer"
        )));
    }
    let kinds: [(Option<usize>, At); 4] = [
        (*crash, |host| Fault::Crash { host }),
        (*stop, |host| Fault::Stop { host }),
        (*host_loss, |host| Fault::Down { host }),
        (*leave, |host| Fault::Leave { host }),
    ];
    let wanted = kinds.iter().fold(0_usize, |sum, (count, _)| sum.saturating_add(count.unwrap_or(0)));
    if wanted > scenario.members {
        return Err(Failure::usage(format!(
            "--crash, --stop, --host-loss and --leave would hit {wanted} of {} members: hit fewer, or have more",
            scenario.members
        )));
    }
    let mut hosts: Vec<usize> = (0..scenario.members).collect();
    fastrand::Rng::with_seed(scenario.seed ^ VICTIMS).shuffle(&mut hosts);
    for (count, fault) in kinds {
        let mut victims: Vec<usize> = hosts.drain(..count.unwrap_or(0)).collect();
        victims.sort_unstable();
        scenario.faults.extend(victims.into_iter().map(|host| Step { at, fault: fault(host) }));
    }
    let next = scenario.hosts();
    if join.unwrap_or(0) > HOSTS_MAX - next {
        return Err(Failure::usage(format!("--join: a world has at most {HOSTS_MAX} hosts, let fewer join")));
    }
    let joins = (next..).take(join.unwrap_or(0));
    scenario.faults.extend(joins.map(|host| Step { at, fault: Fault::Start { host } }));
    Ok(())
}
