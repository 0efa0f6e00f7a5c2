//! Clusters: how soon the last survivor has a view without a killed member, how long a view takes to be agreed on,
//! how long 50 take to join. `cargo bench -p gms-bench --bench detection`
//!
//! The times are those that the protocol takes, not processor time. Each measurement needs a cluster of its own, so
//! there are only ten of each; `gms-bench compare` makes as many as are wanted.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::path::PathBuf;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use gms_bench::interrupt::Interrupt;
use gms_bench::measure::{Manner, inflict, set_up};
use gms_bench::outcome::Outcome;
use gms_bench::scenario::Scenario;
use gms_bench::system::{System, Tools, Tuning};
use gms_bench::together::Together;
use gms_bench::transport::Carrier;
use gms_sim::{Fault, Scenario as Simulated, World};

/// As few as criterion allows, one after the other.
fn few<'a>(
    criterion: &'a mut Criterion,
    name: &str,
) -> criterion::BenchmarkGroup<'a, criterion::measurement::WallTime> {
    let mut group = criterion.benchmark_group(name);
    let short = Duration::from_millis(1);
    group.sample_size(10).sampling_mode(SamplingMode::Flat).warm_up_time(short).measurement_time(short);
    group
}

/// Sum of as many measurements as criterion asks for.
fn sum(count: u64, mut one: impl FnMut() -> Duration) -> Duration {
    (0..count).map(|_| one()).sum()
}

/// Each of these sizes over each transport.
fn each(sizes: &[usize]) -> Vec<(Carrier, usize)> {
    Carrier::ALL.into_iter().flat_map(|carrier| sizes.iter().map(move |size| (carrier, *size))).collect()
}

fn killed(criterion: &mut Criterion) {
    let mut group = few(criterion, "SIGKILL to the last survivor's view, T = 5 s");
    let tools = Tools { bench: PathBuf::from(env!("CARGO_BIN_EXE_gms-bench")), drivers: None };
    let mut chance = fastrand::Rng::with_seed(1);
    for (carrier, members) in each(&[3, 10, 50]) {
        let manner = Manner {
            members,
            victims: 1,
            in_lab: false,
            settle: Duration::from_secs(1),
            idle_for: Duration::ZERO,
            loss_percent: 0,
            loss_for: Duration::ZERO,
            patience: Duration::from_secs(60),
        };
        let system = System::Gms(Tuning::at(Duration::from_secs(5)).over(carrier));
        group.bench_function(BenchmarkId::new(carrier.name(), members), |bencher| {
            bencher.iter_custom(|count| {
                sum(count, || {
                    let cluster = set_up(&system, &manner, &tools, &Interrupt::default());
                    let mut cluster = cluster.expect("the cluster stands");
                    let outcome = inflict(Scenario::Crash, &mut cluster, &manner, &mut chance);
                    match outcome.expect("a member can be killed") {
                        Outcome::Noticed(noticed) => {
                            Duration::from_secs_f64(noticed.last_s.expect("everybody notices"))
                        }
                        other => panic!("a crash is noticed: {other:?}"),
                    }
                })
            });
        });
    }
    group.finish();
}

fn simulated(criterion: &mut Criterion) {
    let mut group = few(criterion, "simulated crash to the last survivor's view, T = 5 s");
    group.bench_function(BenchmarkId::new("members", 1_000), |bencher| {
        let scenario = Simulated { members: 1_000, seed: 1, ..Simulated::default() };
        let mut world = World::new(scenario, Vec::new()).expect("a valid scenario");
        // One after the other: a large cluster is dear to form.
        let mut left = 1_000;
        bencher.iter_custom(|count| {
            sum(count, || {
                left -= 1;
                world.run_for(Duration::from_secs(1));
                let begun = world.now();
                world.inflict(Fault::Crash { host: left });
                let end = begun + Duration::from_secs(60);
                assert!(world.run_until(end, |world| world.is_in_one_view(left)), "all survivors notice");
                world.now().since(begun)
            })
        });
    });
    group.finish();
}

fn agreement(criterion: &mut Criterion) {
    let mut group = few(criterion, "a member leaves, to the last other's view");
    for (carrier, members) in each(&[3, 10, 50]) {
        group.bench_function(BenchmarkId::new(carrier.name(), members), |bencher| {
            bencher.iter_custom(|count| {
                let mut together = Together::start(members, carrier).expect("loopback works");
                sum(count, || {
                    let took = together.leave().expect("the others agree");
                    together.join(1).expect("another takes its place");
                    took
                })
            });
        });
    }
    group.finish();
}

fn join(criterion: &mut Criterion) {
    let mut group = few(criterion, "members start at once, until all are in everybody's view");
    for (carrier, joiners) in each(&[50]) {
        group.bench_function(BenchmarkId::new(carrier.name(), joiners), |bencher| {
            bencher.iter_custom(|count| {
                sum(count, || {
                    let mut together = Together::start(1, carrier).expect("loopback works");
                    together.join(joiners).expect("they join")
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, killed, simulated, agreement, join);
criterion_main!(benches);
