//! What a certificate says of itself: whose it is, from when until when, and whether it is a CA's.

use rustls::pki_types::{CertificateDer, UnixTime};
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::tls_error::TlsFault;

/// A certificate's own words. Times are seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    pub(crate) subject: String,
    pub(crate) from: u64,
    /// The last second of its time.
    pub(crate) until: u64,
    pub(crate) is_authority: bool,
}

impl Facts {
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Result<Self, String> {
        let (_, read) = X509Certificate::from_der(certificate).map_err(|error| error.to_string())?;
        // Before 1970 is as long ago as 1970.
        let seconds = |time: i64| u64::try_from(time).unwrap_or(0);
        Ok(Self {
            subject: read.subject().to_string(),
            from: seconds(read.validity().not_before.timestamp()),
            until: seconds(read.validity().not_after.timestamp()),
            is_authority: read.is_ca(),
        })
    }

    /// Why it does not count at this moment; `None` where it does.
    pub(crate) fn fault(&self, now: u64) -> Option<TlsFault> {
        if self.is_over(now) {
            Some(TlsFault::Expired { at: stamp(self.until) })
        } else {
            (now < self.from).then(|| TlsFault::NotYetValid { at: stamp(self.from) })
        }
    }

    pub(crate) const fn is_over(&self, now: u64) -> bool {
        now > self.until
    }
}

/// This machine's clock, in seconds since 1970.
pub(crate) fn now() -> u64 {
    UnixTime::now().as_secs()
}

/// A time as people and programs write it (RFC 3339), in UTC.
pub(crate) fn stamp(seconds: u64) -> String {
    let at =
        i64::try_from(seconds).ok().and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    // Certificates name no year above 9999.
    at.map_or_else(
        || "the end of time".into(),
        |at| {
            let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
            format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", at.hour(), at.minute(), at.second())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        assert_eq!(stamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(stamp(1_767_323_045), "2026-01-02T03:04:05Z");
        assert_eq!(stamp(u64::MAX), "the end of time");
    }
}
