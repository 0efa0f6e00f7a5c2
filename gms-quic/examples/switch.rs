//! The same member over either transport: the `bind` line is all that differs.
//!
//! In three terminals:
//!
//! ```sh
//! cargo run -p gms-quic --example switch -- quic a 127.0.0.1:7790
//! cargo run -p gms-quic --example switch -- quic b 127.0.0.1:7791 127.0.0.1:7790
//! cargo run -p gms-quic --example switch -- quic c 127.0.0.1:7792 127.0.0.1:7790
//! ```

#![allow(clippy::print_stdout, reason = "an example that prints")]

use gms_core::{Event, Gms};
use gms_quic::QuicTransport;
use gms_udp::UdpTransport;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(kind), Some(name), Some(addr)) = (args.next(), args.next(), args.next()) else {
        return Err("usage: switch udp|quic NAME IP:PORT [SEED…]".into());
    };
    let builder = Gms::builder("switch").name(name).join(args);
    let (_gms, mut events) = match kind.as_str() {
        "udp" => builder.start(UdpTransport::bind(&addr).await?).await?,
        _ => builder.start(QuicTransport::bind("switch", &addr).await?).await?,
    };
    while let Some(event) = events.next().await {
        if let Event::ViewInstalled(change) = event {
            let names: Vec<_> = change.view.members().iter().map(|m| m.member.name.as_str()).collect();
            println!("view {}: {}", change.view.number(), names.join(", "));
        }
    }
    Ok(())
}
