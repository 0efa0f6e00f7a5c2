//! One connection: what it is for, how far it has come, and what moves it on. Knows nothing of other connections.

use std::io::{self, Read, Write};
use std::net::SocketAddr;

use gms_core::Timestamp;
use gms_core::input::{CheckHandle, ReplyHandle};
use gms_core::message::FRAME_BYTES_MAX;
use gms_core::transport::Incoming;
use mio::net::TcpStream;

use crate::counters::Counters;
use crate::end::End;
use crate::frames::Assembler;
use crate::inbox::Room;
use crate::limits::{CHECK_BYTES_MAX, Limits};
use crate::outbox::{Outbox, Written};
use crate::role::{CheckStage, GOODBYE, LEAD_CHECK, LEAD_FRAMES, LEAD_WATCH, Role};
use crate::socket;

/// What one turn of the loop has to spend and has gathered.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) now: Timestamp,
    pub(crate) arrived: Vec<Incoming>,
    pub(crate) room: Room,
    /// Bytes that may still be moved over connections.
    pub(crate) budget: usize,
    pub(crate) scratch: Box<[u8]>,
}

impl Turn {
    pub(crate) fn deliver(&mut self, incoming: Incoming) {
        self.room.take(&incoming);
        self.arrived.push(incoming);
    }
}

/// Where a connection stands after it was driven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// Waits for the kernel.
    Waits,
    /// Has more to do, the turn's budget is spent.
    Again,
    /// Is not read from until the reader has caught up.
    Held,
}

/// A connection and its state.
#[derive(Debug)]
pub(crate) struct Connection {
    serial: usize,
    stream: TcpStream,
    /// The other side, canonical.
    pub(crate) peer: SocketAddr,
    /// Whether the other side made it.
    pub(crate) incoming: bool,
    pub(crate) role: Role,
    /// Not yet established.
    pub(crate) connecting: bool,
    reader: Assembler,
    pub(crate) outbox: Outbox,
    /// When the present stage must be over; means nothing for an established connection for frames.
    pub(crate) due: Timestamp,
    active_at: Timestamp,
    /// Since when a frame, or the first frame of an incoming connection, is awaited.
    frame_awaited_since: Option<Timestamp>,
    /// It carried a whole frame, or was made by this side.
    pub(crate) proven: bool,
    /// Not read from because the reader is behind; its time to speak does not run.
    pub(crate) held: bool,
    /// Stands in the queue of those that are to be driven.
    pub(crate) queued: bool,
    /// Its entry in the table of timers.
    pub(crate) timer: Option<Timestamp>,
}

impl Connection {
    /// A connection that was accepted.
    pub(crate) fn accepted(
        serial: usize,
        stream: TcpStream,
        peer: SocketAddr,
        now: Timestamp,
        due: Timestamp,
    ) -> Self {
        Self::new(serial, stream, peer, Role::Fresh, Outbox::default(), now, due)
    }

    /// A connection that is being made by this side.
    pub(crate) fn dialled(
        serial: usize,
        stream: TcpStream,
        peer: SocketAddr,
        role: Role,
        now: Timestamp,
        due: Timestamp,
    ) -> Self {
        let lead = role.lead();
        let outbox = match role {
            Role::Watch { .. } => Outbox::with_lead_alone(lead),
            _ => Outbox::with_lead(lead),
        };
        Self::new(serial, stream, peer, role, outbox, now, due)
    }

    fn new(
        serial: usize,
        stream: TcpStream,
        peer: SocketAddr,
        role: Role,
        outbox: Outbox,
        now: Timestamp,
        due: Timestamp,
    ) -> Self {
        let incoming = matches!(role, Role::Fresh);
        let frame_bytes_max = if matches!(role, Role::Frames) { FRAME_BYTES_MAX } else { CHECK_BYTES_MAX };
        Self {
            serial,
            stream,
            peer,
            incoming,
            role,
            connecting: !incoming,
            reader: Assembler::new(frame_bytes_max),
            outbox,
            due,
            active_at: now,
            frame_awaited_since: None,
            proven: !incoming,
            held: false,
            queued: false,
            timer: None,
        }
    }

