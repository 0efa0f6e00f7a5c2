//! How a connection ends, and what whoever waits for it is told.

use std::io;

use bytes::Bytes;
use gms_core::input::{SendFailure, WatchEnd};
use gms_core::transport::ProbeReply;

use crate::fault::Fault;
use crate::frames::BadLength;

/// Why a connection is over.
#[derive(Debug)]
pub(crate) enum End {
    /// The peer closed it.
    Eof,
    /// The system says so.
    Failed(io::Error),
    /// Both its ends are here, on one port.
    ToItself,
    /// The peer sent what no peer sends.
    Malformed,
    /// Too slow, too long silent, or the time set for it is up.
    TimedOut,
    /// It made room for another.
    Displaced,
    /// It served its purpose.
    Finished,
    /// The peer closes in order.
    Goodbye,
    /// The probe's answer.
    Answered(Bytes),
}

impl From<BadLength> for End {
    fn from(_: BadLength) -> Self {
        Self::Malformed
    }
}

impl End {
    /// What a probe whose connection ended so reports.
    //= docs/protocol.md#fd-21
    pub(crate) fn probe_reply(self, connecting: bool) -> ProbeReply {
        match self {
            Self::Answered(answer) => ProbeReply::Answer(answer),
            Self::Malformed => ProbeReply::Garbage,
            Self::TimedOut => ProbeReply::TimedOut,
            Self::Eof => ProbeReply::Reset,
            Self::ToItself | Self::Displaced | Self::Finished | Self::Goodbye => ProbeReply::LocalFault,
            Self::Failed(error) => match Fault::of(&error) {
                Fault::Refused if connecting => ProbeReply::Refused,
                Fault::Refused | Fault::Broken => ProbeReply::Reset,
                Fault::TimedOut => ProbeReply::TimedOut,
                Fault::Unreachable => ProbeReply::Unreachable,
                Fault::Local => ProbeReply::LocalFault,
            },
        }
    }

    /// What whoever holds a watch connection that ended so is told.
    //= docs/protocol.md#fd-29
    pub(crate) fn watch_end(&self, connecting: bool) -> WatchEnd {
        match self {
            Self::Goodbye => WatchEnd::Goodbye,
            Self::Failed(error) if connecting && Fault::of(error) == Fault::Refused => WatchEnd::Refused,
            Self::ToItself | Self::Displaced | Self::Finished | Self::TimedOut => WatchEnd::Failed,
            _ if connecting => WatchEnd::Failed,
            Self::Eof | Self::Failed(_) | Self::Malformed | Self::Answered(_) => WatchEnd::Broken,
        }
    }

    /// What a frame whose connection ended so reports.
    pub(crate) fn send_failure(&self, connecting: bool) -> SendFailure {
        match self {
            Self::TimedOut => SendFailure::TimedOut,
            Self::ToItself => SendFailure::Local,
            Self::Eof
            | Self::Malformed
            | Self::Displaced
            | Self::Finished
            | Self::Goodbye
            | Self::Answered(_) => SendFailure::Broken,
            Self::Failed(error) => match Fault::of(error) {
                Fault::Refused if connecting => SendFailure::Refused,
                Fault::Refused | Fault::Broken => SendFailure::Broken,
                Fault::TimedOut => SendFailure::TimedOut,
                Fault::Unreachable => SendFailure::Unreachable,
                Fault::Local => SendFailure::Local,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= docs/protocol.md#fd-21
    #[test]
    fn a_refusal_counts_only_while_connecting() {
        let refused = || End::Failed(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(refused().probe_reply(true), ProbeReply::Refused);
        assert_eq!(refused().probe_reply(false), ProbeReply::Reset);
        assert_eq!(refused().send_failure(true), SendFailure::Refused);
        assert_eq!(refused().send_failure(false), SendFailure::Broken);
    }

    //= docs/protocol.md#fd-29
    #[test]
    fn a_watch_breaks_only_once_it_stood_and_is_refused_only_before() {
        let failed = |kind: io::ErrorKind| End::Failed(kind.into());
        let refused = io::ErrorKind::ConnectionRefused;
        assert_eq!(failed(refused).watch_end(true), WatchEnd::Refused);
        assert_eq!(failed(io::ErrorKind::ConnectionReset).watch_end(true), WatchEnd::Failed);
        assert_eq!(failed(io::ErrorKind::ConnectionReset).watch_end(false), WatchEnd::Broken);
        assert_eq!(End::Eof.watch_end(false), WatchEnd::Broken);
        assert_eq!(End::Malformed.watch_end(false), WatchEnd::Broken);
        assert_eq!(End::Goodbye.watch_end(false), WatchEnd::Goodbye);
        assert_eq!(End::TimedOut.watch_end(true), WatchEnd::Failed);
        assert_eq!(End::ToItself.watch_end(true), WatchEnd::Failed);
    }

    #[test]
    fn a_connection_to_itself_says_nothing_about_the_peer() {
        assert_eq!(End::ToItself.probe_reply(true), ProbeReply::LocalFault);
        assert_eq!(End::ToItself.send_failure(true), SendFailure::Local);
    }
}
