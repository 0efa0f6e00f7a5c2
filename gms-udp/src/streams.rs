//! The table of connections: which frame goes where, which connection is driven next, what follows when one ends.

mod dial;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use gms_core::Timestamp;
use gms_core::input::SendFailure;
use gms_core::member::canonical;
use gms_core::output::Destination;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use crate::admission::{Admission, Verdict};
use crate::connection::{Connection, Progress, Turn};
use crate::end::End;
use crate::limits::CHECK_BYTES_MAX;
use crate::outbox::Queued;
use crate::role::{CheckStage, Role};
use crate::shared::{Command, Shared};
use crate::socket;

/// All connections, by serial number. A number is never used twice, so a handle or an event of a connection that is
/// gone reaches no other.
#[derive(Debug)]
pub(crate) struct Streams {
    registry: Registry,
    shared: Arc<Shared>,
    connections: BTreeMap<usize, Connection>,
    /// Connections for frames made by this side, by the address dialled.
    pool: BTreeMap<SocketAddr, usize>,
    /// Connections of probes and watches, by the number under which somebody waits for their end.
    waited_for: BTreeMap<u64, usize>,
    outgoing: usize,
    admission: Admission,
    /// At most one entry for each connection, never later than its deadline.
    timers: BTreeSet<(Timestamp, usize)>,
    ready: VecDeque<usize>,
    held: Vec<usize>,
    next_serial: usize,
}

impl Streams {
    /// An empty table; serial numbers, which are also the tokens of events, start at `first_serial`.
    pub(crate) fn new(registry: Registry, shared: Arc<Shared>, first_serial: usize) -> Self {
        let limits = &shared.limits;
        let admission = Admission::new(socket::incoming_max(limits.incoming), limits.incoming_per_source);
        Self {
            registry,
            shared,
            connections: BTreeMap::new(),
            pool: BTreeMap::new(),
            waited_for: BTreeMap::new(),
            outgoing: 0,
            admission,
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            held: Vec::new(),
            next_serial: first_serial,
        }
    }

    /// Does what a caller asked for.
    pub(crate) fn handle_command(&mut self, now: Timestamp, command: Command) {
        match command {
            Command::SendFrame { to: Destination::Address(addr), frame } => {
                self.send_frame(now, canonical(addr), frame);
            }
            Command::SendFrame { to: Destination::Reply(handle), frame } => {
                let serial = usize::try_from(handle.0).unwrap_or(usize::MAX);
                self.queue_frame(serial, frame);
            }
            Command::StartProbe { id, address, question, deadline, done } => {
                if !done.is_closed() {
                    self.start_probe(now, id, canonical(address), question, deadline, done);
                }
            }
            Command::StartWatch { id, address, done } => {
                if !done.is_closed() {
                    self.start_watch(now, id, canonical(address), done);
                }
            }
            Command::Stop { id } => {
                if let Some(serial) = self.waited_for.get(&id) {
                    self.finish(now, *serial, End::Finished);
                }
            }
            Command::AnswerCheck { handle, answer } => {
                self.answer_check(now, usize::try_from(handle.0).unwrap_or(usize::MAX), answer);
            }
        }
    }

    /// Takes in a connection that was accepted, or closes it.
    pub(crate) fn handle_accepted(&mut self, now: Timestamp, stream: TcpStream, peer: SocketAddr) {
        self.shared.counters.connections_accepted.add(1);
        let peer = canonical(peer);
        match self.admission.ask(peer.ip()) {
            Verdict::Admit => {}
            Verdict::Replace(serial) => self.finish(now, serial, End::Displaced),
            Verdict::Refuse => {
                self.shared.counters.connections_cut.add(1);
                return;
            }
        }
        socket::set_prompt(&stream);
        socket::bound_silence(&stream);
        let due = now + self.shared.limits.first_words;
        let serial = self.draw_serial();
        if self.insert(serial, Connection::accepted(serial, stream, peer, now, due)).is_ok() {
            self.admission.enter(peer.ip(), serial);
        }
    }

