//! Planted faults: each rule whose loss would hurt is broken on purpose, and an invariant must notice.
//!
//! `docs/planted-faults.md` has the table; `GMS_PLANTED_SEEDS=300 cargo test --release -p gms-sim --test planted -- --nocapture`
//! measures it.

mod cases;
mod scripts;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gms_core::planted::{Planted, plant};
use gms_sim::{Scenario, World, run};

/// Environment variable: runs so many seeds of each workload for each fault and prints the whole table.
const SEEDS: &str = "GMS_PLANTED_SEEDS";

/// Runs one scenario with `faults` planted. Returns what broke.
fn broken_by(faults: &[Planted], workload: &Workload, seed: u64) -> Option<String> {
    let _garden = plant(faults);
    let mut is_missed = false;
    let run = || run::run_with((workload.scenario)(seed), |world| is_missed |= (workload.fails)(world));
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(outcome)) => {
            let violation = outcome.violation.map(|violation| format!("{violation}"));
            violation.or_else(|| is_missed.then(|| String::from(workload.aim)))
        }
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(String::from("an assertion of the core")),
    }
}

/// Works through `jobs` with as many threads as there are processors; results in the order of the jobs.
fn in_parallel<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = jobs.get(index) else { return done };
                        done.push((index, work(job)));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker catches panics")).collect()
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[test]
fn explore() {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let Ok(seeds) = var(SEEDS).parse::<u64>() else { return };
    let (only, work, from) = (
        var("GMS_PLANTED_ONLY"),
        var("GMS_PLANTED_WORK"),
        var("GMS_PLANTED_FROM").parse::<u64>().unwrap_or(0),
    );
    let cap = var("GMS_PLANTED_CAP").parse::<u64>().unwrap_or(4);
    let is_in = |list: &str, name: &str| list.is_empty() || list.split(',').any(|o| o == name);
    let mut jobs = Vec::new();
    for w in WORKLOADS.iter().filter(|w| is_in(&work, w.name)) {
        if is_in(&only, "none") {
            jobs.push((vec![], *w));
        }
        if only.contains('+') {
            let set = only
                .split('+')
                .map(|n| *Planted::ALL.iter().find(|f| format!("{f:?}") == n).unwrap())
                .collect();
            jobs.push((set, *w));
        }
        for fault in Planted::ALL.iter().filter(|f| is_in(&only, &format!("{f:?}"))) {
            jobs.push((vec![*fault], *w));
        }
    }
    std::panic::set_hook(Box::new(|info| {
        if std::env::var("SHOWPANIC").is_ok() {
            println!("{info}")
        }
    }));
    in_parallel(&jobs, |(faults, workload)| {
        let begun = std::time::Instant::now();
        let mut hits = Vec::new();
        for seed in from..from + seeds {
            if let Some(what) = broken_by(faults, workload, seed) {
                hits.push(format!("{seed}: {what}"));
                if hits.len() as u64 >= cap {
                    break;
                }
            }
        }
        println!("{} {faults:?} {:?} {hits:#?}", workload.name, begun.elapsed());
    });
}

/// Scenarios from seeds, with what they should bring beside the invariants.
#[derive(Clone, Copy)]
struct Workload {
    name: &'static str,
    scenario: fn(u64) -> Scenario,
    fails: fn(&World) -> bool,
    aim: &'static str,
}

const fn plain(name: &'static str, scenario: fn(u64) -> Scenario) -> Workload {
    Workload { name, scenario, fails: |_| false, aim: "" }
}

const WORKLOADS: &[Workload] = &[
    plain("mixed", gms_sim::mixed::scenario),
    plain("even_split", scripts::even_split),
    plain("leavers", scripts::leavers_kept_it_connected),
    plain("missed", scripts::the_next_in_office_missed_it),
    plain("joiner", scripts::a_joiner_missed_its_time),
    plain("crowd", scripts::a_crowd_joins),
    plain("parted", scripts::parted_between_vote_and_view),
    plain("behind", scripts::stays_behind_with_friends),
    plain("cleared", scripts::cleared_before_it_died),
    plain("returns", scripts::old_coordinator_returns),
    plain("late", scripts::echoes_come_late),
    plain("expelled", scripts::expelled_among_laggards),
    plain("buried", scripts::buried_and_asked),
    Workload {
        name: "deaf",
        scenario: scripts::deaf,
        fails: scripts::deaf_is_still_in,
        aim: "who hears nobody is out in time",
    },
    plain("vote", scripts::heard_after_the_vote),
    plain("reset", scripts::silent_and_broken),
    plain("lost", scripts::lost_host),
    plain("usurper", scripts::usurper),
    plain("voter", scripts::expelled_voter),
    plain("views", scripts::views_change_while_votes_come),
];
