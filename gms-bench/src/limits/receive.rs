//! Heartbeats of many members read from one socket: bare, and by a whole member.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gms_core::codec::decode_datagram;
use gms_core::input::Input;
use gms_core::runtime::clock;
use gms_core::transport::{Incoming, Transport as _};
use gms_udp::UdpTransport;
use mio::{Events, Interest, Poll, Token};
use rustix::time::{ClockId, clock_gettime};

use super::load::{self, Load};
use super::report::Rate;
use crate::cluster::nanos;
use crate::failure::Failure;
use crate::line::now;
use crate::stage::Stage;

/// Bytes asked for the receive buffer, as the transport asks.
const BUFFER_BYTES: usize = 4 << 20;
/// As large as the transport's: a byte more than a datagram may have.
const DATAGRAM_BYTES: usize = 1201;
/// How long load is on at least before the count begins.
const WARM_UP: Duration = Duration::from_millis(50);
/// How many heartbeats of each sender come before it at least: first contact costs more, and comes once.
const WARM_UP_HEARTBEATS: usize = 32;
/// How long the wait for them is, at most.
const WARM_UP_MAX: Duration = Duration::from_secs(10);

/// Nanoseconds of processor time of this thread.
pub(super) fn thread_cpu() -> u64 {
    spent(ClockId::ThreadCPUTime)
}

/// Nanoseconds of processor time of this process.
pub(super) fn process_cpu() -> u64 {
    spent(ClockId::ProcessCPUTime)
}

fn spent(clock: ClockId) -> u64 {
    Duration::try_from(clock_gettime(clock)).map_or(0, nanos)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::fault(format!("receiving on loopback failed: {error}"))
}

/// Senders, and what they send to.
#[derive(Debug)]
pub struct Receiver {
    senders: Arc<Vec<UdpSocket>>,
    addresses: Vec<SocketAddr>,
    window: u64,
}

/// A socket on loopback, with a receive buffer as the transport has.
fn reader() -> Result<(UdpSocket, SocketAddr), Failure> {
    let (socket, address) = load::socket()?;
    socket2::SockRef::from(&socket).set_recv_buffer_size(BUFFER_BYTES).map_err(failed)?;
    Ok((socket, address))
}

impl Receiver {
    /// As many senders, each with a socket of its own.
    ///
    /// # Errors
    ///
    /// There are no descriptors for so many.
    pub fn new(senders: usize) -> Result<Self, Failure> {
        let sockets = (0..senders).map(|_| load::socket()).collect::<Result<Vec<_>, _>>()?;
        let (sockets, addresses) = sockets.into_iter().unzip();
        let granted = socket2::SockRef::from(&reader()?.0).recv_buffer_size().map_err(failed)?;
        Ok(Self { senders: Arc::new(sockets), addresses, window: load::window(granted) })
    }

    /// How many heartbeats are under way at most, so that the receive buffer, whose size the system bounds, never
    /// overflows.
    pub const fn window(&self) -> u64 {
        self.window
    }

    /// The stage of a node at `me`, and the load on it.
    fn under_load(&self, me: SocketAddr) -> Result<(Stage, Load, Arc<Vec<AtomicU64>>), Failure> {
        let mut addresses = self.addresses.clone();
        addresses.insert(crate::stage::ME, me);
        let stage = Stage::new(addresses, clock::now());
        let heard: Arc<Vec<AtomicU64>> = Arc::new(
            (0..stage.addresses().len()).map(|place| AtomicU64::new(stage.heard_by(place))).collect(),
        );
        let load =
            Load::start(me, Arc::clone(&self.senders), stage.view.clone(), Arc::clone(&heard), self.window)?;
        Ok((stage, load, heard))
    }

