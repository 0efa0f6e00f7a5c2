//! Handshakes of incoming connections under way: how many at all, and from one source.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::limits::{HANDSHAKES_MAX, HANDSHAKES_PER_SOURCE_MAX, RETRY_ABOVE};

/// Counts handshakes.
#[derive(Debug, Default)]
pub(crate) struct Handshakes {
    under_way: usize,
    by_source: BTreeMap<IpAddr, usize>,
}

/// What becomes of a handshake that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// It may begin.
    LetIn,
    /// Whoever asks has to show first that it receives what is sent to it. That costs nothing that is kept.
    ShowYourself,
    /// It is not answered; whoever is serious asks again.
    Ignored,
}

impl Handshakes {
    /// Somebody at `source` asks, who has shown to receive there or not.
    //= docs/protocol.md#wr-4
    pub(crate) fn ask(&self, source: &IpAddr, is_validated: bool) -> Asked {
        let from_there = self.by_source.get(source).copied().unwrap_or(0);
        if self.under_way >= HANDSHAKES_MAX || from_there >= HANDSHAKES_PER_SOURCE_MAX {
            return Asked::Ignored;
        }
        if self.under_way >= RETRY_ABOVE && !is_validated { Asked::ShowYourself } else { Asked::LetIn }
    }

    /// One begins.
    pub(crate) fn begin(&mut self, source: IpAddr) {
        self.under_way += 1;
        *self.by_source.entry(source).or_default() += 1;
    }

    /// One that began is over, well or not.
    pub(crate) fn end(&mut self, source: &IpAddr) {
        self.under_way -= 1;
        if let Some(count) = self.by_source.get_mut(source) {
            *count -= 1;
            if *count == 0 {
                self.by_source.remove(source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(n: u8) -> IpAddr {
        [10, 0, 0, n].into()
    }

    //= docs/protocol.md#wr-4
    #[test]
    fn many_under_way_must_show_themselves_and_no_source_takes_all_places() {
        let mut handshakes = Handshakes::default();
        let mut fill = |from: u8, count: usize| {
            let let_in = (0..count).take_while(|_| {
                let may = handshakes.ask(&source(from), true) == Asked::LetIn;
                if may {
                    handshakes.begin(source(from));
                }
                may
            });
            (let_in.count(), handshakes.ask(&source(9), false))
        };
        assert_eq!(fill(1, RETRY_ABOVE), (RETRY_ABOVE, Asked::ShowYourself));
        assert_eq!(fill(1, 1_000), (HANDSHAKES_PER_SOURCE_MAX - RETRY_ABOVE, Asked::ShowYourself));
        assert_eq!(fill(2, 1_000), (HANDSHAKES_MAX - HANDSHAKES_PER_SOURCE_MAX, Asked::Ignored));
        handshakes.end(&source(1));
        assert_eq!(handshakes.ask(&source(9), true), Asked::LetIn);
    }
}
