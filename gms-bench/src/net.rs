//! Where the members of a cluster live: each in a network namespace of its own, or all on loopback.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};

use gms_lab::Lab;

use crate::failure::Failure;

/// The first port of members.
const PORT: u16 = 7946;
/// How many ports loopback uses in turn, so that what is under way to one cluster does not reach the next.
const PORTS: u16 = 1000;

/// The network of one cluster.
#[derive(Debug)]
pub(crate) enum Net {
    /// A namespace a member.
    Lab(Lab),
    /// Loopback, with an address a member.
    Loopback {
        /// The port that all have.
        port: u16,
    },
}

impl Net {
    /// A network for so many members.
    pub(crate) fn new(members: usize, in_lab: bool) -> Result<Self, Failure> {
        static COUNT: AtomicU16 = AtomicU16::new(0);
        if in_lab {
            return Ok(Self::Lab(Lab::new(members)?));
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(Self::Loopback { port: PORT + count % PORTS })
    }

    /// Where the member at this place, from 0, listens.
    pub(crate) fn address(&self, place: usize) -> SocketAddr {
        match self {
            Self::Lab(_) => SocketAddr::from((Lab::ip_of(place + 1), PORT)),
            Self::Loopback { port } => {
                // Runs at the same time don't meet: each process has 127.x.y.0/24 of its own, nearly.
                let [high, low] = u16::try_from(std::process::id() % (1 << 15)).unwrap_or(0).to_be_bytes();
                let host = u8::try_from(place + 1).unwrap_or(u8::MAX);
                SocketAddr::from((Ipv4Addr::new(127, 64 + high, low, host), *port))
            }
        }
    }

    /// The words that run `words` at this place.
    pub(crate) fn words_at(&self, place: usize, words: Vec<OsString>) -> Vec<OsString> {
        let (Self::Lab(lab), Some(program)) = (self, words.first()) else { return words };
        let command = lab.command_on(place + 1, Path::new(program));
        let before = std::iter::once(command.get_program()).chain(command.get_args());
        before.map(OsString::from).chain(words.iter().skip(1).cloned()).collect()
    }

    /// The namespaces, where there are some.
    pub(crate) fn lab(&mut self) -> Result<&mut Lab, Failure> {
        match self {
            Self::Lab(lab) => Ok(lab),
            Self::Loopback { .. } => Err(Failure::fault("this scenario needs network namespaces, thus root")),
        }
    }
}
