//! The suite that every transport must pass.

use std::net::SocketAddr;

use async_trait::async_trait;
use gms_conformance::victim::{self, Victim};
use gms_conformance::{Babbler, Kind};
use gms_udp::UdpTransport;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

struct Udp;

#[async_trait]
impl Kind for Udp {
    type Transport = UdpTransport;

    async fn open_at(&self, at: Option<SocketAddr>) -> UdpTransport {
        raise_descriptors();
        let at = at.map_or_else(|| "127.0.0.1:0".into(), |at| at.to_string());
        UdpTransport::bind(&at).await.expect("a free port")
    }

    fn victim(&self) -> Option<Victim> {
        Some(Victim::start("the_victim_of_the_suite", "udp"))
    }

    async fn babblers(&self) -> Vec<Babbler> {
        let http: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        vec![babbler("speaks HTTP", http).await, babbler("says zeros", &[0; 4000]).await]
    }
}

/// A process to be killed.
#[tokio::test]
async fn the_victim_of_the_suite() {
    if victim::word().is_some() {
        victim::serve(&Udp.open().await).await;
    }
}

/// Somebody who says this to everybody who connects.
async fn babbler(what: &'static str, said: &'static [u8]) -> Babbler {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let addr = listener.local_addr().expect("it is bound");
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            // Whoever asked goes as soon as it sees that.
            let _ = stream.write_all(said).await;
            open.push(stream);
        }
    });
    Babbler { addr, what, keeps: Box::new(tasks) }
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

gms_conformance::suite!(Udp);
