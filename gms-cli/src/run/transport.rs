//! What carries the messages: opened as the flags say, handed to the member, given new certificates at SIGHUP.

use gms_core::runtime::{Builder, EventStream, Gms, StartError};
use gms_quic::{BindError, Certificates, Identity, QuicTransport, TlsError, TlsFiles, TlsPart};
use gms_udp::UdpTransport;
use tokio::signal::unix::Signal;

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
    pub(super) async fn open(args: &RunArgs, hangup: Signal) -> Result<Self, Failure> {
        let bind = args.bind.to_string();
        match args.transport {
            TransportName::Udp => {
                let bound = UdpTransport::bind(&bind).await.map_err(|error| fault("--bind", &error))?;
                reload_at(hangup, None);
                Ok(Self::Udp(bound))
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
                        let is_closed = args.quic.tls_cert.is_some();
                        reload_at(hangup, is_closed.then(|| transport.certificates()));
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

/// Reads the certificates again at each SIGHUP, or says that there are none.
fn reload_at(mut hangup: Signal, certificates: Option<Certificates>) {
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let Some(certificates) = certificates.clone() else {
                tracing::info!("SIGHUP: there are no certificates to read again; the member goes on");
                continue;
            };
            match off_the_runtime(move || certificates.reload()).await {
                None => tracing::error!("reading certificates broke off; those in use stay"),
                Some(Ok(())) => {
                    tracing::info!("certificates were read again; connections made from here on use them")
                }
                Some(Err(error)) => tracing::error!("{}; the certificates in use stay", unfit(&error)),
            }
        }
    });
}

/// What `read` gives, while all else goes on: a file system that hangs must not keep the member from its signals.
pub(super) async fn off_the_runtime<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(read).await.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn files_that_hang_hold_nothing_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (free, hang) = mpsc::channel();
        let read = runtime.block_on(async {
            let reading = off_the_runtime(move || hang.recv_timeout(Duration::from_secs(60)));
            let other = async { free.send(()).unwrap() };
            tokio::join!(reading, other).0
        });
        assert_eq!(read, Some(Ok(())));
    }
}
