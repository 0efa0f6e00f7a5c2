//! A member of a foca cluster over plain UDP: `Config::new_lan` for the cluster's size, and the driver that its
//! documentation describes: everything that foca wants sent is sent, its timers fire in order, and an identity with a
//! counter lets a member that was declared down come back.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use foca::{
    AccumulatingRuntime, Config, Foca, Identity, NoCustomBroadcast, OwnedNotification, PostcardCodec, Timer,
};
use gms_bench_peers::{Arguments, Line, now};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

/// Between two announcements while nobody is known.
const ANNOUNCE_AGAIN_AFTER: Duration = Duration::from_millis(300);

/// An address and the count of its lives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Id {
    addr: SocketAddr,
    life: u64,
}

impl Identity for Id {
    type Addr = SocketAddr;

    fn renew(&self) -> Option<Self> {
        Some(Self { addr: self.addr, life: self.life + 1 })
    }

    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn win_addr_conflict(&self, adversary: &Self) -> bool {
        self.life > adversary.life
    }
}

/// One member.
struct Member {
    foca: Foca<Id, PostcardCodec, StdRng, NoCustomBroadcast>,
    runtime: AccumulatingRuntime<Id>,
    timers: BinaryHeap<Reverse<(Instant, Timer<Id>)>>,
    socket: UdpSocket,
    shown: BTreeSet<SocketAddr>,
}

impl Member {
    /// Does what foca wants done.
    async fn carry_out(&mut self) -> anyhow::Result<()> {
        while let Some((to, data)) = self.runtime.to_send() {
            // As with any datagram: what is not sent is lost.
            let _ = self.socket.send_to(&data, to.addr).await;
        }
        let begun = Instant::now();
        while let Some((delay, timer)) = self.runtime.to_schedule() {
            self.timers.push(Reverse((begun + delay, timer)));
        }
        let mut changed = false;
        while let Some(notification) = self.runtime.to_notify() {
            changed |= matches!(
                notification,
                OwnedNotification::MemberUp(_)
                    | OwnedNotification::MemberDown(_)
                    | OwnedNotification::Rename(..)
            );
        }
        if changed {
            self.show()?;
        }
        Ok(())
    }

    fn show(&mut self) -> anyhow::Result<()> {
        let me = self.foca.identity().addr;
        let members: BTreeSet<_> = self.foca.iter_members().map(|m| m.id().addr).chain([me]).collect();
        if members != self.shown {
            Line::of(members.iter().copied()).print()?;
            self.shown = members;
        }
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Arguments { me, size, seeds } = Arguments::of_process()?;
    let size = NonZeroU32::new(size).ok_or_else(|| anyhow::anyhow!("a cluster has members"))?;
    let config = Config::new_lan(size);
    let mut buffer = vec![0; config.max_packet_size.get()];
    let rng = StdRng::seed_from_u64(now());
    let mut member = Member {
        foca: Foca::new(Id { addr: me, life: now() }, config, rng, PostcardCodec),
        runtime: AccumulatingRuntime::new(),
        timers: BinaryHeap::new(),
        socket: UdpSocket::bind(me).await?,
        shown: BTreeSet::new(),
    };
    member.show()?;
    let mut announce_at = Instant::now();
    loop {
        let timer_at = member.timers.peek().map(|Reverse((at, _))| *at);
        let alone = member.foca.num_members() == 0 && !seeds.is_empty();
        // Foca is tolerant: an error concerns one message and is passed over, as its documentation has it.
        tokio::select! {
            received = member.socket.recv_from(&mut buffer) => {
                if let Ok((length, _)) = received {
                    let _ = member.foca.handle_data(&buffer[..length], &mut member.runtime);
                }
            }
            () = sleep_until(timer_at.unwrap_or_else(Instant::now)), if timer_at.is_some() => {
                while member.timers.peek().is_some_and(|Reverse((at, _))| *at <= Instant::now()) {
                    let Some(Reverse((_, timer))) = member.timers.pop() else { break };
                    let _ = member.foca.handle_timer(timer, &mut member.runtime);
                }
            }
            () = sleep_until(announce_at), if alone => {
                announce_at = Instant::now() + ANNOUNCE_AGAIN_AFTER;
                for addr in seeds.iter().copied().filter(|seed| *seed != me) {
                    let _ = member.foca.announce(Id { addr, life: 0 }, &mut member.runtime);
                }
            }
        }
        member.carry_out().await?;
    }
}
