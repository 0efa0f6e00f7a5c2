//! Watches, and what else tells that a process died: what is a sign, and what is none.

use std::pin::pin;
use std::time::Duration;

use gms_core::input::WatchEnd;
use gms_core::output::Destination;
use gms_core::transport::{Incoming, ProbeReply, Transport as _};

use crate::Kind;
use crate::tools::*;
use crate::victim::ANSWER;

/// Datagrams to a killed process of which one must bring its death to light, long before its silence does.
const HEARTBEATS_MAX: usize = 10;

/// A transport that is closed in order says goodbye to those who watch it.
pub async fn goodbye(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    let mut watch = Box::pin(one.watch(check_addr(&two)));
    let early = tokio::time::timeout(SHORT, &mut watch).await;
    assert!(early.is_err(), "{early:?} before anything happened");
    works(&one, &two).await;
    in_time(two.close()).await;
    assert_eq!(in_time(watch).await, WatchEnd::Goodbye);
}

/// A killed process shows at the latest with the next datagram to it: the watch breaks, or the datagram comes back. Nothing of
/// it looks like a goodbye, the check is refused, and others are served.
pub async fn crash(kind: &impl Kind) {
    let Some(victim) = kind.victim().filter(|_| kind.sees_crashes()) else { return };
    let (one, two) = (kind.open().await, kind.open().await);
    let mut watch = pin!(one.watch(victim.addr));
    in_time(async {
        // The answer to a later connection shows that the watch is there.
        tokio::select! {
            end = &mut watch => panic!("{end:?} while the process lives"),
            reply = one.probe(victim.addr, "who?".into(), LONG) => assert_eq!(reply, ProbeReply::Answer(ANSWER.into())),
        }
        one.send(&mut vec![datagram(victim.addr, "heartbeat")]).await.unwrap();
        tokio::select! {
            end = &mut watch => panic!("{end:?} while the process lives"),
            sent = one.send_frame(Destination::Address(victim.addr), "frame".into(), LONG) => assert_eq!(sent, Ok(())),
        }
    })
    .await;
    let dead = victim.kill();
    let told = async {
        for _ in 0..HEARTBEATS_MAX {
            one.send(&mut vec![datagram(dead, "heartbeat")]).await.unwrap();
            let returned = until(&one, |i| *i == Incoming::Unreachable { to: dead });
            tokio::select! {
                end = &mut watch => {
                    assert!(matches!(end, WatchEnd::Broken | WatchEnd::Refused), "{end:?}");
                    return;
                }
                returned = tokio::time::timeout(SHORT, returned) => if returned.is_ok() {
                    return;
                },
            }
        }
        panic!("nothing told of the death");
    };
    told.await;
    assert_eq!(in_time(one.probe(dead, "who?".into(), LONG)).await, ProbeReply::Refused);
    works(&one, &two).await;
}

/// Silence is no sign: a process that is stopped ends no watch, sends nothing back, and lets checks run out of time. When it goes
/// on, it is what it was.
pub async fn silence(kind: &impl Kind) {
    let Some(victim) = kind.victim() else { return };
    let (one, two) = (kind.open().await, kind.open().await);
    let mut watch = pin!(one.watch(victim.addr));
    let check = one.probe(victim.addr, "who?".into(), LONG);
    tokio::select! {
        end = &mut watch => panic!("{end:?} while the process lives"),
        reply = in_time(check) => assert_eq!(reply, ProbeReply::Answer(ANSWER.into())),
    }
    if !victim.stop() {
        return;
    }
    one.send(&mut vec![datagram(victim.addr, "heartbeat")]).await.unwrap();
    let silent = async {
        for _ in 0..3 {
            let reply = one.probe(victim.addr, "who?".into(), SHORT).await;
            assert_eq!(reply, ProbeReply::TimedOut);
        }
    };
    tokio::select! {
        end = &mut watch => panic!("{end:?} while the process is stopped"),
        () = in_time(silent) => {}
    }
    let mut arrived = Vec::new();
    let early = tokio::time::timeout(Duration::ZERO, one.receive(&mut arrived)).await;
    assert!(early.is_err() && arrived.is_empty(), "{arrived:?} while the process is stopped");
    works(&one, &two).await;
    victim.wake();
    tokio::select! {
        end = &mut watch => panic!("{end:?} though the process goes on"),
        reply = in_time(one.probe(victim.addr, "who?".into(), LONG)) => assert_eq!(reply, ProbeReply::Answer(ANSWER.into())),
    }
}
