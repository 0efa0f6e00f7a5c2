//! What a joiner's frames were sent for, so that a failure is put down to the right seed, founder or join.

use std::collections::VecDeque;
use std::net::SocketAddr;

use crate::member::MemberId;
use crate::output::FrameToken;

/// Frames remembered; their fate is reported within T, so older ones have none.
const SENT_MAX: usize = 256;

/// What a frame was sent for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    Seed(SocketAddr),
    Join,
    /// To the member that holds the view which contains this process.
    Holder,
    Founder(MemberId),
}

/// The newest frames sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    frames: VecDeque<(FrameToken, Purpose)>,
}

impl Sent {
    pub(super) fn remember(&mut self, sent: impl IntoIterator<Item = (FrameToken, Purpose)>) {
        self.frames.extend(sent);
        let surplus = self.frames.len().saturating_sub(SENT_MAX);
        self.frames.drain(..surplus);
    }

    /// What the frame was for, told once.
    pub(super) fn take(&mut self, token: FrameToken) -> Option<Purpose> {
        let found = self.frames.iter().position(|(t, _)| *t == token)?;
        self.frames.remove(found).map(|(_, purpose)| purpose)
    }
}
