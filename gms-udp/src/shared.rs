//! What the loop's thread and the callers share: the queues between them, the datagram socket, the end.

use std::collections::BTreeSet;
use std::mem;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use bytes::Bytes;
use gms_core::Timestamp;
use gms_core::input::{CheckHandle, Misfit, SendFailure, WatchEnd};
use gms_core::output::Destination;
use gms_core::transport::ProbeReply;
use gms_net::ended::Ended;
use mio::Waker;
use mio::net::UdpSocket;
use tokio::sync::oneshot;

use crate::counters::Counters;
use crate::inbox::Inbox;
use crate::limits::{COMMAND_BYTES_MAX, COMMANDS_MAX, Limits, STRANGERS_MAX};
use crate::outbox::Queued;

/// Something that a caller wants from the loop.
#[derive(Debug)]
pub(crate) enum Command {
    /// Write a frame.
    SendFrame { to: Destination, frame: Queued },
    /// Make a fresh connection and ask.
    StartProbe {
        id: u64,
        address: SocketAddr,
        question: Bytes,
        deadline: Timestamp,
        done: oneshot::Sender<ProbeReply>,
    },
    /// Make a connection and hold it until it ends.
    StartWatch { id: u64, address: SocketAddr, done: oneshot::Sender<WatchEnd> },
    /// Nobody waits for that probe or watch any more.
    Stop { id: u64 },
    /// Answer a check.
    AnswerCheck { handle: CheckHandle, answer: Bytes },
}

impl Command {
    fn bytes(&self) -> usize {
        match self {
            Self::SendFrame { frame, .. } => frame.len(),
            Self::StartProbe { question, .. } => question.len(),
            Self::AnswerCheck { answer, .. } => answer.len(),
            Self::StartWatch { .. } | Self::Stop { .. } => 0,
        }
    }
}

#[derive(Debug, Default)]
struct Commands {
    queue: Vec<Command>,
    bytes: usize,
    closed: bool,
}

/// Shared by the loop and every caller.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) counters: Counters,
    pub(crate) inbox: Inbox,
    pub(crate) limits: Limits,
    /// Callers send on it themselves: a hop to the loop's thread costs 70 µs, a send 1 µs. Empty once closed.
    pub(crate) udp: RwLock<Option<UdpSocket>>,
    /// IPv4 travels mapped over the datagram socket.
    pub(crate) mapped: bool,
    commands: Mutex<Commands>,
    waker: Waker,
    closing: AtomicBool,
    pub(crate) ended: Ended,
    ids: AtomicU64,
    /// Addresses that answered in another transport's words.
    strangers: Mutex<BTreeSet<SocketAddr>>,
}

impl Shared {
    pub(crate) fn new(udp: UdpSocket, mapped: bool, waker: Waker, limits: Limits) -> Self {
        Self {
            counters: Counters::default(),
            inbox: Inbox::new(limits.room()),
            limits,
            udp: RwLock::new(Some(udp)),
            mapped,
            commands: Mutex::default(),
            waker,
            closing: AtomicBool::new(false),
            ended: Ended::default(),
            ids: AtomicU64::new(0),
            strangers: Mutex::default(),
        }
    }

    /// Notes that whoever is at this address speaks another transport.
    pub(crate) fn note_stranger(&self, addr: SocketAddr) {
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        if strangers.len() >= STRANGERS_MAX {
            strangers.clear();
        }
        strangers.insert(addr);
    }

    /// Why a frame to this address failed: where a stranger is, that is the reason.
    pub(crate) fn why_failed(&self, addr: SocketAddr, failure: SendFailure) -> SendFailure {
        let is_stranger = matches!(failure, SendFailure::Refused | SendFailure::Broken | SendFailure::TimedOut)
                // Once: another process may be there the next time.
                && self.strangers.lock().unwrap_or_else(PoisonError::into_inner).remove(&addr);
        if is_stranger { SendFailure::Misfit(Misfit::Transport) } else { failure }
    }

    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no other probe or watch of this transport has.
    pub(crate) fn draw_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Queues a command and wakes the loop; gives it back when the queue is full or the loop has ended.
    pub(crate) fn push(&self, command: Command) -> Result<(), Command> {
        let mut commands = self.commands();
        // A stop is always taken: there is at most one for each start, and starts are bounded.
        let bounded = !matches!(command, Command::Stop { .. });
        let full = commands.queue.len() >= COMMANDS_MAX || commands.bytes >= COMMAND_BYTES_MAX;
        if commands.closed || (bounded && full) {
            return Err(command);
        }
        commands.bytes += command.bytes();
        commands.queue.push(command);
        let first = commands.queue.len() == 1;
        drop(commands);
        // Later ones are seen in the same turn as the first.
        if first {
            self.wake();
        }
        Ok(())
    }

    /// Takes all queued commands into `into`, which must be empty.
    pub(crate) fn take_commands(&self, into: &mut Vec<Command>) {
        debug_assert!(into.is_empty());
        let mut commands = self.commands();
        commands.bytes = 0;
        mem::swap(&mut commands.queue, into);
    }

    /// Takes no more commands; returns those that were queued.
    pub(crate) fn close_commands(&self) -> Vec<Command> {
        let mut commands = self.commands();
        commands.closed = true;
        mem::take(&mut commands.queue)
    }

    pub(crate) fn wake(&self) {
        // Fails only when the counter behind it is full, and then the loop is woken already.
        let _ = self.waker.wake();
    }

    /// Asks the loop to end.
    pub(crate) fn ask_to_close(&self) {
        self.closing.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Closes the datagram socket, once no caller is in the middle of a batch.
    pub(crate) fn close_udp(&self) {
        *self.udp.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
