//! Connections that this side makes: for frames, for one question, or only to be held.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use gms_core::Timestamp;
use gms_core::input::WatchEnd;
use gms_core::transport::ProbeReply;
use mio::net::TcpStream;
use tokio::sync::oneshot;

use super::Streams;
use crate::connection::Connection;
use crate::end::End;
use crate::limits::{CHECK_BYTES_MAX, OUTGOING_MAX};
use crate::outbox::Queued;
use crate::role::Role;
use crate::socket;

impl Streams {
    pub(super) fn start_probe(
        &mut self,
        now: Timestamp,
        id: u64,
        to: SocketAddr,
        question: Bytes,
        deadline: Timestamp,
        done: oneshot::Sender<ProbeReply>,
    ) {
        let question = Queued::new(question, CHECK_BYTES_MAX, Timestamp::FAR_FUTURE, None);
        let dialled = self.dial(now, to, Role::Probe { id, done: None }, deadline);
        // Nobody may wait any more: sending to them is allowed to fail.
        let (Some(question), Ok(&serial)) = (question, dialled.as_ref()) else {
            let end = dialled.err().unwrap_or(End::Finished);
            let _ = done.send(end.probe_reply(true));
            return;
        };
        self.waited_for.insert(id, serial);
        if let Some(connection) = self.connections.get_mut(&serial) {
            connection.role = Role::Probe { id, done: Some(done) };
            // An empty queue takes any frame.
            let _ = connection.outbox.push(question, &self.shared.limits);
        }
        self.arm(serial);
    }

    //= docs/protocol.md#fd-29
    pub(super) fn start_watch(
        &mut self,
        now: Timestamp,
        id: u64,
        to: SocketAddr,
        done: oneshot::Sender<WatchEnd>,
    ) {
        let due = now + self.shared.limits.connect;
        match self.dial(now, to, Role::Watch { id, done: None }, due) {
            Ok(serial) => {
                self.waited_for.insert(id, serial);
                if let Some(connection) = self.connections.get_mut(&serial) {
                    connection.role = Role::Watch { id, done: Some(done) };
                }
            }
            Err(end) => {
                // Whoever asked may have stopped waiting.
                let _ = done.send(end.watch_end(true));
            }
        }
    }

    pub(super) fn dial(
        &mut self,
        now: Timestamp,
        to: SocketAddr,
        role: Role,
        due: Timestamp,
    ) -> Result<usize, End> {
        if self.outgoing >= OUTGOING_MAX {
            return Err(End::Failed(io::Error::other("too many connections of our own")));
        }
        let stream = TcpStream::connect(to).map_err(End::Failed)?;
        socket::set_prompt(&stream);
        if matches!(role, Role::Frames) {
            socket::bound_silence(&stream);
        }
        let serial = self.draw_serial();
        self.insert(serial, Connection::dialled(serial, stream, to, role, now, due)).map_err(End::Failed)?;
        self.outgoing += 1;
        Ok(serial)
    }
}
