//! A member that prints who is in its cluster, and stops acting when it has lost the majority.
//!
//! In three terminals (of two members, only the older goes on without the other):
//!
//! ```sh
//! cargo run -p gms-udp --example follow -- a 127.0.0.1:7790
//! cargo run -p gms-udp --example follow -- b 127.0.0.1:7791 127.0.0.1:7790
//! cargo run -p gms-udp --example follow -- c 127.0.0.1:7792 127.0.0.1:7790
//! ```

#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::time::Duration;

use gms_core::{Event, Gms};
use gms_udp::UdpTransport;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(name), Some(addr)) = (args.next(), args.next()) else {
        return Err("usage: follow NAME IP:PORT [SEED…]".into());
    };
    let seeds: Vec<String> = args.collect();
    let transport = UdpTransport::bind(&addr).await?;
    let mut builder = Gms::builder("follow").name(name);
    if seeds.is_empty() {
        builder = builder.member_timeout(Duration::from_secs(1));
    }
    let (gms, mut events) = builder.join(seeds).start(transport).await?;
    while let Some(event) = events.next().await {
        match event {
            Event::ViewInstalled(change) => {
                let names: Vec<_> = change.view.members().iter().map(|m| m.member.name.as_str()).collect();
                println!("view {}: {}", change.view.number(), names.join(", "));
            }
            Event::Isolated(_) => println!("isolated: stop acting, there may be a majority elsewhere"),
            Event::Connected(_) => println!("connected for {:?} at least", gms.connected_for()),
            Event::Stopped { reason } => println!("stopped: {reason:?}"),
            _ => {}
        }
    }
    Ok(())
}
