//! What the drivers share: their arguments and the lines that they print.
//!
//! Each driver runs one member with the defaults that its crate documents for a local network, and prints a [`Line`]
//! whenever the set of members that it holds for alive changes: `DRIVER ADDRESS SIZE [SEED…]`.

#[path = "../../src/line.rs"]
mod line;

use std::net::SocketAddr;

pub use line::{Line, now};

/// What a driver is told.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// Where its member listens.
    pub me: SocketAddr,
    /// How many members the cluster will have, for crates whose configuration asks for it.
    pub size: u32,
    /// Whom to join; empty for the first.
    pub seeds: Vec<SocketAddr>,
}

impl Arguments {
    /// Those of this process.
    ///
    /// # Errors
    ///
    /// One is missing or malformed.
    pub fn of_process() -> anyhow::Result<Self> {
        let mut words = std::env::args().skip(1);
        let (Some(me), Some(size)) = (words.next(), words.next()) else {
            anyhow::bail!("usage: DRIVER IP:PORT SIZE [SEED…]");
        };
        let seeds = words.map(|seed| Ok(seed.parse()?)).collect::<anyhow::Result<_>>()?;
        Ok(Self { me: me.parse()?, size: size.parse()?, seeds })
    }
}