    /// Something happened on a connection.
    pub(crate) fn mark_ready(&mut self, serial: usize) {
        if let Some(connection) = self.connections.get_mut(&serial)
            && !connection.queued
        {
            connection.queued = true;
            self.ready.push_back(serial);
        }
    }

    /// Drives what is ready, as far as the turn's budget goes.
    pub(crate) fn drive_ready(&mut self, turn: &mut Turn) {
        for _ in 0..self.ready.len() {
            if turn.budget == 0 {
                break;
            }
            if let Some(serial) = self.ready.pop_front() {
                self.drive(serial, turn);
            }
        }
    }

    /// Ends or moves on what is late at `now`.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        while let Some(&(at, serial)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            let Some(connection) = self.connections.get_mut(&serial) else { continue };
            connection.timer = None;
            match connection.expire(now, &self.shared.limits) {
                Some(end) => self.finish(now, serial, end),
                None => self.arm(serial),
            }
        }
    }

    /// The reader has room again.
    pub(crate) fn release_held(&mut self, now: Timestamp) {
        for serial in mem::take(&mut self.held) {
            if let Some(connection) = self.connections.get_mut(&serial) {
                connection.release(now, &self.shared.limits);
                self.mark_ready(serial);
                self.arm(serial);
            }
        }
    }

    /// Whether connections wait for the reader.
    pub(crate) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether there is work that no event will announce.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub(crate) fn deadline(&self) -> Timestamp {
        self.timers.first().map_or(Timestamp::FAR_FUTURE, |(at, _)| *at)
    }

    /// Ends everything: frames that had begun are broken, the others were never sent.
    pub(crate) fn close(&mut self) {
        for (_, mut connection) in mem::take(&mut self.connections) {
            connection.say_goodbye();
            let (begun, rest) = connection.outbox.take_apart();
            if let Some(frame) = begun {
                frame.settle(Err(SendFailure::Broken));
            }
            for frame in rest {
                frame.settle(Err(SendFailure::NotQueued));
            }
        }
    }

    fn drive(&mut self, serial: usize, turn: &mut Turn) {
        let Some(connection) = self.connections.get_mut(&serial) else { return };
        connection.queued = false;
        let was_proven = connection.proven;
        match connection.drive(turn, &self.shared.limits, &self.shared.counters) {
            Ok(progress) => {
                if connection.proven && !was_proven {
                    self.admission.prove(connection.peer.ip(), serial);
                }
                if progress == Progress::Held && !connection.held {
                    connection.held = true;
                    self.held.push(serial);
                }
                if progress == Progress::Again {
                    self.mark_ready(serial);
                }
                self.arm(serial);
            }
            Err(end) => self.finish(turn.now, serial, end),
        }
    }

    fn send_frame(&mut self, now: Timestamp, to: SocketAddr, frame: Queued) {
        if let Some(serial) = self.pool.get(&to) {
            return self.queue_frame(*serial, frame);
        }
        let due = now + self.shared.limits.connect;
        match self.dial(now, to, Role::Frames, due) {
            Ok(serial) => {
                self.pool.insert(to, serial);
                self.queue_frame(serial, frame);
            }
            Err(end) => frame.settle(Err(end.send_failure(true))),
        }
    }

    fn queue_frame(&mut self, serial: usize, frame: Queued) {
        match self.connections.get_mut(&serial) {
            Some(connection) if matches!(connection.role, Role::Frames) => {
                if let Err(frame) = connection.outbox.push(frame, &self.shared.limits) {
                    return frame.settle(Err(SendFailure::NotQueued));
                }
                self.mark_ready(serial);
                self.arm(serial);
            }
            _ => frame.settle(Err(SendFailure::Broken)),
        }
    }

    fn answer_check(&mut self, now: Timestamp, serial: usize, answer: Bytes) {
        let Some(connection) = self.connections.get_mut(&serial) else { return };
        if !matches!(connection.role, Role::Check(CheckStage::Asked)) {
            return;
        }
        let Some(answer) = Queued::new(answer, CHECK_BYTES_MAX, Timestamp::FAR_FUTURE, None) else {
            self.shared.counters.frames_dropped.add(1);
            return self.finish(now, serial, End::Finished);
        };
        connection.role = Role::Check(CheckStage::Answering);
        connection.due = now + self.shared.limits.first_words;
        // An empty queue takes any frame.
        let _ = connection.outbox.push(answer, &self.shared.limits);
        self.mark_ready(serial);
        self.arm(serial);
    }

    fn draw_serial(&mut self) -> usize {
        let serial = self.next_serial;
        self.next_serial += 1;
        serial
    }

    fn insert(&mut self, serial: usize, mut connection: Connection) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.registry.register(connection.stream_mut(), Token(serial), interest)?;
        self.connections.insert(serial, connection);
        self.arm(serial);
        Ok(())
    }

    /// Sees to it that the connection's deadline is not missed. A later deadline waits for the earlier alarm, which
    /// then finds nothing to do: deadlines move with every byte, and mostly later.
    fn arm(&mut self, serial: usize) {
        let Some(connection) = self.connections.get_mut(&serial) else { return };
        let deadline = connection.deadline(&self.shared.limits);
        if deadline == Timestamp::FAR_FUTURE || connection.timer.is_some_and(|timer| timer <= deadline) {
            return;
        }
        if let Some(timer) = connection.timer.replace(deadline) {
            self.timers.remove(&(timer, serial));
        }
        self.timers.insert((deadline, serial));
    }

    /// Closes a connection and tells everyone who waits for it.
    fn finish(&mut self, now: Timestamp, serial: usize, end: End) {
        let Some(mut connection) = self.connections.remove(&serial) else { return };
        if let Some(timer) = connection.timer {
            self.timers.remove(&(timer, serial));
        }
        if connection.held {
            self.held.retain(|held| *held != serial);
        }
        if connection.incoming {
            self.admission.leave(connection.peer.ip(), serial);
        } else {
            self.outgoing -= 1;
        }
        tracing::trace!(peer = %connection.peer, ?end, "connection ended");
        self.count_end(&connection, &end);
        match &mut connection.role {
            Role::Fresh | Role::Check(_) | Role::Watched => {}
            Role::Watch { id, done } => {
                self.waited_for.remove(id);
                if let Some(done) = done.take() {
                    // Whoever asked may have stopped waiting.
                    let _ = done.send(end.watch_end(connection.connecting));
                }
            }
            Role::Probe { id, done } => {
                self.waited_for.remove(id);
                if let Some(done) = done.take() {
                    // Whoever asked may have stopped waiting.
                    let _ = done.send(end.probe_reply(connection.connecting));
                }
            }
            Role::Frames => self.finish_frames(now, serial, connection, &end),
        }
    }

    fn count_end(&self, connection: &Connection, end: &End) {
        let counters = &self.shared.counters;
        if matches!(connection.role, Role::Probe { .. } | Role::Watch { .. }) {
            return;
        }
        if matches!(end, End::TimedOut | End::Displaced | End::Malformed) {
            counters.connections_cut.add(1);
        }
        if matches!(end, End::Malformed) || connection.loses_input() {
            counters.frames_dropped.add(1);
        }
    }

    /// Frames of which no byte left get one more chance: the connection may have been closed by the peer while it
    /// lay idle, and that says nothing about a fresh one.
    fn finish_frames(&mut self, now: Timestamp, serial: usize, mut connection: Connection, end: &End) {
        let peer = connection.peer;
        if self.pool.get(&peer) == Some(&serial) {
            self.pool.remove(&peer);
        }
        let failure = self.shared.why_failed(peer, end.send_failure(connection.connecting));
        let retry = !connection.incoming && !connection.connecting;
        let (begun, rest) = connection.outbox.take_apart();
        drop(connection);
        if let Some(frame) = begun {
            frame.settle(Err(failure));
        }
        for mut frame in rest {
            if retry && !frame.retried {
                frame.retried = true;
                self.send_frame(now, peer, frame);
            } else {
                frame.settle(Err(failure));
            }
        }
    }
}
