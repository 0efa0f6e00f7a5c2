//! The mixed workload: hundreds of bad days, drawn from seeds. Safety must hold all the time, and progress follow.
//!
//! `GMS_SIM_SEED=7` runs one seed, `GMS_SIM_SEEDS=5000` so many from 0 on.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use gms_sim::journal::Journal;
use gms_sim::{Fault, Scenario, Transport, mixed, run, shrink};

/// Seeds run unless the environment says otherwise.
const SEEDS: u64 = 200;
/// Seeds beyond those that broke something while this was built, and stay tests.
const FOUND: [u64; 49] = [
    204, 276, 306, 416, 828, 1066, 1099, 1120, 1301, 1374, 1774, 1834, 2061, 2215, 2292, 2419, 2488, 2750,
    2946, 3406, 3962, 4111, 4410, 4811, 4858, 5087, 5119, 5526, 6467, 6768, 8921, 9156, 10453, 10932, 11328,
    12174, 12860, 13327, 13680, 14197, 14203, 14525, 15012, 15336, 15877, 16129, 17352, 18665, 19788,
];
/// Every so many seeds run twice, and must do the same twice.
const TWICE_EVERY: u64 = 40;
/// Lines of the trace shown where something breaks.
const LINES: usize = 60;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name} is `{text}`: {error}")))
}

#[test]
fn no_bad_day_breaks_an_invariant_and_all_of_them_heal() {
    let drawn =
        |seeds: &mut dyn Iterator<Item = u64>| -> Vec<Scenario> { seeds.map(mixed::scenario).collect() };
    let seeds = match (number("GMS_SIM_SEED"), number("GMS_SIM_SEEDS")) {
        (Some(seed), _) => drawn(&mut std::iter::once(seed)),
        (None, Some(many)) => drawn(&mut (0..many)),
        (None, None) => {
            let mut seeds = drawn(&mut (0..SEEDS).chain(FOUND));
            let without_hubs: Vec<Scenario> = seeds.iter().filter_map(without_hubs).collect();
            seeds.extend(without_hubs);
            seeds.extend(FOUND.iter().filter_map(|seed| without_forgetting(*seed)));
            seeds.extend(FOUND.iter().map(|seed| over_the_other(*seed)));
            seeds
        }
    };
    let failures = in_parallel(&seeds, |scenario| {
        let outcome = run::run(scenario.clone());
        let broken = match &outcome {
            Ok(outcome) => outcome.violation.is_some(),
            Err(_) => true,
        };
        broken.then(|| describe(scenario))
    });
    assert!(
        failures.is_empty(),
        "{} of {} seeds failed\n{}",
        failures.len(),
        seeds.len(),
        failures.join("\n")
    );
}

/// The same day with heartbeats to everybody, where it has them go to hubs and few others: most of what seeds found, they
/// found so.
fn without_hubs(scenario: &Scenario) -> Option<Scenario> {
    scenario.heartbeat_recipients?;
    Some(Scenario { heartbeat_recipients: None, ..scenario.clone() })
}

/// The same day with trackers that forget nothing, where they do.
fn without_forgetting(seed: u64) -> Option<Scenario> {
    let mut scenario = mixed::scenario(seed);
    let all = scenario.faults.len();
    scenario.faults.retain(|step| !matches!(step.fault, Fault::Forget { .. }));
    (scenario.faults.len() < all).then_some(scenario)
}

/// The same day over the other transport: most of what seeds found, they found when there was one.
fn over_the_other(seed: u64) -> Scenario {
    let scenario = mixed::scenario(seed);
    let transport = match scenario.transport {
        Transport::Udp => Transport::Quic,
        Transport::Quic => Transport::Udp,
    };
    Scenario { transport, ..scenario }
}

#[test]
fn a_seed_does_the_same_every_time() {
    let seeds: Vec<u64> = (0..SEEDS).step_by(TWICE_EVERY as usize).collect();
    let failures = in_parallel(&seeds, |&seed| {
        let digest = |_| {
            let mut journal = Journal::with_digest(0);
            run::run_watched(mixed::scenario(seed), &mut journal).expect("a valid scenario");
            journal.digest()
        };
        let [first, second] = [1, 2].map(digest);
        assert!(!first.is_empty());
        (first != second).then(|| first_difference(seed))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs `test` for all seeds on all processors; stops taking new ones after the first failures.
fn in_parallel<S: Sync>(seeds: &[S], test: impl Fn(&S) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(failure) = test(seed) else { continue };
                    failures.lock().expect("no thread panics").push(failure);
                    next.fetch_add(seeds.len(), Ordering::Relaxed);
                }
            });
        }
    });
    failures.into_inner().expect("no thread panics")
}

/// What broke, as small as it gets, and how it came to that.
fn describe(scenario: &Scenario) -> String {
    let (seed, recipients) = (scenario.seed, &scenario.heartbeat_recipients);
    let profile = mixed::Profile::of(seed);
    let violation = match run::run(scenario.clone()) {
        Ok(outcome) => outcome.violation.expect("it broke a moment ago"),
        Err(error) => return format!("seed {seed} ({profile:?}, recipients {recipients:?}): {error}"),
    };
    let small = shrink::shrink(scenario, &violation, &|| true);
    let mut journal = Journal::of_last(LINES);
    let again = run::run_watched(small.scenario.clone(), &mut journal).expect("it ran before");
    let trace = journal.lines().join("\n");
    let replay = match *scenario == mixed::scenario(seed) {
        true => format!(
            "gms simulate --mixed --seed {seed}, or GMS_SIM_SEED={seed} cargo test -p gms-sim --test mixed"
        ),
        false => String::from(
            "gms simulate --scenario with the scenario that follows: it is a variant of its seed's",
        ),
    };
    format!(
        "seed {seed} ({profile:?}, recipients {recipients:?}): {violation}\n\
         replay: {replay}\n\
         after {} runs, smaller: {}\n{}\nlast steps:\n{trace}\n",
        small.runs,
        again.violation.map(|violation| violation.to_string()).unwrap_or_default(),
        small.scenario.to_toml(),
    )
}

/// The first step in which two runs of a seed differ.
fn first_difference(seed: u64) -> String {
    let lines = || {
        let mut journal = Journal::of_last(usize::MAX);
        run::run_watched(mixed::scenario(seed), &mut journal).expect("a valid scenario");
        journal.lines()
    };
    let (first, second) = (lines(), lines());
    let differ =
        first.iter().zip(&second).position(|(a, b)| a != b).unwrap_or_else(|| first.len().min(second.len()));
    let at = |lines: &[String]| lines.get(differ).cloned().unwrap_or_else(|| String::from("nothing"));
    format!("seed {seed} differs from itself in step {differ}:\n{}\n{}", at(&first), at(&second))
}
