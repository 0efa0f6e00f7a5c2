//! What a connection is for, and the bytes that say so.

use gms_core::input::WatchEnd;
use gms_core::transport::ProbeReply;
use tokio::sync::oneshot;

/// First byte of a connection that carries frames.
pub(crate) const LEAD_FRAMES: u8 = b'F';
/// First byte of a connection that asks one question.
pub(crate) const LEAD_CHECK: u8 = b'C';

/// First byte of a connection that is only held, so that its end tells of the other process's death.
pub(crate) const LEAD_WATCH: u8 = b'W';
/// What an orderly close says on it.
pub(crate) const GOODBYE: u8 = b'G';

/// What a connection is for.
#[derive(Debug)]
pub(crate) enum Role {
    /// Accepted, has not said what it wants.
    Fresh,
    /// Carries frames both ways.
    Frames,
    /// Accepted, a check.
    Check(CheckStage),
    /// Made by this side for one question.
    Probe { id: u64, done: Option<oneshot::Sender<ProbeReply>> },
    /// Made by this side, held until it ends.
    Watch { id: u64, done: Option<oneshot::Sender<WatchEnd>> },
    /// Accepted, held by the other side.
    Watched,
}

impl Role {
    /// What a connection made for it begins with.
    pub(crate) const fn lead(&self) -> u8 {
        match self {
            Self::Frames => LEAD_FRAMES,
            Self::Watch { .. } | Self::Watched => LEAD_WATCH,
            Self::Fresh | Self::Check(_) | Self::Probe { .. } => LEAD_CHECK,
        }
    }
}

/// How far an incoming check has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CheckStage {
    /// The question is not whole yet.
    Reading,
    /// The reader has the question.
    Asked,
    /// The answer is being written.
    Answering,
}
