//! The suite that every transport must pass.

use std::net::SocketAddr;

use async_trait::async_trait;
use gms_conformance::Kind;
use gms_udp::UdpTransport;

struct Udp;

#[async_trait]
impl Kind for Udp {
    type Transport = UdpTransport;

    async fn open_at(&self, at: Option<SocketAddr>) -> UdpTransport {
        raise_descriptors();
        let at = at.map_or_else(|| "127.0.0.1:0".into(), |at| at.to_string());
        UdpTransport::bind(&at).await.expect("a free port")
    }
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
