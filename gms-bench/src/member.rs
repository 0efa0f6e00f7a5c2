//! A member of GMS as a process that prints what it sees: the driver whose counterparts for other systems are in
//! `gms-bench/peers`. It uses the public interface alone.

use std::net::SocketAddr;
use std::time::Duration;

use gms_core::config::{HeartbeatRecipients, TimingOverrides};
use gms_core::view::View;
use gms_core::{Event, Gms};

use crate::failure::Failure;
use crate::line::{Line, now};
use crate::transport::{CLUSTER, Carrier};

/// What a member is told.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MemberArgs {
    /// Where it listens
    me: SocketAddr,
    /// Whom to join; left out, it founds a cluster
    seeds: Vec<SocketAddr>,
    /// What carries its messages
    #[arg(long, value_enum)]
    transport: Carrier,
    #[arg(long, value_parser = crate::args::duration, help = "Member timeout, of a founder")]
    member_timeout: Duration,
    #[arg(long, value_parser = crate::args::duration, help = "Heartbeat interval, of a founder")]
    heartbeat_interval: Option<Duration>,
    /// How many members before it in the ring get its heartbeats, of a founder
    #[arg(long)]
    heartbeat_recipients: Option<u16>,
}

/// Runs the member until it stops.
pub(crate) fn run(args: &MemberArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::fault(format!("the system gives no runtime: {error}")))?;
    runtime.block_on(follow(args)).map_err(|error| Failure::fault(format!("the member failed: {error}")))
}

async fn follow(args: &MemberArgs) -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = Gms::builder(CLUSTER).name(args.me.to_string());
    if args.seeds.is_empty() {
        // Joiners adopt what the founder sets.
        builder = builder.timing(TimingOverrides {
            member_timeout: Some(args.member_timeout),
            heartbeat_interval: args.heartbeat_interval,
            heartbeat_recipients: args.heartbeat_recipients.map(HeartbeatRecipients::Predecessors),
            ..TimingOverrides::default()
        });
    }
    let seeds = args.seeds.iter().map(ToString::to_string);
    let (_gms, mut events) = args.transport.start(args.me, builder.join(seeds)).await?;
    while let Some(event) = events.next().await {
        match event {
            Event::ViewInstalled(change) => of(&change.view).print()?,
            Event::Joined { view } | Event::Rejoined { view } => of(&view).print()?,
            Event::Excluded { .. } => {
                Line { at: now(), members: Vec::new(), view: None, coordinator: None }.print()?;
            }
            Event::Stopped { reason } => return Err(format!("{reason:?}").into()),
            _ => {}
        }
    }
    Ok(())
}

fn of(view: &View) -> Line {
    Line {
        at: now(),
        members: view.members().iter().map(|member| member.member.endpoint.addr).collect(),
        view: Some(view.number()),
        coordinator: Some(view.coordinator().endpoint.addr),
    }
}
