//! Heartbeats of N members received by one node and sent by one node to N: in the core alone, and through real
//! sockets on loopback. `cargo bench -p gms-bench --bench heartbeats`
//!
//! How much that is of what the machine can do, `gms-bench limits` says.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::net::SocketAddr;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gms_bench::limits::{Rate, Receiver, Sender};
use gms_bench::stage::{FIRST_NUMBER, Stage};
use gms_core::Timestamp;

const SIZES: [usize; 3] = [10, 100, 1_000];

fn stage(members: usize) -> Stage {
    let address = |n: usize| {
        let [.., high, low] = n.to_be_bytes();
        SocketAddr::from(([10, 0, high, low], 7790))
    };
    Stage::new((0..members).map(address).collect(), Timestamp::from_millis(1000))
}

/// One round: the node sends to all, and hears all.
fn round(stage: &mut Stage, others: &[usize], number: u64) -> usize {
    let mut sent = 0;
    stage.round(|_, datagram| sent = datagram.head.number);
    for place in others {
        stage.note_sent(*place, sent);
        let heartbeat = stage.heartbeat(*place, number);
        stage.receive(*place, heartbeat);
    }
    stage.drain(|_, _| {})
}

fn core(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core");
    for members in SIZES {
        group.throughput(Throughput::Elements(members as u64));
        let mut stage = stage(members);
        let others: Vec<usize> = stage.others().collect();
        let mut number = FIRST_NUMBER;
        let mut next = move || {
            number += 1;
            round(&mut stage, &others, number)
        };
        // First contact costs more, and comes once.
        for _ in 0..8 {
            next();
        }
        group.bench_function(BenchmarkId::new("a heartbeat to and from each of", members), |bencher| {
            bencher.iter(&mut next);
        });
    }
    group.finish();
}

/// The time that so many take at this rate.
fn time_of(rate: &Rate, count: u64) -> Duration {
    Duration::from_secs_f64(count as f64 / rate.per_second())
}

fn sockets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sockets");
    group.sample_size(10).warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(1));
    // More need more descriptors than a process has by default.
    for members in [10, 100, 400] {
        let mut receiver = Receiver::new(members).expect("loopback works");
        group.bench_function(BenchmarkId::new("received, decoded and recorded from", members), |bencher| {
            bencher.iter_custom(|count| {
                let rate = receiver.through_a_member(Duration::from_millis(200)).expect("loopback works");
                time_of(&rate, count)
            });
        });
        let mut sender = Sender::new(members).expect("loopback works");
        group.bench_function(BenchmarkId::new("encoded and sent to", members), |bencher| {
            bencher.iter_custom(|count| {
                let rate = sender.through_a_member(Duration::from_millis(200)).expect("loopback works");
                time_of(&rate, count)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, core, sockets);
criterion_main!(benches);
