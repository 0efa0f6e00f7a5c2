//! Datagrams of another cluster that reach this process: meant for who was at its address before, or sent by mistake.
//!
//! A process that comes back faster than it is missed learns so that its cluster lives, although that cluster does not
//! announce itself where it believes a member to be. The sender is asked on a stream: no answer goes to a forged source.

use std::net::SocketAddr;
use std::time::Duration;

use crate::member::{MemberId, ShortId};
use crate::message::FrameBody;
use crate::outbox::Outbox;
use crate::time::Timestamp;

/// Asks senders which cluster they speak for, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Strays {
    asked_at: Option<Timestamp>,
}

impl Strays {
    /// Asks `from`, unless somebody was asked within `patience`.
    //= docs/protocol.md#vw-10
    pub(crate) fn ask(
        &mut self,
        now: Timestamp,
        patience: Duration,
        from: SocketAddr,
        (cluster_name, asker): (&str, MemberId),
        out: &mut Outbox,
    ) {
        if self.asked_at.is_some_and(|at| now.since(at) < patience) {
            return;
        }
        self.asked_at = Some(now);
        let cluster_name = cluster_name.to_owned();
        out.frame_to(from, ShortId::default(), FrameBody::FindCoordinator { cluster_name, asker });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Action;
    use crate::testing::{addr, id};

    #[test]
    //= docs/protocol.md#wr-4
    fn a_flood_of_strays_is_answered_with_one_question_at_a_time() {
        let (mut strays, mut out) = (Strays::default(), Outbox::default());
        let mut asked = |millis, from| {
            let now = Timestamp::from_millis(millis);
            strays.ask(now, Duration::from_millis(100), addr(from), ("test", id(0)), &mut out);
            out.drain()
        };
        assert!(matches!(asked(0, 1)[..], [Action::FrameTo { .. }]));
        assert_eq!(asked(99, 2), []);
        assert!(matches!(asked(100, 2)[..], [Action::FrameTo { .. }]));
    }
}
