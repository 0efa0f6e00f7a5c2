//! What a member's process prints for `gms-bench`: one JSON line at each change of the membership that it sees.
//!
//! The same file is compiled into the drivers of other systems (`gms-bench/peers`), so that all are measured alike.

use std::io::Write as _;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The members that one of them sees, and since when.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Line {
    /// When it was seen: nanoseconds of [`now`], which all processes of one machine share.
    pub at: u64,
    /// Addresses of those that it holds for alive, its own included; in the order of the view where there is one.
    pub members: Vec<SocketAddr>,
    /// The number of the view, in systems that agree on views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<u64>,
    /// Who is in charge, in systems where somebody is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<SocketAddr>,
}

impl Line {
    /// What is seen at this moment, in a system without views.
    pub fn of(members: impl IntoIterator<Item = SocketAddr>) -> Self {
        let mut members: Vec<SocketAddr> = members.into_iter().collect();
        members.sort_unstable();
        members.dedup();
        Self { at: now(), members, view: None, coordinator: None }
    }

    /// Prints it to standard output at once.
    ///
    /// # Errors
    ///
    /// Nobody reads any more.
    pub fn print(&self) -> std::io::Result<()> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        let mut out = std::io::stdout().lock();
        out.write_all(&bytes)?;
        out.flush()
    }
}

/// Nanoseconds of `CLOCK_BOOTTIME`.
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(nanos.unwrap_or(0))
}
