//! What is said at the start of certificates that can't be used: which file, what, and what to do.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use gms_quic::certs::{self, Pem, Validity};
use gms_quic::{TlsError, TlsFault, TlsFiles, TlsPart};
use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
use support::*;

const DAY: Duration = Duration::from_secs(86_400);

/// What is wrong with these files.
async fn wrong(files: &TlsFiles) -> (TlsPart, PathBuf, TlsFault) {
    match bind(files.clone()).await {
        Err(TlsError::File { part, file, fault }) => (part, file, fault),
        other => panic!("{other:?}"),
    }
}

fn member(ca: &Pem, validity: Validity) -> Pem {
    certs::member(ca, CLUSTER, "m", validity).unwrap()
}

/// A day, as the beginning of an RFC 3339 stamp.
fn day(from_today: i64) -> String {
    let day = time::OffsetDateTime::now_utc() + time::Duration::days(from_today);
    format!("{:04}-{:02}-{:02}T", day.year(), u8::from(day.month()), day.day())
}

/// A member's certificate with these extended key usages.
fn for_uses(ca: &Pem, uses: &[rcgen::ExtendedKeyUsagePurpose]) -> Pem {
    let ca_key = rcgen::KeyPair::from_pem(&ca.key).unwrap();
    let issuer = rcgen::Issuer::from_ca_cert_pem(&ca.cert, ca_key).unwrap();
    let mut params = rcgen::CertificateParams::new(vec![gms_quic::certificate_name(CLUSTER)]).unwrap();
    params.extended_key_usages = uses.to_vec();
    let key = rcgen::KeyPair::generate().unwrap();
    Pem { cert: params.signed_by(&key, &issuer).unwrap().pem(), key: key.serialize_pem() }
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn dates_and_signers_of_ones_own_certificate_are_looked_at() {
    let (dir, ca) = (tempfile::tempdir().unwrap(), authority());
    // Two days, one of which is the day if midnight passes meanwhile.
    let days = [day(-1), day(0)];
    let files = write(dir.path(), &member(&ca, Validity::ended(DAY, DAY)), &ca);
    let (part, file, fault) = wrong(&files).await;
    assert_eq!((part, &file), (TlsPart::Cert, &files.cert));
    assert!(
        matches!(&fault, TlsFault::Expired { at } if days.iter().any(|day| at.starts_with(day))),
        "{fault}"
    );
    let days = [day(1), day(2)];
    let files = write(dir.path(), &member(&ca, Validity::begins_in(DAY, DAY)), &ca);
    let (_, _, fault) = wrong(&files).await;
    assert!(
        matches!(&fault, TlsFault::NotYetValid { at } if days.iter().any(|day| at.starts_with(day))),
        "{fault}"
    );
    let files = write(dir.path(), &member(&ca, valid()), &authority());
    let fault = TlsFault::OtherAuthority { ca: files.ca.clone() };
    assert_eq!(wrong(&files).await, (TlsPart::Cert, files.cert, fault));
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn a_ca_counts_in_its_time_only() {
    let dir = tempfile::tempdir().unwrap();
    let ca = |validity| certs::authority("CA of a test", validity).unwrap();
    let days = [day(-1), day(0)];
    let (expired, early) = (ca(Validity::ended(DAY, DAY)), ca(Validity::begins_in(DAY, DAY)));
    let files = write(dir.path(), &member(&expired, valid()), &expired);
    let (part, file, fault) = wrong(&files).await;
    assert_eq!((part, &file), (TlsPart::Ca, &files.ca));
    assert!(
        matches!(&fault, TlsFault::Expired { at } if days.iter().any(|day| at.starts_with(day))),
        "{fault}"
    );
    let (part, _, fault) = wrong(&write(dir.path(), &member(&early, valid()), &early)).await;
    assert!(part == TlsPart::Ca && matches!(fault, TlsFault::NotYetValid { .. }), "{fault}");

    // One of several is enough, and signs alone.
    let good = authority();
    let several = Pem { cert: format!("{}{}", expired.cert, good.cert), key: String::new() };
    assert!(bind(write(dir.path(), &member(&good, valid()), &several)).await.is_ok());
    let files = write(dir.path(), &member(&expired, valid()), &several);
    let fault = TlsFault::OtherAuthority { ca: files.ca.clone() };
    assert_eq!(wrong(&files).await, (TlsPart::Cert, files.cert, fault));
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn a_missing_use_is_named() {
    let (dir, ca) = (tempfile::tempdir().unwrap(), authority());
    for (uses, missing) in [
        (&[ServerAuth][..], "clientAuth"),
        (&[ClientAuth], "serverAuth"),
        (&[rcgen::ExtendedKeyUsagePurpose::CodeSigning], "serverAuth and clientAuth"),
    ] {
        let files = write(dir.path(), &for_uses(&ca, uses), &ca);
        assert_eq!(wrong(&files).await, (TlsPart::Cert, files.cert, TlsFault::MissingUse(missing)));
    }
    // None named: all are meant.
    for uses in [&[][..], &[ServerAuth, ClientAuth]] {
        assert!(bind(write(dir.path(), &for_uses(&ca, uses), &ca)).await.is_ok());
    }
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn the_file_that_is_wrong_is_named_with_what_is_wrong() {
    let (dir, ca) = (tempfile::tempdir().unwrap(), authority());
    let own = member(&ca, valid());
    let good = write(dir.path(), &own, &ca);
    let other = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let is = |path: PathBuf, part: TlsPart| match part {
        TlsPart::Cert => TlsFiles { cert: path, ..good.clone() },
        TlsPart::Key => TlsFiles { key: path, ..good.clone() },
        TlsPart::Ca => TlsFiles { ca: path, ..good.clone() },
    };
    let cut: String = own.cert.lines().take(3).map(|line| format!("{line}\n")).collect();
    let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (file, faults) in [
        (dir.path().join("nowhere"), ["there is no such file"; 3]),
        (dir.path().to_owned(), ["it is a folder"; 3]),
        (other("empty", ""), ["no certificate in PEM", "no private key in PEM", "no certificate in PEM"]),
        (other("cut", &cut), ["a section has no end"; 3]),
    ] {
        for (part, expected) in [TlsPart::Cert, TlsPart::Key, TlsPart::Ca].into_iter().zip(faults) {
            let (culprit, path, fault) = wrong(&is(file.clone(), part)).await;
            assert_eq!((culprit, path.as_path()), (part, file.as_path()), "{fault}");
            assert!(fault.to_string().contains(expected), "{fault}");
        }
    }
    for part in [TlsPart::Cert, TlsPart::Ca] {
        let (culprit, _, fault) = wrong(&is(other("odd", no_certificate), part)).await;
        assert!(culprit == part && matches!(fault, TlsFault::Damaged(_)), "{fault}");
    }
    assert_eq!(
        wrong(&is(good.ca.clone(), TlsPart::Cert)).await,
        (TlsPart::Cert, good.ca.clone(), TlsFault::IsAuthority)
    );
    let (culprit, path, fault) = wrong(&is(good.cert.clone(), TlsPart::Ca)).await;
    assert_eq!((culprit, path, fault), (TlsPart::Ca, good.cert.clone(), TlsFault::NoAuthority));
    let locked =
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END EC PRIVATE KEY-----\n";
    let (_, _, fault) = wrong(&is(other("locked", locked), TlsPart::Key)).await;
    assert_eq!(fault, TlsFault::NoKey);
    let fault = TlsFault::KeyMismatch { cert: good.cert.clone() };
    let key = other("other.key", &member(&ca, valid()).key);
    assert_eq!(wrong(&is(key.clone(), TlsPart::Key)).await, (TlsPart::Key, key, fault));
    let said = bind(is(Path::new("gone.pem").into(), TlsPart::Ca)).await.unwrap_err().to_string();
    let expected =
        "CA file gone.pem: can't be read (there is no such file): name a PEM file that this process may read";
    assert_eq!(said, expected);
}
