//! Views, rings and hubs from ten to ten thousand members: `cargo bench -p gms-bench --bench structures`.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;
use std::net::SocketAddr;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use gms_bench::stage::{member, view_of};
use gms_core::View;
use gms_core::config::Timing;
use gms_core::view::Change;
use gms_core::{hubs, ring};

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];

fn address(n: usize) -> SocketAddr {
    let [.., high, low] = n.to_be_bytes();
    SocketAddr::from(([10, 0, high, low], 7790))
}

fn view(members: usize) -> View {
    let addresses: Vec<SocketAddr> = (0..members).map(address).collect();
    view_of(&addresses, &Timing::default())
}

fn rings(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ring");
    for members in SIZES {
        group.bench_with_input(
            BenchmarkId::new("watched, nobody suspect", members),
            &members,
            |bencher, len| {
                bencher.iter(|| ring::watched(black_box(*len), len / 2, |_| false));
            },
        );
        group.bench_with_input(
            BenchmarkId::new("watched, half suspect", members),
            &members,
            |bencher, len| {
                bencher.iter(|| ring::watched(black_box(*len), len / 2, |place| place > len / 2));
            },
        );
    }
    group.finish();
}

fn views(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("view");
    group.sample_size(20);
    for members in SIZES {
        let view = view(members);
        let someone = view.members()[members / 2].member.id;
        group.bench_with_input(BenchmarkId::new("find by id", members), &view, |bencher, view| {
            bencher.iter(|| view.member(black_box(&someone)));
        });
        group.bench_with_input(BenchmarkId::new("find by short id", members), &view, |bencher, view| {
            bencher.iter(|| view.by_short(black_box(someone.short())));
        });
        group.bench_with_input(BenchmarkId::new("coordinator", members), &view, |bencher, view| {
            bencher.iter(|| black_box(view).coordinator());
        });
        group.bench_with_input(
            BenchmarkId::new("recipients of heartbeats", members),
            &view,
            |bencher, view| {
                bencher.iter(|| hubs::recipients(black_box(view), members / 2));
            },
        );
        let mut joins = Change::empty(&view);
        joins.joined = vec![member(members, address(members)).into()];
        group.bench_with_input(BenchmarkId::new("apply a join", members), &view, |bencher, view| {
            bencher.iter(|| view.apply(black_box(&joins)));
        });
        let mut leaves = Change::empty(&view);
        leaves.left = vec![someone];
        group.bench_with_input(BenchmarkId::new("apply a leave", members), &view, |bencher, view| {
            bencher.iter(|| view.apply(black_box(&leaves)));
        });
    }
    group.finish();
}

criterion_group!(benches, rings, views);
criterion_main!(benches);
