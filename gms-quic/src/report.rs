//! What is said of connections that were not made because the two sides do not fit.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use gms_core::Timestamp;
use gms_core::input::Misfit;
use gms_core::runtime::clock;
use quinn::ConnectionError;

use crate::shared::Shared;

/// How often it is said at most: strangers decide how often it happens.
const SAID_EVERY: Duration = Duration::from_secs(1);

/// When it was last said, by any transport of this process.
static SAID_AT: Mutex<Option<Timestamp>> = Mutex::new(None);

/// TLS alerts (RFC 8446, section 6) as QUIC shows them: 0x100 and the alert's number.
const ALERTS: u64 = 0x100;
const BAD_CERTIFICATE: u64 = ALERTS + 42;
const UNSUPPORTED_CERTIFICATE: u64 = ALERTS + 43;
const CERTIFICATE_EXPIRED: u64 = ALERTS + 45;
const UNKNOWN_CA: u64 = ALERTS + 48;
/// A signature that does not fit, as of a CA with the same name and another key.
const DECRYPT_ERROR: u64 = ALERTS + 51;
const CERTIFICATE_REQUIRED: u64 = ALERTS + 116;
const NO_COMMON_PROTOCOL: u64 = ALERTS + 120;

/// What did not fit, with what to do about it; `None` where the connection failed for another reason.
pub(crate) fn misfit(error: &ConnectionError) -> Option<(Misfit, String)> {
    let (code, theirs, reason) = match error {
        ConnectionError::VersionMismatch => {
            let why = "it does not speak QUIC: does that member run with another --transport?";
            return Some((Misfit::Transport, why.into()));
        }
        ConnectionError::TransportError(error) => (u64::from(error.code), false, error.reason.clone()),
        ConnectionError::ConnectionClosed(close) => {
            let reason = String::from_utf8_lossy(&close.reason).into_owned();
            (u64::from(close.error_code), true, reason)
        }
        _ => return None,
    };
    let whose = if theirs { "it refuses this member's certificate" } else { "its certificate is refused" };
    let why = match code {
        NO_COMMON_PROTOCOL => {
            let why = "it belongs to a cluster of another name: compare --cluster";
            return Some((Misfit::Cluster, why.into()));
        }
        CERTIFICATE_REQUIRED => {
            let why = "certificates are demanded and one side shows none: give every member --tls-cert";
            return Some((Misfit::Certificate, why.into()));
        }
        CERTIFICATE_EXPIRED => "expired or not valid yet: look at its dates, and at the clocks",
        UNKNOWN_CA | DECRYPT_ERROR if !theirs => {
            "another CA has signed it, or that member was started without --tls-cert: give all members certificates of one CA"
        }
        UNKNOWN_CA | DECRYPT_ERROR => "another CA has signed it: give all members certificates of one CA",
        UNSUPPORTED_CERTIFICATE => {
            "it is not for this use: members need certificates for servers and for clients"
        }
        BAD_CERTIFICATE => "it can't be used, or is for another cluster",
        _ if (ALERTS..ALERTS + 256).contains(&code) => "the handshake failed",
        _ => return None,
    };
    Some((Misfit::Certificate, format!("{whose}: {why} ({reason})")))
}

/// Says in the log what did not fit.
pub(crate) fn failed(shared: &Shared, peer: SocketAddr, error: &ConnectionError) {
    let Some((_, why)) = misfit(error) else { return };
    shared.counters.frames_dropped.add(1);
    let now = clock::now();
    let Ok(mut said_at) = SAID_AT.lock() else { return };
    if said_at.is_none_or(|at| now.since(at) >= SAID_EVERY) {
        *said_at = Some(now);
        tracing::warn!(target: "gms::quic", %peer, "no connection: {why}");
    }
}

#[cfg(test)]
mod tests {
    use quinn::ConnectionClose;

    use super::*;

    //= docs/protocol.md#wr-6
    #[test]
    fn each_alert_says_what_is_wrong_with_a_certificate() {
        let why = |alert: u8| {
            let close = ConnectionClose {
                error_code: quinn::TransportErrorCode::crypto(alert),
                frame_type: None,
                reason: "x".into(),
            };
            misfit(&ConnectionError::ConnectionClosed(close)).map(|(_, why)| why).unwrap_or_default()
        };
        // Two CAs of one name differ in their keys: the signature does not fit.
        for alert in [48, 51] {
            assert!(why(alert).contains("another CA has signed it"), "{}", why(alert));
        }
        let unsigned = ConnectionError::TransportError(quinn::TransportErrorCode::crypto(48).into());
        let (_, said) = misfit(&unsigned).unwrap();
        assert!(said.contains("or that member was started without --tls-cert"), "{said}");
        assert!(why(43).contains("for servers and for clients"));
        assert!(why(45).contains("look at its dates"));
    }
}
