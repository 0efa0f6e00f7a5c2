//! Messages to bytes and back, by message: `cargo bench -p gms-bench --bench codec`.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use gms_bench::stage::{FIRST_NUMBER, Stage};
use gms_core::Timestamp;
use gms_core::codec::{decode_datagram, decode_frame, encode_datagram, encode_frame};
use gms_core::evidence::Reason;
use gms_core::message::{
    AccusationId, CheckId, Datagram, DatagramBody, Frame, FrameBody, Head, Installation, RequestId,
    SuspectRequest,
};

fn stage(members: usize) -> Stage {
    let address = |n: usize| {
        let [.., high, low] = n.to_be_bytes();
        SocketAddr::from(([10, 0, high, low], 7790))
    };
    let mut stage = Stage::new((0..members).map(address).collect(), Timestamp::from_millis(1000));
    stage.note_sent(0, FIRST_NUMBER);
    stage
}

fn datagrams(stage: &Stage) -> Vec<Datagram> {
    let head: Head = stage.heartbeat(0, FIRST_NUMBER).head;
    let someone = stage.view.members()[2].member.id;
    let suspect = SuspectRequest {
        member: someone,
        reason: Reason::Silent,
        silent_for: Duration::from_millis(6250),
        replaced_by: None,
    };
    let bodies = [
        stage.heartbeat(0, FIRST_NUMBER).body,
        DatagramBody::HeartbeatRequest { target: someone, request: RequestId(7), reason: Reason::Silent },
        DatagramBody::SuspectMembers { accusation: AccusationId(7), requests: vec![suspect] },
        DatagramBody::FinalCheckPassed { member: someone },
        DatagramBody::VerifyRequest { check: CheckId(7), suspect: someone },
        DatagramBody::FindCoordinator { cluster_name: "bench".into(), asker: someone, padding: vec![0; 220] },
        DatagramBody::NotAMember { view: stage.view.id() },
    ];
    bodies.into_iter().map(|body| Datagram { head: head.clone(), body }).collect()
}

fn codec(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codec");
    let few = stage(10);
    for datagram in datagrams(&few) {
        let name = datagram.body.name();
        let mut bytes = Vec::with_capacity(2048);
        encode_datagram(&datagram, &mut bytes).expect("it fits");
        group.bench_function(format!("encode {name}"), |bencher| {
            let mut out = Vec::with_capacity(2048);
            bencher.iter(|| {
                out.clear();
                encode_datagram(black_box(&datagram), &mut out)
            });
        });
        group.bench_function(format!("decode {name}"), |bencher| {
            bencher.iter(|| decode_datagram(black_box(&bytes)));
        });
    }
    for members in [10, 100, 1000] {
        let stage = stage(members);
        let body = FrameBody::Install(Installation::Whole(Box::new(stage.view.clone())));
        let frame = Frame { head: stage.heartbeat(0, 1).head, body };
        let mut bytes = Vec::new();
        encode_frame(&frame, &mut bytes).expect("it fits");
        group.bench_function(format!("encode a view of {members}"), |bencher| {
            let mut out = Vec::with_capacity(bytes.len());
            bencher.iter(|| {
                out.clear();
                encode_frame(black_box(&frame), &mut out)
            });
        });
        group.bench_function(format!("decode a view of {members}"), |bencher| {
            bencher.iter(|| decode_frame(black_box(&bytes)));
        });
    }
    group.finish();
}

/// The figure of `docs/benchmarks.md`: both ways, a heartbeat.
fn heartbeat(criterion: &mut Criterion) {
    let datagram = stage(10).heartbeat(0, FIRST_NUMBER);
    criterion.bench_function("a heartbeat encoded and decoded", |bencher| {
        let mut out = Vec::with_capacity(64);
        bencher.iter(|| {
            out.clear();
            encode_datagram(black_box(&datagram), &mut out).expect("it fits");
            decode_datagram(black_box(&out))
        });
    });
}

criterion_group!(benches, heartbeat, codec);
criterion_main!(benches);
