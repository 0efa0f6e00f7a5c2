//! Making certificates: a CA, and members that it vouches for.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use thiserror::Error;
use time::OffsetDateTime;

use crate::naming::certificate_name;

/// How far back validity begins, so that machines whose clocks are a little behind accept what was just made.
const BACKDATED: Duration = Duration::from_secs(3600);

/// A certificate and its private key, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// The certificate.
    pub cert: String,
    /// The private key: whoever has it is the member, or may vouch for members.
    pub key: String,
}

impl std::fmt::Debug for Pem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pem").field("cert", &self.cert).finish_non_exhaustive()
    }
}

/// Why no certificate was made.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CertsError {
    /// The CA's certificate or key can't be used.
    #[error("the CA's certificate and key can't be used: {0}: name the PEM files that `gms certs ca` wrote")]
    Authority(String),
    /// The library refuses.
    #[error("no certificate can be made: {0}")]
    Refused(String),
}

/// When a certificate is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Validity {
    from: OffsetDateTime,
    until: OffsetDateTime,
}

impl Validity {
    /// From an hour ago, so that clocks may differ, for so long from this moment; the end of the year 9999 is the end.
    pub fn for_next(time: Duration) -> Self {
        let now = OffsetDateTime::now_utc();
        Self { from: now - BACKDATED, until: later(now, time) }
    }

    /// For so long, up to some time ago.
    pub fn ended(ago: Duration, time: Duration) -> Self {
        let until = earlier(OffsetDateTime::now_utc(), ago);
        Self { from: earlier(until, time), until }
    }

    /// For so long, from some time ahead.
    pub fn begins_in(ahead: Duration, time: Duration) -> Self {
        let from = later(OffsetDateTime::now_utc(), ahead);
        Self { from, until: later(from, time) }
    }
}

/// Dates end where years have four digits, in certificates too.
fn later(date: OffsetDateTime, by: Duration) -> OffsetDateTime {
    date.saturating_add(by.try_into().unwrap_or(time::Duration::MAX))
}

fn earlier(date: OffsetDateTime, by: Duration) -> OffsetDateTime {
    date.saturating_sub(by.try_into().unwrap_or(time::Duration::MAX))
}

/// A CA.
///
/// # Errors
///
/// [`CertsError::Refused`].
pub fn authority(name: &str, validity: Validity) -> Result<Pem, CertsError> {
    let mut params = params(name, validity, Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().map_err(|error| refused(&error))?;
    let cert = params.self_signed(&key).map_err(|error| refused(&error))?;
    Ok(Pem { cert: cert.pem(), key: key.serialize_pem() })
}

/// A member of `cluster` that `ca` vouches for. It bears [`certificate_name`], and `name` for people to read.
///
/// # Errors
///
/// [`CertsError`].
pub fn member(ca: &Pem, cluster: &str, name: &str, validity: Validity) -> Result<Pem, CertsError> {
    let authority = |error: rcgen::Error| CertsError::Authority(error.to_string());
    let ca_key = KeyPair::from_pem(&ca.key).map_err(authority)?;
    let issuer = Issuer::from_ca_cert_pem(&ca.cert, ca_key).map_err(authority)?;
    let mut params = params(name, validity, vec![certificate_name(cluster)])?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    // A member is client and server by turns.
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().map_err(|error| refused(&error))?;
    let cert = params.signed_by(&key, &issuer).map_err(|error| refused(&error))?;
    Ok(Pem { cert: cert.pem(), key: key.serialize_pem() })
}

fn params(name: &str, validity: Validity, names: Vec<String>) -> Result<CertificateParams, CertsError> {
    let mut params = CertificateParams::new(names).map_err(|error| refused(&error))?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = validity.from;
    params.not_after = validity.until;
    Ok(params)
}

fn refused(error: &rcgen::Error) -> CertsError {
    CertsError::Refused(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_beyond_the_last_date_ends_with_it() {
        for time in [Duration::from_secs(3_000_000 * 24 * 60 * 60), Duration::MAX] {
            assert_eq!(Validity::for_next(time).until.year(), 9999);
            assert_eq!(Validity::begins_in(time, time).from.year(), 9999);
            assert!(Validity::ended(time, time).until.year() < 0);
        }
    }
}
