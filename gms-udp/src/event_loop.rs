//! The loop: one thread that owns the listener and all connections and reads all that arrives.
//!
//! Each turn waits for events, a command or a deadline, does a bounded amount of each kind of work, and hands what
//! arrived to the reader in one go. It never waits for a peer, a caller or the reader.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use gms_core::Timestamp;
use gms_core::runtime::clock;
use gms_core::transport::TransportError;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::connection::Turn;
use crate::datagrams::DatagramReader;
use crate::limits::{
    ACCEPT_PAUSE, ACCEPTS_PER_TURN, EVENTS_PER_TURN, Limits, READ_BYTES, STREAM_BYTES_PER_TURN,
};
use crate::shared::{Command, Shared};
use crate::socket::Sockets;
use crate::streams::Streams;

const WAKER: Token = Token(0);
const UDP: Token = Token(1);
const LISTENER: Token = Token(2);
/// Connections have the tokens from here on.
const FIRST_CONNECTION: usize = 3;

/// The state of the loop's thread.
#[derive(Debug)]
pub(crate) struct EventLoop {
    poll: Poll,
    listener: TcpListener,
    shared: Arc<Shared>,
    datagrams: DatagramReader,
    streams: Streams,
    commands: Vec<Command>,
    turn: Turn,
    /// Events come once: what was not worked off is remembered.
    datagrams_left: bool,
    errors_left: bool,
    accepts_left: bool,
    /// Accepting rests until then.
    accept_again_at: Option<Timestamp>,
}

impl EventLoop {
    /// Registers the sockets.
    pub(crate) fn new(mut sockets: Sockets, limits: Limits) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        poll.registry().register(&mut sockets.udp, UDP, Interest::READABLE)?;
        poll.registry().register(&mut sockets.tcp, LISTENER, Interest::READABLE)?;
        let datagrams = DatagramReader::new(&sockets.udp);
        let shared = Arc::new(Shared::new(sockets.udp, sockets.mapped, waker, limits));
        let streams = Streams::new(poll.registry().try_clone()?, Arc::clone(&shared), FIRST_CONNECTION);
        let turn = Turn {
            now: clock::now(),
            arrived: Vec::new(),
            room: shared.inbox.room(),
            budget: 0,
            scratch: vec![0; READ_BYTES].into_boxed_slice(),
        };
        Ok(Self {
            poll,
            listener: sockets.tcp,
            shared,
            datagrams,
            streams,
            commands: Vec::new(),
            turn,
            datagrams_left: true,
            errors_left: false,
            accepts_left: true,
            accept_again_at: None,
        })
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Runs until the transport is closed.
    pub(crate) fn run(self) {
        // Dropped last, also when the loop panics: only then is everything closed.
        let ending = Ending(self.shared());
        let mut this = self;
        if let Err(error) = this.turns() {
            tracing::error!(%error, "the transport's event loop failed");
            ending.0.inbox.end(TransportError::Failed(error.to_string()));
        }
        this.streams.close();
    }

    fn turns(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        let mut resume = false;
        while !self.shared.is_closing() {
            let timeout = if resume { Some(Duration::ZERO) } else { self.timeout() };
            match self.poll.poll(&mut events, timeout) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            for event in &events {
                match event.token() {
                    WAKER => {}
                    UDP => {
                        self.datagrams_left = true;
                        self.errors_left |= event.is_error();
                    }
                    LISTENER => self.accepts_left = true,
                    Token(serial) => self.streams.mark_ready(serial),
                }
            }
            resume = self.take_turn();
        }
        Ok(())
    }

    /// How long nothing needs to be done unless an event comes.
    fn timeout(&self) -> Option<Duration> {
        if self.datagrams_left || self.errors_left || self.accepts_left || self.streams.has_ready() {
            return Some(Duration::ZERO);
        }
        let deadline = self.streams.deadline().min(self.accept_again_at.unwrap_or(Timestamp::FAR_FUTURE));
        (deadline < Timestamp::FAR_FUTURE).then(|| deadline.since(clock::now()))
    }

    /// One round of bounded work; says whether connections that were held back can go on.
    fn take_turn(&mut self) -> bool {
        self.turn.room = self.shared.inbox.room();
        self.turn.budget = STREAM_BYTES_PER_TURN;
        if self.datagrams_left {
            self.datagrams_left = self.datagrams.read(&mut self.turn, &self.shared);
        }
        if self.errors_left {
            self.errors_left = self.datagrams.read_errors(&mut self.turn, &self.shared);
        }
        let now = clock::now();
        self.turn.now = now;
        if self.streams.has_held() && self.turn.room.for_both() {
            self.streams.release_held(now);
        }
        self.shared.take_commands(&mut self.commands);
        for command in self.commands.drain(..) {
            self.streams.handle_command(now, command);
        }
        self.accept(now);
        self.streams.drive_ready(&mut self.turn);
        // After reading: what arrived in time is not late.
        self.streams.handle_timeout(now);
        self.shared.inbox.deliver(&mut self.turn.arrived, self.streams.has_held())
    }

    fn accept(&mut self, now: Timestamp) {
        if self.accept_again_at.is_some_and(|at| at <= now) {
            self.accept_again_at = None;
            self.accepts_left = true;
        }
        if self.accept_again_at.is_some() {
            self.accepts_left = false;
        }
        let mut accepts = if self.accepts_left { ACCEPTS_PER_TURN } else { 0 };
        while accepts > 0 {
            accepts -= 1;
            match self.listener.accept() {
                Ok((stream, peer)) => self.streams.handle_accepted(now, stream, peer),
                Err(e) => match e.kind() {
                    io::ErrorKind::WouldBlock => {
                        self.accepts_left = false;
                        return;
                    }
                    io::ErrorKind::Interrupted
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::ConnectionReset => {}
                    // Out of descriptors or memory: the connection stays with the kernel, and asking again at once
                    // would spin.
                    _ => {
                        tracing::warn!(error = %e, "accepting connections rests for a moment");
                        self.accept_again_at = Some(now + ACCEPT_PAUSE);
                        self.accepts_left = false;
                        return;
                    }
                },
            }
        }
    }
}

/// Tells everyone that the loop is over, when it is.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        let shared = &self.0;
        let error = if std::thread::panicking() {
            TransportError::Failed("the event loop panicked".into())
        } else {
            TransportError::Closed
        };
        shared.inbox.end(error);
        // Whoever waits for one of these hears that it was not queued.
        drop(shared.close_commands());
        shared.close_udp();
        shared.ended.set();
    }
}
