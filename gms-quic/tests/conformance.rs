//! The suite that every transport must pass.

mod support;

use std::net::SocketAddr;

use async_trait::async_trait;
use gms_conformance::victim::{self, Victim};
use gms_conformance::{Babbler, Kind};
use gms_quic::QuicTransport;
use support::{CLUSTER, server};
use tokio::net::UdpSocket;

struct Quic;

#[async_trait]
impl Kind for Quic {
    type Transport = QuicTransport;

    async fn open_at(&self, at: Option<SocketAddr>) -> QuicTransport {
        raise_descriptors();
        let at = at.map_or_else(|| "127.0.0.1:0".into(), |at| at.to_string());
        QuicTransport::bind(CLUSTER, &at).await.expect("a free port")
    }

    fn victim(&self) -> Option<Victim> {
        Some(Victim::start("the_victim_of_the_suite", "quic"))
    }

    fn sees_crashes(&self) -> bool {
        // There are error queues on Linux only.
        cfg!(target_os = "linux")
    }

    async fn babblers(&self) -> Vec<Babbler> {
        vec![speaker_of_no_version().await, teller_of_stories()]
    }
}

/// The same with watches over TCP.
struct QuicAndTcp;

#[async_trait]
impl Kind for QuicAndTcp {
    type Transport = QuicTransport;

    async fn open_at(&self, at: Option<SocketAddr>) -> QuicTransport {
        let at = at.map_or_else(|| "127.0.0.1:0".into(), |at| at.to_string());
        QuicTransport::builder(CLUSTER).tcp_watch(true).bind(&at).await.expect("a free port")
    }

    fn victim(&self) -> Option<Victim> {
        Some(Victim::start("the_victim_of_the_suite", "tcp"))
    }
}

/// A process to be killed.
#[tokio::test]
async fn the_victim_of_the_suite() {
    match victim::word().as_deref() {
        Some("tcp") => victim::serve(&QuicAndTcp.open().await).await,
        Some(_) => victim::serve(&Quic.open().await).await,
        None => {}
    }
}

/// Somebody who answers every packet with Version Negotiation.
async fn speaker_of_no_version() -> Babbler {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let addr = socket.local_addr().expect("it is bound");
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let mut packet = [0; 2000];
        while let Ok((length, from)) = socket.recv_from(&mut packet).await {
            if let Some(answer) = gms_net::strangers::answer_to_quic(&packet[..length]) {
                let _ = socket.send_to(&answer, from).await;
            }
        }
    });
    Babbler { addr, what: "speaks no known version of QUIC", keeps: Box::new(tasks) }
}

/// A server of the cluster's protocol whose answers have no end.
fn teller_of_stories() -> Babbler {
    let (endpoint, addr) = server(format!("gms1?/{CLUSTER}").as_bytes());
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                let connection = incoming.await?;
                let (mut answer, _question) = connection.accept_bi().await?;
                while answer.write_all(&[7; 1000]).await.is_ok() {}
                Ok::<_, quinn::ConnectionError>(())
            });
        }
    });
    Babbler { addr, what: "answers without end", keeps: Box::new(tasks) }
}

/// One process is many members here.
fn raise_descriptors() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard).expect("up to the hard limit");
    }
}

gms_conformance::suite!(Quic);

mod with_tcp {
    use super::*;

    gms_conformance::suite!(QuicAndTcp; watches: goodbye, crash, silence);
}
