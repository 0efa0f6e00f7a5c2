//! Who is let in.

mod support;

use std::time::Duration;

use gms_core::input::{Misfit, SendFailure};
use gms_core::transport::{ProbeReply, Transport};
use gms_quic::{QuicTransport, TlsError, TlsFault, TlsPart, certs};
use support::*;

/// Shows that neither side gets anything to the other.
async fn are_strangers(one: &QuicTransport, two: &QuicTransport) {
    for (from, at) in [(one, two), (two, one)] {
        let failure = in_time(from.send_frame(to(at), "let me in".into(), LONG)).await;
        assert!(matches!(failure, Err(SendFailure::Misfit(_))), "{failure:?}");
        let reply = in_time(from.probe(addr(at), "who?".into(), LONG)).await;
        assert!(matches!(reply, ProbeReply::Garbage | ProbeReply::Reset), "{reply:?}");
        let mut arrived = Vec::new();
        let early = tokio::time::timeout(Duration::ZERO, at.receive(&mut arrived)).await;
        assert!(early.is_err() && arrived.is_empty(), "{arrived:?}");
    }
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn members_of_one_ca_and_one_cluster_talk() {
    let (dir, ca) = (tempfile::tempdir().unwrap(), authority());
    let one = open_certified(dir.path(), &ca, CLUSTER, CLUSTER).await;
    let two = open_certified(dir.path(), &ca, CLUSTER, CLUSTER).await;
    works_with(&one, &two).await;
    works_with(&two, &one).await;
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn members_over_udp_and_over_quic_tell_each_other_so() {
    let quic = open().await;
    let udp = gms_udp::UdpTransport::bind("127.0.0.1:0").await.unwrap();
    let misfit = Err(SendFailure::Misfit(Misfit::Transport));
    let told = in_time(quic.send_frame(to(&udp), "let me in".into(), LONG)).await;
    assert_eq!(told, misfit);
    let reply = in_time(quic.probe(addr(&udp), "who?".into(), LONG)).await;
    assert_eq!(reply, ProbeReply::Garbage, "somebody is there");
    let told = async {
        loop {
            udp.send(&mut vec![datagram(addr(&quic), vec![1; 264])]).await.unwrap();
            let failure = udp.send_frame(to(&quic), "let me in".into(), LONG).await;
            if failure != Err(SendFailure::Refused) {
                return failure;
            }
        }
    };
    assert_eq!(in_time(told).await, misfit);
    works(&quic).await;
    let mut arrived = Vec::new();
    let early = tokio::time::timeout(Duration::ZERO, udp.receive(&mut arrived)).await;
    assert!(early.is_err() && arrived.is_empty(), "{arrived:?}");
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn clusters_of_other_names_do_not_meet() {
    let one = open().await;
    let two = QuicTransport::bind("billing", "127.0.0.1:0").await.unwrap();
    are_strangers(&one, &two).await;
    works(&one).await;
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn a_shared_ca_lets_no_certificate_of_another_cluster_in() {
    let (dir, ca) = (tempfile::tempdir().unwrap(), authority());
    let one = open_certified(dir.path(), &ca, CLUSTER, CLUSTER).await;
    // It claims to be of this cluster, with a certificate for another; its own look at it would refuse to start.
    let billing = certs::member(&ca, "billing", "m", valid()).unwrap();
    let files = write(dir.path(), &billing, &ca);
    let name = gms_quic::certificate_name(CLUSTER);
    let error = bind(files.clone()).await.unwrap_err();
    let (part, file) = (TlsPart::Cert, files.cert.clone());
    assert_eq!(error, TlsError::File { part, file, fault: TlsFault::OtherName { name } });
    let two = open_certified(dir.path(), &ca, "billing", "billing").await;
    are_strangers(&one, &two).await;
    let forged = raw_client(Some(&files), &ca.cert);
    let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let server = gms_quic::certificate_name(CLUSTER);
    let connected = endpoint.connect_with(forged, addr(&one), &server).unwrap().await;
    // TLS 1.3 lets the client finish first; the server's refusal follows.
    let refused = match connected {
        Ok(connection) => in_time(connection.closed()).await,
        Err(error) => error,
    };
    assert!(matches!(refused, quinn::ConnectionError::ConnectionClosed(_)), "{refused}");
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn without_a_certificate_nobody_joins_those_who_have_them() {
    let (dir, ca) = (tempfile::tempdir().unwrap(), authority());
    let one = open_certified(dir.path(), &ca, CLUSTER, CLUSTER).await;
    are_strangers(&one, &open().await).await;
    let other = authority();
    let two = open_certified(dir.path(), &other, CLUSTER, CLUSTER).await;
    are_strangers(&one, &two).await;
    works_with(&open_certified(dir.path(), &ca, CLUSTER, CLUSTER).await, &one).await;
}

//= docs/protocol.md#wr-6
#[tokio::test]
async fn certificates_are_replaced_without_breaking_a_connection() {
    let (dir, other_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (ca, next_ca) = (authority(), authority());
    let one = open_certified(dir.path(), &ca, CLUSTER, CLUSTER).await;
    let two = open_certified(other_dir.path(), &ca, CLUSTER, CLUSTER).await;
    works_with(&one, &two).await;
    let connections = two.stats().connections_accepted;
    let bad = certs::member(&next_ca, CLUSTER, "m", valid()).unwrap();
    let files = write(dir.path(), &bad, &ca);
    let (part, fault) = (TlsPart::Cert, TlsFault::OtherAuthority { ca: files.ca });
    assert_eq!(one.certificates().reload(), Err(TlsError::File { part, file: files.cert, fault }));
    write(dir.path(), &bad, &next_ca);
    assert_eq!(one.certificates().reload(), Ok(()));
    in_time(one.send_frame(to(&two), "still here".into(), LONG)).await.unwrap();
    until(&two, |i| bytes(i) == "still here").await;
    assert_eq!(two.stats().connections_accepted, connections, "over the connection that was there");
    let third = open_certified(other_dir.path(), &next_ca, CLUSTER, CLUSTER).await;
    works_with(&third, &one).await;
    let fourth = open_certified(other_dir.path(), &ca, CLUSTER, CLUSTER).await;
    are_strangers(&one, &fourth).await;
}
