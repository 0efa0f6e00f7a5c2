//! What a simulated second of a steady cluster costs: `cargo bench -p gms-sim`.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gms_sim::{Scenario, World};

fn steady(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("steady");
    // Ten rounds of a world that stands: the cost is that of heartbeats and timers alone.
    group.sample_size(10);
    for members in [100, 1_000] {
        let scenario = Scenario { members, ..Scenario::default() };
        let mut world = World::new(scenario, Vec::new()).expect("a valid scenario");
        let before = world.metrics().datagrams;
        world.run_for(Duration::from_secs(10));
        group.throughput(Throughput::Elements((world.metrics().datagrams - before) / 10));
        group.bench_function(format!("a simulated second of {members} members"), |bencher| {
            bencher.iter(|| world.run_for(Duration::from_secs(1)));
        });
    }
    group.finish();
}

criterion_group!(benches, steady);
criterion_main!(benches);
