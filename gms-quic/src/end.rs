//! How a connection ends, and what whoever waits for it is told.

use gms_core::input::{SendFailure, WatchEnd};
use gms_core::transport::ProbeReply;
use quinn::{ConnectionError, VarInt};

use crate::report;

/// What a connection is closed with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CloseCode {
    /// This process closes in order: nobody died.
    Goodbye,
    /// Another connection between the same two has taken its place.
    Replaced,
    /// It has served its purpose: a check is answered, or nobody waits for it.
    Finished,
    /// It made room for another, or brought what no peer brings.
    Cut,
}

impl CloseCode {
    pub(crate) const fn code(self) -> VarInt {
        VarInt::from_u32(match self {
            Self::Goodbye => 1,
            Self::Replaced => 2,
            Self::Finished => 3,
            Self::Cut => 4,
        })
    }

    fn of(error: &ConnectionError) -> Option<Self> {
        let ConnectionError::ApplicationClosed(close) = error else { return None };
        [Self::Goodbye, Self::Replaced, Self::Finished, Self::Cut]
            .into_iter()
            .find(|known| known.code() == close.error_code)
    }
}

/// How a connection that was kept ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkEnd {
    /// The other side said goodbye.
    Goodbye,
    /// Another has taken its place.
    Replaced,
    /// Anything else: nobody said why.
    Broken,
}

impl LinkEnd {
    pub(crate) fn of(error: &ConnectionError) -> Self {
        match CloseCode::of(error) {
            Some(CloseCode::Goodbye) => Self::Goodbye,
            Some(CloseCode::Replaced) => Self::Replaced,
            _ if *error == ConnectionError::LocallyClosed => Self::Replaced,
            _ => Self::Broken,
        }
    }

    /// What whoever watches is told; nothing where the next connection goes on.
    //= docs/protocol.md#fd-29
    pub(crate) const fn watch_end(self) -> Option<WatchEnd> {
        match self {
            Self::Goodbye => Some(WatchEnd::Goodbye),
            Self::Broken => Some(WatchEnd::Broken),
            Self::Replaced => None,
        }
    }
}

/// What a frame reports whose connection could not be made.
pub(crate) fn dial_failure(error: &ConnectionError) -> SendFailure {
    if let Some((misfit, _)) = report::misfit(error) {
        return SendFailure::Misfit(misfit);
    }
    match error {
        ConnectionError::TimedOut => SendFailure::TimedOut,
        ConnectionError::LocallyClosed => SendFailure::NotQueued,
        _ => SendFailure::Broken,
    }
}

/// What a check reports whose connection ended so. Only the network's word that nobody listens is a refusal, and that
/// never comes this way.
//= docs/protocol.md#fd-21
pub(crate) fn probe_reply(error: &ConnectionError) -> ProbeReply {
    match error {
        ConnectionError::TimedOut => ProbeReply::TimedOut,
        // Somebody answers there who is no member of this cluster, or none at all.
        ConnectionError::VersionMismatch | ConnectionError::TransportError(_) => ProbeReply::Garbage,
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => ProbeReply::LocalFault,
        ConnectionError::ConnectionClosed(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::Reset => ProbeReply::Reset,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use quinn::ApplicationClose;

    use super::*;

    fn closed(code: CloseCode) -> ConnectionError {
        ConnectionError::ApplicationClosed(ApplicationClose { error_code: code.code(), reason: Bytes::new() })
    }

    //= docs/protocol.md#fd-29
    #[test]
    fn only_a_goodbye_is_one_and_only_a_replaced_connection_goes_on() {
        let end = |error: &ConnectionError| LinkEnd::of(error).watch_end();
        assert_eq!(end(&closed(CloseCode::Goodbye)), Some(WatchEnd::Goodbye));
        assert_eq!(end(&closed(CloseCode::Replaced)), None);
        assert_eq!(end(&closed(CloseCode::Cut)), Some(WatchEnd::Broken));
        assert_eq!(end(&ConnectionError::Reset), Some(WatchEnd::Broken));
        assert_eq!(end(&ConnectionError::TimedOut), Some(WatchEnd::Broken));
    }

    //= docs/protocol.md#fd-21
    #[test]
    fn no_end_of_a_connection_is_a_refusal() {
        for error in [
            closed(CloseCode::Cut),
            ConnectionError::Reset,
            ConnectionError::TimedOut,
            ConnectionError::VersionMismatch,
            ConnectionError::LocallyClosed,
        ] {
            assert_ne!(probe_reply(&error), ProbeReply::Refused, "{error:?}");
        }
    }
}
