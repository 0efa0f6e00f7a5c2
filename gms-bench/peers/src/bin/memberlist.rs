//! A member of a memberlist cluster: TCP and UDP, `Options::lan()`, which is the default.

use std::collections::BTreeSet;
use std::time::Duration;

use gms_bench_peers::{Arguments, Line};
use memberlist::Options;
use memberlist::delegate::{CompositeDelegate, EventKind, SubscribleEventDelegate};
use memberlist::net::NetTransportOptions;
use memberlist::proto::MaybeResolvedAddress;
use memberlist::tokio::{TokioSocketAddrResolver, TokioTcp, TokioTcpMemberlist};
use smol_str::SmolStr;

/// Between two tries to join.
const JOIN_AGAIN_AFTER: Duration = Duration::from_millis(300);

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Arguments { me, seeds, .. } = Arguments::of_process()?;
    let (delegate, events) = SubscribleEventDelegate::unbounded();
    let mut transport =
        NetTransportOptions::<SmolStr, TokioSocketAddrResolver, TokioTcp>::new(SmolStr::new(me.to_string()));
    transport.add_bind_address(me);
    let delegate = CompositeDelegate::new().with_event_delegate(delegate);
    let list: TokioTcpMemberlist<_, _, _> =
        TokioTcpMemberlist::with_delegate(delegate, transport, Options::lan()).await?;
    let printing = tokio::spawn(async move {
        let mut members = BTreeSet::from([me]);
        Line::of(members.iter().copied()).print()?;
        while let Ok(event) = events.recv().await {
            let address = *event.node_state().address();
            let changed = match event.kind() {
                EventKind::Join => members.insert(address),
                EventKind::Leave => members.remove(&address),
                _ => false,
            };
            if changed {
                Line::of(members.iter().copied()).print()?;
            }
        }
        anyhow::Ok(())
    });
    for seed in seeds.into_iter().filter(|seed| *seed != me) {
        while list.join(MaybeResolvedAddress::Resolved(seed)).await.is_err() {
            tokio::time::sleep(JOIN_AGAIN_AFTER).await;
        }
    }
    printing.await?
}
