//! Planted faults: each rule whose loss would hurt is broken on purpose, and an invariant must notice.
//!
//! `docs/planted-faults.md` has the table and says how to measure it anew.

mod cases;
mod scripts;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cases::{CASES, Case, MASKED, MIXED, Workload};
use gms_core::planted::{Planted, plant};
use gms_sim::run;

/// Environment variable: looks at so many seeds of the mixed workload for each fault, and prints the table.
const SEEDS: &str = "GMS_PLANTED_SEEDS";

/// Seeds of each script that must break nothing where nothing is planted.
const CALM_SEEDS: u64 = 32;

/// Runs one seed with `faults` planted. Returns what broke.
fn broken_by(faults: &[Planted], workload: &Workload, seed: u64) -> Option<String> {
    let _garden = plant(faults);
    let mut missed = None;
    let run = || {
        run::run_with((workload.scenario)(seed), |world| {
            let fails = || workload.aim.filter(|(_, fails)| fails(world)).map(|(aim, _)| aim);
            missed = missed.or_else(fails);
        })
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(outcome)) => {
            outcome.violation.map(|violation| violation.to_string()).or_else(|| missed.map(str::to_owned))
        }
        // An invariant that breaks while the members form is told like this too.
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(String::from("an assertion of the core")),
    }
}

/// The first seed below `seeds` that breaks something, and what it breaks.
fn first_broken(faults: &[Planted], workload: &Workload, seeds: u64) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| Some((seed, broken_by(faults, workload, seed)?)))
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
fn each_planted_fault_is_caught_and_without_it_nothing_is() {
    let told = in_parallel(CASES, |Case { faults, workload, seeds, caught_by }| {
        let Some((seed, what)) = first_broken(faults, workload, *seeds) else {
            return Some(format!("{faults:?}: {seeds} seeds of {:?} show nothing", workload.name));
        };
        if !what.contains(caught_by) {
            return Some(format!(
                "{faults:?}: seed {seed} of {:?}, not {caught_by:?}: {what}",
                workload.name
            ));
        }
        let alarm = first_broken(&[], workload, seed + 1);
        alarm.map(|(seed, what)| format!("nothing planted: seed {seed} of {:?}: {what}", workload.name))
    });
    let failed: Vec<String> = told.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn without_a_fault_the_first_seeds_of_all_scripts_break_nothing() {
    let scripts: BTreeMap<&str, &Workload> = CASES.iter().map(|c| (c.workload.name, c.workload)).collect();
    let scripts: Vec<&Workload> = scripts.into_values().filter(|w| w.name != MIXED.name).collect();
    let told = in_parallel(&scripts, |workload| {
        let alarm = first_broken(&[], workload, CALM_SEEDS);
        alarm.map(|(seed, what)| format!("seed {seed} of {:?}: {what}", workload.name))
    });
    let failed: Vec<String> = told.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn each_fault_has_a_case_or_is_said_to_be_masked() {
    let has_case = |fault: &Planted| CASES.iter().any(|case| case.faults == [*fault]);
    let wrong: Vec<&Planted> =
        Planted::ALL.iter().filter(|fault| has_case(fault) == MASKED.contains(fault)).collect();
    assert!(wrong.is_empty(), "in neither list of cases.rs, or in both: {wrong:?}");
}

#[test]
fn the_table_is_printed_where_it_is_asked_for() {
    let Some(seeds) = std::env::var(SEEDS).ok().and_then(|text| text.parse::<u64>().ok()) else { return };
    let describe = |found: Option<(u64, String)>| {
        found.map_or_else(|| String::from("not found"), |(seed, what)| format!("seed {seed}: {what}"))
    };
    in_parallel(Planted::ALL, |fault| {
        let case = CASES.iter().find(|case| case.faults == [*fault]);
        let script = case.map_or_else(
            || String::from("masked"),
            |case| {
                let found = first_broken(case.faults, case.workload, case.seeds);
                format!("{}, {}", case.workload.name, describe(found))
            },
        );
        eprintln!("| {fault:?} | {script} | {} |", describe(first_broken(&[*fault], &MIXED, seeds)));
    });
    eprintln!("| nothing planted | | {} |", describe(first_broken(&[], &MIXED, seeds)));
}
