//! Checks: each on a connection of its own, over a socket of its own.
//!
//! docs/decisions/0022-checks-over-quic.md says why neither a stream nor the shared socket would do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gms_core::transport::ProbeReply;
use gms_net::fault::Fault;
use quinn::{ConnectionError, Endpoint, EndpointConfig, ReadToEndError, TokioRuntime};
use tokio::time::timeout;

use crate::dial;
use crate::end::{self, CloseCode};
use crate::limits::CHECK_BYTES_MAX;
use crate::report;
use crate::shared::Shared;
use crate::socket::CheckSocket;
use crate::tls::Tls;

/// Asks whoever listens at `to`. Must run within the transport's runtime.
pub(crate) async fn probe(
    shared: Arc<Shared>,
    to: SocketAddr,
    question: Bytes,
    deadline: Duration,
) -> ProbeReply {
    let socket = match CheckSocket::connect(to) {
        Ok(socket) => socket,
        Err(error) => return fault_reply(Fault::of(&error), false),
    };
    let socket = Arc::new(socket);
    let tls = shared.tls();
    let Ok(endpoint) = open(Arc::clone(&socket)) else { return ProbeReply::LocalFault };
    let fault = socket.told();
    let asked = timeout(deadline, ask(&shared, &endpoint, &tls, to, &question, fault)).await;
    asked.unwrap_or(ProbeReply::TimedOut)
}

fn open(socket: Arc<CheckSocket>) -> std::io::Result<Endpoint> {
    let mut config = EndpointConfig::default();
    config.grease_quic_bit(false);
    Endpoint::new_with_abstract_socket(config, None, socket, Arc::new(TokioRuntime))
}

async fn ask(
    shared: &Shared,
    endpoint: &Endpoint,
    tls: &Tls,
    to: SocketAddr,
    question: &[u8],
    fault: impl Future<Output = Fault>,
) -> ProbeReply {
    tokio::pin!(fault);
    let Ok(connecting) = endpoint.connect_with(tls.check.clone(), to, &tls.name) else {
        return ProbeReply::LocalFault;
    };
    let connection = tokio::select! {
        connected = connecting => match connected {
            Ok(connection) => connection,
            Err(error) => {
                report::failed(shared, to, &error);
                return end::probe_reply(&error);
            }
        },
        fault = &mut fault => return fault_reply(fault, true),
    };
    let reply = tokio::select! {
        reply = answer(&connection, question) => reply,
        fault = &mut fault => fault_reply(fault, false),
    };
    connection.close(CloseCode::Finished.code(), b"");
    reply
}

async fn answer(connection: &quinn::Connection, question: &[u8]) -> ProbeReply {
    let lost = || connection.close_reason().unwrap_or(ConnectionError::Reset);
    let (mut stream, _question) = match dial::ask(connection, question).await {
        Ok(streams) => streams,
        Err(error) => return end::probe_reply(&error),
    };
    match stream.read_to_end(CHECK_BYTES_MAX).await {
        Ok(bytes) if bytes.is_empty() => ProbeReply::Reset,
        Ok(bytes) => ProbeReply::Answer(bytes.into()),
        Err(ReadToEndError::TooLong) => ProbeReply::Garbage,
        Err(ReadToEndError::Read(_)) => end::probe_reply(&lost()),
    }
}

/// What an error of the socket means, before somebody answered or after.
//= docs/protocol.md#fd-21
fn fault_reply(fault: Fault, connecting: bool) -> ProbeReply {
    match fault {
        Fault::Refused if connecting => ProbeReply::Refused,
        Fault::Refused | Fault::Broken => ProbeReply::Reset,
        Fault::TimedOut => ProbeReply::TimedOut,
        Fault::Unreachable => ProbeReply::Unreachable,
        Fault::Local => ProbeReply::LocalFault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= docs/protocol.md#fd-21
    #[test]
    fn a_refusal_counts_only_before_somebody_answered() {
        assert_eq!(fault_reply(Fault::Refused, true), ProbeReply::Refused);
        assert_eq!(fault_reply(Fault::Refused, false), ProbeReply::Reset);
        assert_eq!(fault_reply(Fault::Local, true), ProbeReply::LocalFault);
        assert_eq!(fault_reply(Fault::Unreachable, true), ProbeReply::Unreachable);
    }
}
