//! Out of descriptors. Alone in its process, whose limit it lowers.
#![cfg(target_os = "linux")]

mod support;

use gms_core::output::Destination;
use gms_core::transport::{ProbeReply, Transport};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use support::*;
use tokio::net::TcpStream;

//= docs/protocol.md#fd-21
#[tokio::test]
async fn being_out_of_descriptors_is_a_local_fault_and_passes() {
    let (one, two) = (open().await, open().await);
    let nobody = nobody().await;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 64, hard).unwrap();
    let mut silent = Vec::new();
    // The last descriptor comes and goes while the other side accepts: until it is gone for good.
    let mut local_faults = 0;
    while local_faults < 3 {
        if let Ok(stream) = TcpStream::connect(addr(&two)).await {
            silent.push(stream);
        }
        match in_time(one.probe(nobody, "who?".into(), LONG)).await {
            ProbeReply::LocalFault => local_faults += 1,
            reply => assert_eq!(reply, ProbeReply::Refused),
        }
    }
    let failure = in_time(one.send_frame(Destination::Address(nobody), "x".into(), LONG)).await;
    assert_eq!(failure, Err(gms_core::input::SendFailure::Local));
    drop(silent);
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    works(&two).await;
    assert_eq!(in_time(one.probe(nobody, "who?".into(), LONG)).await, ProbeReply::Refused);
}
