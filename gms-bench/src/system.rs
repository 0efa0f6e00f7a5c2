//! What is compared: GMS with some settings, and the other systems with the defaults that they document.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::transport::Carrier;

/// The default T, which tables don't name.
const DEFAULT_TIMEOUT_MS: u64 = 5_000;

/// How a member of GMS is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tuning {
    /// What carries its messages.
    #[serde(default)]
    pub carrier: Carrier,
    /// T, in milliseconds.
    pub member_timeout_ms: u64,
    /// The heartbeat interval in milliseconds; T/5 where it is not set.
    pub heartbeat_interval_ms: Option<u64>,
    /// To how many members before it in the ring a member sends, beside the first four in office; `auto` where it is
    /// not set, which is all of them in small views.
    pub recipients: Option<u16>,
}

impl Tuning {
    /// The defaults at this T, over UDP.
    pub fn at(member_timeout: Duration) -> Self {
        Self {
            carrier: Carrier::Udp,
            member_timeout_ms: millis(member_timeout),
            heartbeat_interval_ms: None,
            recipients: None,
        }
    }

    /// The same over this.
    #[must_use]
    pub const fn over(self, carrier: Carrier) -> Self {
        Self { carrier, ..self }
    }

    /// The leanest setting at this T that the configuration allows: an interval of T/2, the fewest recipients.
    pub fn lean(member_timeout: Duration) -> Self {
        let interval = millis(member_timeout) / 2;
        Self { heartbeat_interval_ms: Some(interval), recipients: Some(1), ..Self::at(member_timeout) }
    }

    /// For people, as far as it is not the default: `QUIC`, `T 2 s, interval 1 s, recipients 1`.
    pub fn text(&self) -> String {
        let seconds = |ms: u64| format!("{} s", ms as f64 / 1000.0);
        let mut parts = Vec::new();
        if self.carrier != Carrier::default() {
            parts.push(self.carrier.text().to_owned());
        }
        if self.member_timeout_ms != DEFAULT_TIMEOUT_MS {
            parts.push(format!("T {}", seconds(self.member_timeout_ms)));
        }
        if let Some(ms) = self.heartbeat_interval_ms {
            parts.push(format!("interval {}", seconds(ms)));
        }
        if let Some(recipients) = self.recipients {
            parts.push(format!("recipients {recipients}"));
        }
        parts.join(", ")
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The other systems.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Peer {
    /// The crate `foca`, `Config::new_lan`.
    Foca,
    /// The crate `chitchat`, gossip each second.
    Chitchat,
    /// The crate `memberlist`, `Options::lan`, over UDP and TCP.
    Memberlist,
    /// The program `serf`, profile `lan`.
    Serf,
}

impl Peer {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Foca, Self::Chitchat, Self::Memberlist, Self::Serf];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Foca => "foca",
            Self::Chitchat => "chitchat",
            Self::Memberlist => "memberlist",
            Self::Serf => "serf",
        }
    }
}

/// One thing that is measured.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// GMS.
    Gms(Tuning),
    /// Another system.
    Peer(Peer),
}

impl System {
    /// Its name in tables; of GMS, what differs from UDP and the defaults at T = 5 s is named.
    pub fn name(&self) -> String {
        match self {
            Self::Peer(peer) => peer.name().to_owned(),
            Self::Gms(tuning) => match tuning.text() {
                text if text.is_empty() => "gms".to_owned(),
                text => format!("gms ({text})"),
            },
        }
    }

    /// Whether it is GMS.
    pub const fn is_gms(&self) -> bool {
        matches!(self, Self::Gms(_))
    }
}

/// The programs that members are.
#[derive(Clone, Debug)]
pub struct Tools {
    /// `gms-bench` itself.
    pub bench: PathBuf,
    /// Where the drivers of the other crates are.
    pub drivers: Option<PathBuf>,
}

impl Tools {
    /// The program and arguments of one member of `system`: one that founds where `seed` is `None`.
    ///
    /// # Errors
    ///
    /// The program is not there.
    pub fn member(
        &self,
        system: &System,
        me: SocketAddr,
        name: &str,
        size: usize,
        seed: Option<SocketAddr>,
    ) -> Result<Vec<OsString>, Failure> {
        let seeds = seed.map(|seed| seed.to_string());
        let mut words: Vec<OsString> = match system {
            System::Gms(tuning) => {
                let mut words: Vec<OsString> = vec![self.bench.clone().into(), "member".into()];
                words.extend([me.to_string().into(), "--transport".into(), tuning.carrier.name().into()]);
                words.push("--member-timeout".into());
                words.push(format!("{}ms", tuning.member_timeout_ms).into());
                if let Some(ms) = tuning.heartbeat_interval_ms {
                    words.extend([OsString::from("--heartbeat-interval"), format!("{ms}ms").into()]);
                }
                if let Some(recipients) = tuning.recipients {
                    words.extend([OsString::from("--heartbeat-recipients"), recipients.to_string().into()]);
                }
                words
            }
            System::Peer(Peer::Serf) => return Ok(serf(me, name, seeds)),
            System::Peer(peer) => {
                let drivers = self.drivers.as_ref().ok_or_else(|| {
                    Failure::fault(format!("there is no driver of {}: it was not built", peer.name()))
                })?;
                vec![drivers.join(peer.name()).into(), me.to_string().into(), size.to_string().into()]
            }
        };
        words.extend(seeds.map(OsString::from));
        Ok(words)
    }
}

/// A member of serf. It has no library for others, so its log tells what it sees.
fn serf(me: SocketAddr, name: &str, seed: Option<String>) -> Vec<OsString> {
    let words = ["serf", "agent", "-profile", "lan", "-log-level", "info", "-node", name];
    let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    let rpc = SocketAddr::new(me.ip(), me.port() + 10_000);
    words.extend(["-bind".into(), me.to_string().into(), "-rpc-addr".into(), rpc.to_string().into()]);
    words.extend(seed.into_iter().flat_map(|seed| [OsString::from("-retry-join"), seed.into()]));
    words
}