    /// A loop that reads and forgets.
    ///
    /// # Errors
    ///
    /// The socket fails.
    pub fn bare(&mut self, time: Duration) -> Result<Rate, Failure> {
        let (socket, address) = reader()?;
        socket.set_nonblocking(true).map_err(failed)?;
        let mut socket = mio::net::UdpSocket::from_std(socket);
        let mut poll = Poll::new().map_err(failed)?;
        poll.registry().register(&mut socket, Token(0), Interest::READABLE).map_err(failed)?;
        let mut events = Events::with_capacity(16);
        let mut buffer = vec![0; DATAGRAM_BYTES];
        let (_stage, load, _) = self.under_load(address)?;
        let mut read_until = |end: u64| -> Result<u64, Failure> {
            let mut count = 0;
            while now() < end {
                match poll.poll(&mut events, Some(Duration::from_millis(10))) {
                    // A signal; whoever asked for it looks between measurements.
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    polled => polled.map_err(failed)?,
                }
                // The clock is read once in a while, not for each.
                while let Ok(read) = read_some(&socket, &mut buffer) {
                    count += read;
                    load.taken(read);
                    if now() >= end {
                        break;
                    }
                }
            }
            Ok(count)
        };
        read_until(now() + nanos(WARM_UP))?;
        let (begun, cpu) = (now(), thread_cpu());
        let datagrams = read_until(begun + nanos(time))?;
        let (ended, cpu_ended) = (now(), thread_cpu());
        Ok(Rate {
            datagrams,
            seconds: (ended - begun) as f64 / 1e9,
            cpu_seconds: (cpu_ended - cpu) as f64 / 1e9,
        })
    }

    /// A whole member: the transport with its thread, the codec, the node that records.
    ///
    /// # Errors
    ///
    /// The transport fails, or the node did not record what it got.
    pub fn through_a_member(&mut self, time: Duration) -> Result<Rate, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
        runtime.block_on(async {
            let transport = UdpTransport::bind("127.0.0.1:0").await.map_err(failed)?;
            let (stage, load, heard) = self.under_load(transport.endpoint().addr)?;
            let mut member = Member { stage, transport, heard, load, arrived: Vec::new() };
            let (warm_at, late_at) = (now() + nanos(WARM_UP), now() + nanos(WARM_UP_MAX));
            let mut heard = member.run_until(warm_at).await?;
            while heard < (self.senders.len() * WARM_UP_HEARTBEATS) as u64 && now() < late_at {
                heard += member.run_until(now() + nanos(WARM_UP)).await?;
            }
            let (begun, cpu, load_cpu) = (now(), process_cpu(), member.load.cpu());
            let datagrams = member.run_until(begun + nanos(time)).await?;
            let (ended, cpu_ended, load_ended) = (now(), process_cpu(), member.load.cpu());
            if !member.stage.is_connected() {
                return Err(Failure::fault("the node did not record the heartbeats that it got"));
            }
            let spent = (cpu_ended - cpu).saturating_sub(load_ended - load_cpu);
            Ok(Rate { datagrams, seconds: (ended - begun) as f64 / 1e9, cpu_seconds: spent as f64 / 1e9 })
        })
    }
}

/// Reads at most 64 datagrams; an error says that none was there.
fn read_some(socket: &mio::net::UdpSocket, buffer: &mut [u8]) -> io::Result<u64> {
    let mut read = 0;
    while read < 64 {
        match socket.recv_from(buffer) {
            Ok(_) => read += 1,
            Err(error) if read == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(read)
}

/// A node behind its transport.
struct Member {
    stage: Stage,
    transport: UdpTransport,
    heard: Arc<Vec<AtomicU64>>,
    load: Load,
    arrived: Vec<Incoming>,
}

impl Member {
    /// Takes what arrives until `end`, and returns how many heartbeats that were.
    async fn run_until(&mut self, end: u64) -> Result<u64, Failure> {
        let mut count = 0;
        while now() < end {
            self.transport.receive(&mut self.arrived).await.map_err(failed)?;
            let stage = &mut self.stage;
            stage.now = stage.now.max(clock::now());
            let before = count;
            for arrival in self.arrived.drain(..) {
                let Incoming::Datagram { from, received_at, bytes } = arrival else { continue };
                let datagram = decode_datagram(&bytes).map_err(failed)?;
                let input = Input::Datagram { from, received_at: received_at.min(stage.now), datagram };
                stage.node.handle_input(stage.now, input);
                count += 1;
            }
            self.load.taken(count - before);
            if stage.node.poll_timeout().is_some_and(|(at, _)| at <= stage.now) {
                stage.node.handle_timeout(stage.now);
            }
            let heard = &self.heard;
            // What it sends is not sent here; the played members hear it all the same.
            stage.drain(|_, datagram| {
                let number = datagram.head.number;
                heard.iter().for_each(|place| place.store(number, Ordering::Relaxed));
            });
        }
        Ok(count)
    }
}
