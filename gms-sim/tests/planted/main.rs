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
use gms_sim::{Scenario, run};

/// Environment variable: runs so many seeds of each workload for each fault and prints the whole table.
const SEEDS: &str = "GMS_PLANTED_SEEDS";

/// Runs one scenario with `faults` planted. Returns what broke.
fn broken_by(faults: &[Planted], scenario: Scenario) -> Option<String> {
    let _garden = plant(faults);
    match catch_unwind(AssertUnwindSafe(|| run::run(scenario))) {
        Ok(Ok(outcome)) => outcome.violation.map(|violation| violation.invariant.to_owned()),
        Ok(Err(error)) => Some(format!("(no run) {error}")),
        Err(_) => Some(String::from("(a panic)")),
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
    let Some(seeds) = std::env::var(SEEDS).ok().and_then(|text| text.parse::<u64>().ok()) else { return };
    let only = std::env::var("GMS_PLANTED_ONLY").unwrap_or_default();
    let work = std::env::var("GMS_PLANTED_WORK").unwrap_or_default();
    let from = std::env::var("GMS_PLANTED_FROM").ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let is_in = |list: &str, name: &str| list.is_empty() || list.split(',').any(|o| o == name);
    let mut jobs = Vec::new();
    for w in WORKLOADS.iter().filter(|w| is_in(&work, w.0)) {
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
    in_parallel(&jobs, |(faults, (name, scenario))| {
        let begun = std::time::Instant::now();
        let mut hits = std::collections::BTreeMap::<String, (u64, u64)>::new();
        for seed in from..from + seeds {
            if let Some(what) = broken_by(faults, scenario(seed)) {
                let entry = hits.entry(what).or_insert((seed, 0));
                entry.1 += 1;
                if hits.values().map(|h| h.1).sum::<u64>() >= 4 {
                    break;
                }
            }
        }
        println!("{name} {faults:?} {:?} {hits:?}", begun.elapsed());
    });
}

type Work = (&'static str, fn(u64) -> Scenario);
const WORKLOADS: &[Work] = &[
    ("mixed", gms_sim::mixed::scenario),
    ("even_split", scripts::even_split),
    ("leavers", scripts::leavers_kept_it_connected),
    ("missed", scripts::the_next_in_office_missed_it),
    ("joiner", scripts::a_joiner_missed_its_time),
    ("crowd", scripts::a_crowd_joins),
    ("parted", scripts::parted_between_vote_and_view),
    ("behind", scripts::stays_behind_with_friends),
];
