//! How connections that are kept come about: made by this side, or taken in.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use gms_core::input::SendFailure;
use gms_core::member::canonical;
use gms_core::transport::Incoming;
use gms_net::admission::Verdict;
use quinn::crypto::rustls::HandshakeData;
use quinn::{Connection, ConnectionError, Endpoint, RecvStream, SendStream};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::end::{self, CloseCode, LinkEnd};
use crate::handshakes::Asked;
use crate::limits::CHECK_BYTES_MAX;
use crate::link::{self, Link};
use crate::peers::Dial;
use crate::report;
use crate::shared::Shared;

/// Makes a connection to `to` and serves it until it is over; none where the other side was faster.
pub(crate) async fn dial(shared: Arc<Shared>, to: SocketAddr, attempt: Arc<Dial>) {
    // In a new view everybody has something for everybody at the same time. The side with the lower address dials for both.
    if shared.own.is_some_and(|own| own > to) {
        let _ = timeout(shared.limits.dial_wait, attempt.hurry.notified()).await;
        if !shared.is_dialling(to, &attempt) {
            return;
        }
    }
    let made = async {
        let connecting = shared.connect(to, shared.tls().link.clone())?;
        let let_in = async {
            let connection = connecting.await?;
            link::hear_welcome(&connection).await?;
            Ok(connection)
        };
        tokio::select! {
            made = timeout(shared.limits.connect, let_in) => match made {
                Ok(made) => made.map_err(|error| {
                    report::failed(&shared, to, &error);
                    end::dial_failure(&error)
                }),
                Err(_) => Err(SendFailure::TimedOut),
            },
            () = attempt.refused.notified() => Err(SendFailure::Refused),
        }
    };
    match made.await {
        Ok(connection) => {
            let link = Link::new(shared.draw_serial(), connection, true, Arc::default());
            serve(&shared, Arc::new(link)).await;
        }
        Err(failure) => {
            tracing::trace!(%to, %failure, "no connection was made");
            shared.dial_failed(to, failure);
        }
    }
}

async fn serve(shared: &Arc<Shared>, link: Arc<Link>) {
    shared.link(&link);
    let error = link::read(shared, &link).await;
    tracing::trace!(peer = %link.peer, %error, "a connection ended");
    shared.unlink(&link);
    link.set_end(LinkEnd::of(&error));
}

/// Takes in connections until the endpoint is closed.
//= docs/protocol.md#wr-4
pub(crate) async fn accept(shared: Arc<Shared>, endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        let ip = canonical(incoming.remote_address()).ip();
        let asked = shared.gate().handshakes.ask(&ip, incoming.remote_address_validated());
        match asked {
            Asked::LetIn => {}
            Asked::ShowYourself => {
                // Whoever forged the address never hears of it.
                let _ = incoming.retry();
                continue;
            }
            Asked::Ignored => {
                shared.counters.connections_cut.add(1);
                incoming.ignore();
                continue;
            }
        }
        let serial = shared.draw_serial();
        let key = usize::try_from(serial).unwrap_or(usize::MAX);
        let cut = Arc::new(Notify::new());
        let is_let_in = {
            let mut gate = shared.gate();
            let verdict = gate.admission.ask(ip);
            if let Verdict::Replace(oldest) = verdict
                && let Some(cut) = gate.cuts.get(&(oldest as u64))
            {
                // One permit is enough, however often it is told before it has made room.
                cut.notify_one();
            }
            let is_let_in = verdict != Verdict::Refuse;
            if is_let_in {
                gate.admission.enter(ip, key);
                gate.cuts.insert(serial, Arc::clone(&cut));
                gate.handshakes.begin(ip);
            }
            is_let_in
        };
        if !is_let_in {
            shared.counters.connections_cut.add(1);
            incoming.refuse();
            continue;
        }
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            take_in(&shared, incoming, serial, &cut).await;
            let mut gate = shared.gate();
            gate.cuts.remove(&serial);
            gate.admission.leave(ip, key);
        });
    }
}

async fn take_in(shared: &Arc<Shared>, incoming: quinn::Incoming, serial: u64, cut: &Arc<Notify>) {
    let from = canonical(incoming.remote_address());
    let handshake = async {
        let connecting = incoming.accept()?;
        timeout(shared.limits.connect, connecting).await.unwrap_or(Err(ConnectionError::TimedOut))
    };
    let made = tokio::select! {
        made = handshake => made,
        () = cut.notified() => Err(ConnectionError::LocallyClosed),
    };
    shared.gate().handshakes.end(&from.ip());
    let connection = match made {
        Ok(connection) => connection,
        Err(error) => {
            shared.counters.connections_cut.add(1);
            report::failed(shared, from, &error);
            return;
        }
    };
    shared.counters.connections_accepted.add(1);
    if is_check(&connection) {
        tokio::select! {
            () = serve_check(shared, &connection) => {}
            () = cut.notified() => shared.counters.connections_cut.add(1),
        }
        connection.close(CloseCode::Finished.code(), b"");
    } else {
        link::say_welcome(&connection).await;
        let link = Link::new(serial, connection, false, Arc::clone(cut));
        serve(shared, Arc::new(link)).await;
    }
}

fn is_check(connection: &Connection) -> bool {
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    data.and_then(|data| data.protocol)
        .is_some_and(|protocol| protocol.starts_with(crate::naming::CHECK.as_bytes()))
}

/// Hands a check to the reader and passes the answer on, which nobody else gives.
//= docs/protocol.md#fd-22
//= docs/protocol.md#wr-6
async fn serve_check(shared: &Arc<Shared>, connection: &Connection) {
    let words = async {
        let (answer, mut question) = connection.accept_bi().await.ok()?;
        let bytes = question.read_to_end(CHECK_BYTES_MAX).await.ok()?;
        (!bytes.is_empty()).then_some((answer, question, Bytes::from(bytes)))
    };
    let Ok(Some((stream, _question, bytes))) = timeout(shared.limits.first_words, words).await else {
        shared.counters.frames_dropped.add(1);
        shared.counters.connections_cut.add(1);
        return;
    };
    shared.room_for_check().await;
    let (handle, answer) = shared.ask();
    let from = canonical(connection.remote_address());
    shared.inbox.deliver(&mut vec![Incoming::Check { from, handle, bytes }], false);
    let answered = tokio::select! {
        answered = timeout(shared.limits.unanswered_check, answer) => answered,
        _ = connection.closed() => {
            shared.take_check(handle);
            return;
        }
    };
    match answered {
        Ok(Ok(answer)) => {
            let said = timeout(shared.limits.first_words, say(stream, connection, &answer)).await;
            if said.is_err() {
                shared.counters.connections_cut.add(1);
            }
        }
        Ok(Err(_)) => {}
        Err(_) => {
            shared.take_check(handle);
            shared.counters.connections_cut.add(1);
        }
    }
}

/// Says the answer, and waits until the other side has it and goes.
async fn say(mut stream: SendStream, connection: &Connection, answer: &[u8]) {
    if stream.write_all(answer).await.is_ok() && stream.finish().is_ok() {
        connection.closed().await;
    }
}

/// Asks on a fresh connection.
pub(crate) async fn ask(
    connection: &Connection,
    question: &[u8],
) -> Result<(RecvStream, SendStream), ConnectionError> {
    let (mut stream, answer) = connection.open_bi().await?;
    let lost = |connection: &Connection| connection.close_reason().unwrap_or(ConnectionError::Reset);
    stream.write_all(question).await.map_err(|_| lost(connection))?;
    stream.finish().map_err(|_| lost(connection))?;
    Ok((answer, stream))
}
