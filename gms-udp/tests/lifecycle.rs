//! Opening and closing.

mod support;

use std::sync::Arc;

use gms_core::input::SendFailure;
use gms_core::member::Endpoint;
use gms_core::output::Destination;
use gms_core::transport::{ProbeReply, Transport, TransportError};
use gms_udp::{BindError, Protocol, UdpTransport};
use support::*;

#[tokio::test]
async fn one_port_number_serves_both_protocols() {
    let transport = open().await;
    let endpoint = transport.endpoint();
    assert_eq!(endpoint.addr, endpoint.check_addr);
    assert_ne!(endpoint.addr.port(), 0);
    assert_eq!(transport.name(), "udp");
    works(&transport).await;
}

#[tokio::test]
async fn the_advertised_endpoint_is_shown_instead_of_the_bound_one() {
    let advertised = Endpoint::single("192.0.2.1:7790".parse().unwrap());
    let transport = UdpTransport::builder().advertise(advertised).bind("127.0.0.1:0").await.unwrap();
    assert_eq!(transport.endpoint(), advertised);
}

#[tokio::test]
async fn a_port_in_use_is_named_with_its_protocol_and_what_to_do() {
    let first = open().await;
    let taken = addr(&first);
    let error = UdpTransport::bind(&taken.to_string()).await.unwrap_err();
    assert_eq!(error, BindError::InUse { addr: taken, protocol: Protocol::Udp });
    let expected = format!("address {taken} is in use over UDP: choose another port, or 0 for any");
    assert_eq!(error.to_string(), expected);

    let (_listener, taken) = raw_listener().await;
    let error = UdpTransport::bind(&taken.to_string()).await.unwrap_err();
    assert_eq!(error, BindError::InUse { addr: taken, protocol: Protocol::Tcp });
}

#[tokio::test]
async fn other_addresses_that_can_not_be_bound_are_explained() {
    for text in ["localhost:7790", "127.0.0.1", "7790", ""] {
        let error = UdpTransport::bind(text).await.unwrap_err();
        assert_eq!(error, BindError::Syntax(text.into()));
        assert!(error.to_string().contains("write IP:PORT"), "{error}");
    }
    let error = UdpTransport::bind("192.0.2.1:0").await.unwrap_err();
    assert_eq!(error, BindError::NotHere { addr: "192.0.2.1:0".parse().unwrap() });
}

#[tokio::test]
async fn closing_ends_every_pending_call_and_frees_the_port() {
    let transport = Arc::new(open().await);
    let endpoint = addr(&*transport);
    let (listener, raw_addr) = raw_listener().await;
    let receiving = {
        let transport = Arc::clone(&transport);
        tokio::spawn(async move { transport.receive(&mut Vec::new()).await })
    };
    let probing = {
        let transport = Arc::clone(&transport);
        tokio::spawn(async move { transport.probe(raw_addr, "who?".into(), LONG * 10).await })
    };
    let sending: Vec<_> = (0..4)
        .map(|_| {
            let transport = Arc::clone(&transport);
            let frame = vec![1; 4 << 20].into();
            tokio::spawn(async move {
                transport.send_frame(Destination::Address(raw_addr), frame, LONG * 10).await
            })
        })
        .collect();
    let _silent = [accept(&listener).await, accept(&listener).await];
    in_time(transport.close()).await;

    assert_eq!(in_time(receiving).await.unwrap(), Err(TransportError::Closed));
    assert_eq!(in_time(probing).await.unwrap(), ProbeReply::LocalFault);
    let mut fates = Vec::new();
    for task in sending {
        fates.push(in_time(task).await.unwrap());
    }
    assert_eq!(fates.last(), Some(&Err(SendFailure::NotQueued)), "{fates:?}");
    assert!(fates.iter().all(|f| *f != Err(SendFailure::TimedOut)), "{fates:?}");

    assert_eq!(transport.send(&mut vec![datagram(raw_addr, "x")]).await, Err(TransportError::Closed));
    let to = Destination::Address(raw_addr);
    assert_eq!(transport.send_frame(to, "x".into(), LONG).await, Err(SendFailure::NotQueued));
    assert_eq!(transport.probe(raw_addr, "x".into(), LONG).await, ProbeReply::LocalFault);
    assert_eq!(transport.receive(&mut Vec::new()).await, Err(TransportError::Closed));
    in_time(transport.close()).await;
    works(&UdpTransport::bind(&endpoint.to_string()).await.unwrap()).await;
}

#[tokio::test]
async fn dropping_frees_the_port_and_closes_connections() {
    let one = open().await;
    for _ in 0..20 {
        let transport = open().await;
        let endpoint = addr(&transport);
        in_time(one.send_frame(to(&transport), "x".into(), LONG)).await.unwrap();
        receive_one(&transport).await;
        drop(transport);
        let again = UdpTransport::bind(&endpoint.to_string()).await.unwrap();
        drop(again);
    }
}

#[tokio::test]
async fn an_address_that_becomes_free_within_a_moment_is_taken() {
    let first = UdpTransport::bind("127.0.0.1:0").await.unwrap();
    let addr = first.endpoint().addr.to_string();
    let (second, ()) = tokio::join!(UdpTransport::bind(&addr), first.close());
    assert_eq!(second.unwrap().endpoint().addr.to_string(), addr);
}