    /// The stream, to be registered.
    pub(crate) fn stream_mut(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Whether a part of a frame, or a frame that could not be delivered, is lost with it.
    pub(crate) fn loses_input(&self) -> bool {
        matches!(self.role, Role::Frames) && !self.reader.is_empty()
    }

    /// Does what can be done without waiting: reads before it writes, so that a connection which the peer has
    /// closed is noticed before a frame is entrusted to it.
    pub(crate) fn drive(
        &mut self,
        turn: &mut Turn,
        limits: &Limits,
        counters: &Counters,
    ) -> Result<Progress, End> {
        if self.connecting && !self.finish_connecting(turn.now)? {
            return Ok(Progress::Waits);
        }
        let read = self.read(turn, limits, counters)?;
        let written = self.write(turn, counters)?;
        Ok(if written == Written::BudgetSpent { Progress::Again } else { read })
    }

    fn finish_connecting(&mut self, now: Timestamp) -> Result<bool, End> {
        if let Some(error) = self.stream.take_error().map_err(End::Failed)? {
            return Err(End::Failed(error));
        }
        match self.stream.peer_addr() {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotConnected => return Ok(false),
            Err(e) => return Err(End::Failed(e)),
        }
        if socket::is_to_itself(&self.stream) {
            return Err(End::ToItself);
        }
        self.connecting = false;
        self.active_at = now;
        Ok(true)
    }

    fn read(&mut self, turn: &mut Turn, limits: &Limits, counters: &Counters) -> Result<Progress, End> {
        self.hand_over(turn, limits, counters)?;
        loop {
            if !self.has_room(&turn.room) {
                return Ok(Progress::Held);
            }
            if turn.budget == 0 {
                return Ok(Progress::Again);
            }
            match self.stream.read(&mut turn.scratch) {
                Ok(0) => return Err(End::Eof),
                Ok(n) => {
                    turn.budget = turn.budget.saturating_sub(n);
                    self.active_at = turn.now;
                    let read = &turn.scratch[..n];
                    let rest =
                        if matches!(self.role, Role::Fresh) { self.begin(read, turn.now)? } else { read };
                    self.reader.extend(rest);
                    self.hand_over(turn, limits, counters)?;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Progress::Waits),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(End::Failed(e)),
            }
        }
    }

    /// Whether what it might bring can be delivered.
    fn has_room(&self, room: &Room) -> bool {
        match self.role {
            Role::Fresh | Role::Check(CheckStage::Reading) => room.for_check(),
            Role::Frames => room.for_frame(),
            Role::Check(CheckStage::Asked | CheckStage::Answering)
            | Role::Probe { .. }
            | Role::Watch { .. }
            | Role::Watched => true,
        }
    }

    /// The first byte tells what an incoming connection is for; returns the bytes behind it.
    fn begin<'a>(&mut self, read: &'a [u8], now: Timestamp) -> Result<&'a [u8], End> {
        let (lead, rest) = read.split_first().ok_or(End::Malformed)?;
        match *lead {
            LEAD_FRAMES => {
                self.role = Role::Frames;
                self.reader = Assembler::new(FRAME_BYTES_MAX);
                self.frame_awaited_since = Some(now);
            }
            LEAD_CHECK => self.role = Role::Check(CheckStage::Reading),
            LEAD_WATCH => {
                self.role = Role::Watched;
                socket::notice_lost_host(&self.stream);
            }
            _ => return Err(End::Malformed),
        }
        Ok(rest)
    }

    /// Delivers what is whole, as far as there is room.
    fn hand_over(&mut self, turn: &mut Turn, limits: &Limits, counters: &Counters) -> Result<(), End> {
        match &self.role {
            Role::Fresh => Ok(()),
            Role::Frames => self.hand_over_frames(turn, counters),
            Role::Check(CheckStage::Reading) => {
                if !turn.room.for_check() {
                    return Ok(());
                }
                let Some(bytes) = self.reader.next_frame()? else { return Ok(()) };
                if !self.reader.is_empty() {
                    return Err(End::Malformed);
                }
                self.role = Role::Check(CheckStage::Asked);
                self.due = turn.now + limits.unanswered_check;
                turn.deliver(Incoming::Check {
                    from: self.peer,
                    handle: CheckHandle(self.serial as u64),
                    bytes,
                });
                Ok(())
            }
            Role::Check(CheckStage::Asked | CheckStage::Answering) if self.reader.is_empty() => Ok(()),
            Role::Check(CheckStage::Asked | CheckStage::Answering) => Err(End::Malformed),
            Role::Watch { .. } if self.reader.starts_with(GOODBYE) => Err(End::Goodbye),
            Role::Watch { .. } | Role::Watched if self.reader.is_empty() => Ok(()),
            Role::Watch { .. } | Role::Watched => Err(End::Malformed),
            Role::Probe { .. } => match self.reader.next_frame()? {
                Some(_) if !self.reader.is_empty() => Err(End::Malformed),
                Some(answer) => Err(End::Answered(answer)),
                None => Ok(()),
            },
        }
    }

    fn hand_over_frames(&mut self, turn: &mut Turn, counters: &Counters) -> Result<(), End> {
        let mut awaited_since = self.frame_awaited_since.unwrap_or(turn.now);
        while turn.room.for_frame() {
            let Some(bytes) = self.reader.next_frame()? else { break };
            counters.frames_received.add(1);
            self.proven = true;
            awaited_since = turn.now;
            let (from, reply) = (self.peer, ReplyHandle(self.serial as u64));
            turn.deliver(Incoming::Frame { from, reply, received_at: turn.now, bytes });
        }
        let between_frames = self.proven && self.reader.is_empty();
        self.frame_awaited_since = if between_frames { None } else { Some(awaited_since) };
        Ok(())
    }

    fn write(&mut self, turn: &mut Turn, counters: &Counters) -> Result<Written, End> {
        let before = turn.budget;
        let is_frames = matches!(self.role, Role::Frames);
        let written = self.outbox.write(&self.stream, &mut turn.budget, || {
            if is_frames {
                counters.frames_sent.add(1);
            }
        });
        if turn.budget < before {
            self.active_at = turn.now;
        }
        let written = written.map_err(End::Failed)?;
        if written == Written::All && matches!(self.role, Role::Check(CheckStage::Answering)) {
            return Err(End::Finished);
        }
        Ok(written)
    }

    /// When to look at it again if nothing happens.
    pub(crate) fn deadline(&self, limits: &Limits) -> Timestamp {
        self.own_deadline(limits).min(self.outbox.deadline())
    }

    fn own_deadline(&self, limits: &Limits) -> Timestamp {
        let never = Timestamp::FAR_FUTURE;
        match self.role {
            Role::Fresh | Role::Check(CheckStage::Reading) if self.held => never,
            Role::Fresh | Role::Check(_) | Role::Probe { .. } => self.due,
            Role::Frames | Role::Watch { .. } if self.connecting => self.due,
            Role::Watch { .. } | Role::Watched => never,
            Role::Frames if self.held => never,
            Role::Frames => match self.frame_awaited_since {
                Some(since) => since + limits.half_frame,
                None if !self.outbox.is_empty() => never,
                None if self.incoming => self.active_at + limits.idle + limits.idle / 2,
                None => self.active_at + limits.idle,
            },
        }
    }

    /// Takes back what is late; says whether the connection is over with it.
    pub(crate) fn expire(&mut self, now: Timestamp, limits: &Limits) -> Option<End> {
        self.outbox.withdraw_late(now);
        if self.outbox.is_stuck(now) || self.own_deadline(limits) <= now {
            return Some(End::TimedOut);
        }
        // Nobody waits for it any more: the next frame gets a fresh attempt instead of the kernel's slow repetition.
        let useless = self.connecting && matches!(self.role, Role::Frames) && self.outbox.is_empty();
        useless.then_some(End::Finished)
    }

    /// Tells the other side that this one closes in order, as far as that goes without waiting.
    //= docs/protocol.md#fd-29
    pub(crate) fn say_goodbye(&mut self) {
        if matches!(self.role, Role::Watched) {
            // Where it does not get through the other side takes a second look.
            let _ = self.stream.write(&[GOODBYE]);
        }
    }

    /// The reader has caught up: its time to speak runs anew.
    pub(crate) fn release(&mut self, now: Timestamp, limits: &Limits) {
        self.held = false;
        self.frame_awaited_since = self.frame_awaited_since.map(|_| now);
        self.active_at = now;
        if matches!(self.role, Role::Fresh | Role::Check(CheckStage::Reading)) {
            self.due = now + limits.first_words;
        }
    }
}
