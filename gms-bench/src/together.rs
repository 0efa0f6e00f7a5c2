//! Members of GMS in one process, over real sockets on loopback: where it is the protocol that is measured and not
//! how a system tears processes down.

use std::net::SocketAddr;
use std::time::Duration;

use gms_core::{EventStream, Gms};
use tokio::runtime::Runtime;

use crate::failure::Failure;
use crate::line::now;
use crate::transport::{CLUSTER, Carrier};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the members' views are looked at.
const TICK: Duration = Duration::from_micros(200);

/// Some members of one cluster.
#[derive(Debug)]
pub struct Together {
    runtime: Runtime,
    members: Vec<(Gms, EventStream)>,
    seed: String,
    carrier: Carrier,
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::fault(format!("a member on loopback failed: {error}"))
}

impl Together {
    /// A cluster of `size` members over `carrier`, all in one view.
    ///
    /// # Errors
    ///
    /// A member does not start or does not get in.
    pub fn start(size: usize, carrier: Carrier) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let founder = runtime.block_on(start(None, carrier))?;
        let seed = founder.0.me().endpoint.addr.to_string();
        let mut together = Self { runtime, members: vec![founder], seed, carrier };
        together.join(size.saturating_sub(1))?;
        Ok(together)
    }

    /// Starts so many more at once, and returns the time until all members have all in their view.
    ///
    /// # Errors
    ///
    /// One does not start or does not get in.
    pub fn join(&mut self, joiners: usize) -> Result<Duration, Failure> {
        let begun = now();
        let Self { runtime, members, seed, carrier } = self;
        runtime.block_on(async {
            for _ in 0..joiners {
                members.push(start(Some(seed), *carrier).await?);
            }
            Ok::<_, Failure>(())
        })?;
        self.until_size(self.members.len(), begun)
    }

    /// Lets the youngest member leave, and returns the time until all others have a view without it: what it takes to
    /// agree on a view and to install it everywhere, and the time for which changes are collected.
    ///
    /// # Errors
    ///
    /// The others don't get such a view.
    pub fn leave(&mut self) -> Result<Duration, Failure> {
        let (leaver, _events) = self.members.pop().ok_or_else(|| failed("nobody is left"))?;
        let begun = now();
        // The last handle that goes makes a member leave.
        drop(leaver);
        self.until_size(self.members.len(), begun)
    }

    fn until_size(&self, size: usize, begun: u64) -> Result<Duration, Failure> {
        let is_there = |gms: &Gms| gms.view().is_some_and(|view| view.len() == size);
        while !self.members.iter().all(|(gms, _)| is_there(gms)) {
            if Duration::from_nanos(now() - begun) > PATIENCE {
                return Err(failed(format!("no view of {size} members within {PATIENCE:?}")));
            }
            std::thread::sleep(TICK);
        }
        Ok(Duration::from_nanos(now() - begun))
    }
}

impl Drop for Together {
    fn drop(&mut self) {
        for (member, _) in &self.members {
            member.abort();
        }
    }
}

async fn start(seed: Option<&String>, carrier: Carrier) -> Result<(Gms, EventStream), Failure> {
    let builder = Gms::builder(CLUSTER).join(seed);
    carrier.start(SocketAddr::from(([127, 0, 0, 1], 0)), builder).await.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_in_one_process_join_and_leave() {
        for carrier in Carrier::ALL {
            let mut together = Together::start(2, carrier).unwrap();
            assert!(together.join(1).unwrap() < PATIENCE);
            assert!(together.leave().unwrap() < PATIENCE);
        }
    }
}
