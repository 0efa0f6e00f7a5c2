//! What carries the messages: opened as the flags say, handed to the member, given new certificates at SIGHUP.

use gms_core::runtime::{Builder, EventStream, Gms, StartError};
use gms_quic::{BindError, Certificates, Identity, QuicTransport, TlsError, TlsFiles, TlsPart};
use gms_udp::UdpTransport;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{QuicWatch, RunArgs, TransportName};
use crate::exit::Failure;

/// A transport that is open.
pub(super) enum Opened {
    /// Plain UDP and TCP.
    Udp(UdpTransport),
    /// QUIC.
    Quic(QuicTransport),
}

impl Opened {
    /// Opens what the flags name.
    pub(super) async fn open(args: &RunArgs) -> Result<Self, Failure> {
        let bind = args.bind.to_string();
        match args.transport {
            TransportName::Udp => {
                UdpTransport::bind(&bind).await.map(Self::Udp).map_err(|error| fault("--bind", &error))
            }
            TransportName::Quic => {
                let mut builder = QuicTransport::builder(&args.cluster)
                    .identity(identity(args))
                    .tcp_watch(args.quic.quic_watch == QuicWatch::Tcp);
                if let Some(timeout) = super::settings::member_timeout(args) {
                    builder = builder.member_timeout(timeout);
                }
                match builder.bind(&bind).await {
                    Ok(transport) => {
                        reload_at_hangup(args, transport.certificates())?;
                        Ok(Self::Quic(transport))
                    }
                    Err(BindError::Tls(error)) => Err(Failure::usage(unfit(&error))),
                    Err(error) => Err(fault("--bind", &error)),
                }
            }
        }
    }

    /// Starts the member over it.
    pub(super) async fn start(self, builder: Builder) -> Result<(Gms, EventStream), StartError> {
        match self {
            Self::Udp(transport) => builder.start(transport).await,
            Self::Quic(transport) => builder.start(transport).await,
        }
    }
}

fn fault(flag: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::fault(format!("{flag}: {error}"))
}

/// What is wrong with certificates, under the name of the flag that named the culprit.
fn unfit(error: &TlsError) -> String {
    let TlsError::File { part, file, fault } = error else { return error.to_string() };
    let flag = match part {
        TlsPart::Cert => "--tls-cert",
        TlsPart::Key => "--tls-key",
        TlsPart::Ca => "--tls-ca",
    };
    format!("{flag} {}: {fault}", file.display())
}

fn identity(args: &RunArgs) -> Identity {
    match (&args.quic.tls_cert, &args.quic.tls_key, &args.quic.tls_ca) {
        (Some(cert), Some(key), Some(ca)) => {
            Identity::Files(TlsFiles { cert: cert.clone(), key: key.clone(), ca: ca.clone() })
        }
        _ => Identity::SelfSigned,
    }
}

/// Reads the certificates again at each SIGHUP. Without certificates the signal does what it does to any program.
fn reload_at_hangup(args: &RunArgs, certificates: Certificates) -> Result<(), Failure> {
    if args.quic.tls_cert.is_none() {
        return Ok(());
    }
    let mut hangup = signal(SignalKind::hangup()).map_err(|error| {
        Failure::fault(format!("signals can't be caught ({error}): raise the limits of this process"))
    })?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match certificates.reload() {
                Ok(()) => {
                    tracing::info!("certificates were read again; connections made from here on use them")
                }
                Err(error) => tracing::error!(%error, "the certificates in use stay"),
            }
        }
    });
    Ok(())
}
