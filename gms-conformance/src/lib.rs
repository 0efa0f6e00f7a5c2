//! What every transport of [`gms_core`] must do, as one suite of tests.
//!
//! Say how to open one ([`Kind`]), and let [`suite!`] write the tests:
//!
//! ```text
//! struct Mine;
//! #[async_trait::async_trait]
//! impl gms_conformance::Kind for Mine {
//!     type Transport = MyTransport;
//!     async fn open_at(&self, at: Option<SocketAddr>) -> MyTransport { … }
//! }
//! gms_conformance::suite!(Mine);
//! ```
//!
//! A case panics where the transport does something else. Time decides nothing but how long a failing case takes: what must
//! come is waited for half a minute, and what must not come is asked for after what was sent later has arrived.

// A suite of tests, though compiled as a library.
#![allow(clippy::unwrap_used, reason = "a failing case is a panic")]

pub mod addresses;
pub mod checks;
pub mod datagrams;
pub mod frames;
pub mod tools;
pub mod victim;
pub mod watches;
pub mod whole;

use std::any::Any;
use std::net::SocketAddr;

use async_trait::async_trait;
use gms_core::transport::Transport;

pub use tools::{LONG, SHORT};
use victim::Victim;

/// A kind of transport.
#[async_trait]
pub trait Kind: Send + Sync {
    /// Its type.
    type Transport: Transport;

    /// Opens one, at an address where another of this kind was closed, or anywhere.
    async fn open_at(&self, at: Option<SocketAddr>) -> Self::Transport;

    /// Opens one anywhere.
    async fn open(&self) -> Self::Transport {
        self.open_at(None).await
    }

    /// Starts a process with one, which a case stops or kills. Default: none, and those cases have nothing to do.
    fn victim(&self) -> Option<Victim> {
        None
    }

    /// Whether one hears of a killed process by itself: from a watch, or from a datagram that comes back. Default: yes.
    fn sees_crashes(&self) -> bool {
        true
    }

    /// Those who listen where a member is expected, and answer what no member answers. Default: nobody, and the case has
    /// nothing to do.
    async fn babblers(&self) -> Vec<Babbler> {
        Vec::new()
    }

    /// With how many others one talks at once in [`whole::many_peers`]. Default 250: each of them may have a thread and
    /// several descriptors of this one process.
    fn peers(&self) -> usize {
        250
    }
}

/// Somebody who answers a check with rubbish.
pub struct Babbler {
    /// Where.
    pub addr: SocketAddr,
    /// What it does, for the message of a case that fails.
    pub what: &'static str,
    /// What goes on until it is dropped.
    pub keeps: Box<dyn Any + Send>,
}

impl std::fmt::Debug for Babbler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.what, self.addr)
    }
}

/// Writes the tests of all cases for a kind of transport; `suite!(KIND; watches: crash, silence)` those of some.
#[macro_export]
macro_rules! suite {
    ($kind:expr) => {
        $crate::suite!($kind; datagrams: delivery, size_limit, batches, nobody_there);
        $crate::suite!($kind; frames: order, size, slow_reader, answers, refusal, broken_midway, deadline);
        $crate::suite!($kind; checks: answered, other_incarnation, refused, accepted_but_silent, garbage, given_up);
        $crate::suite!($kind; watches: goodbye, crash, silence);
        $crate::suite!($kind; addresses: ipv6, both_families);
        $crate::suite!($kind; whole: flood, close_while_busy, many_peers, giving_up_loses_nothing);
    };
    ($kind:expr; $group:ident: $($case:ident),+) => {
        mod $group {
            use super::*;
            $(
                #[tokio::test]
                async fn $case() {
                    $crate::$group::$case(&$kind).await;
                }
            )+
        }
    };
}
