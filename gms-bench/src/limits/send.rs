//! Heartbeats sent to many members: bare, and by a whole member.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use bytes::Bytes;
use gms_core::Timestamp;
use gms_core::codec::encode_datagram;
use gms_core::transport::{Outgoing, Transport as _};
use gms_udp::UdpTransport;

use super::load;
use super::receive::thread_cpu;
use super::report::Rate;
use crate::cluster::nanos;
use crate::failure::Failure;
use crate::line::now;
use crate::stage::{FIRST_NUMBER, ME, Stage, heartbeat};

/// Bytes asked for the buffers of those that never read, so that thousands of them take little memory.
const IGNORED_BYTES: usize = 4096;
/// Bytes asked for the send buffer, as the transport asks.
const BUFFER_BYTES: usize = 4 << 20;

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::fault(format!("sending on loopback failed: {error}"))
}

/// Where heartbeats go to: sockets that nobody reads.
#[derive(Debug)]
pub struct Sender {
    _receivers: Vec<UdpSocket>,
    addresses: Vec<SocketAddr>,
    stage: Stage,
    /// Rounds that the played members have answered.
    rounds: u64,
}

impl Sender {
    /// As many receivers, each with a socket of its own.
    ///
    /// # Errors
    ///
    /// There are no descriptors for so many.
    pub fn new(receivers: usize) -> Result<Self, Failure> {
        let sockets = (0..receivers).map(|_| load::socket()).collect::<Result<Vec<_>, _>>()?;
        let (sockets, addresses): (Vec<UdpSocket>, Vec<SocketAddr>) = sockets.into_iter().unzip();
        for socket in &sockets {
            socket2::SockRef::from(socket).set_recv_buffer_size(IGNORED_BYTES).map_err(failed)?;
        }
        let mut members = addresses.clone();
        members.insert(ME, SocketAddr::from(([127, 0, 0, 1], 1)));
        let stage = Stage::new(members, Timestamp::from_millis(1000));
        Ok(Self { _receivers: sockets, addresses, stage, rounds: 0 })
    }

    /// A loop that sends one and the same heartbeat to all, again and again.
    ///
    /// # Errors
    ///
    /// The socket fails.
    pub fn bare(&mut self, time: Duration) -> Result<Rate, Failure> {
        let (socket, _) = load::socket()?;
        socket2::SockRef::from(&socket).set_send_buffer_size(BUFFER_BYTES).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let socket = mio::net::UdpSocket::from_std(socket);
        let mut bytes = Vec::new();
        encode_datagram(&heartbeat(&self.stage.view, 0, FIRST_NUMBER, FIRST_NUMBER), &mut bytes)
            .map_err(failed)?;
        let mut rate = Rate { datagrams: 0, seconds: 0.0, cpu_seconds: 0.0 };
        let end = now() + nanos(time);
        while now() < end {
            let (begun, cpu) = (now(), thread_cpu());
            for address in &self.addresses {
                socket.send_to(&bytes, *address).map_err(failed)?;
            }
            add(&mut rate, self.addresses.len(), begun, cpu);
        }
        Ok(rate)
    }

    /// A whole member: the node that decides to send, the codec, the transport. Between two rounds the played members
    /// answer, which is not counted.
    ///
    /// # Errors
    ///
    /// The transport fails, or the node lost contact although all answered.
    pub fn through_a_member(&mut self, time: Duration) -> Result<Rate, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
        runtime.block_on(async {
            let transport = UdpTransport::bind("127.0.0.1:0").await.map_err(failed)?;
            let mut rate = Rate { datagrams: 0, seconds: 0.0, cpu_seconds: 0.0 };
            let end = now() + nanos(time);
            let mut batch = Batch::default();
            while now() < end {
                self.answer();
                let (begun, cpu) = (now(), thread_cpu());
                let mut number = 0;
                let count = self.stage.round(|to, datagram| {
                    number = datagram.head.number;
                    batch.add(to, datagram);
                });
                batch.send(&transport).await?;
                add(&mut rate, count, begun, cpu);
                self.stage.others().for_each(|place| self.stage.note_sent(place, number));
            }
            let stats = transport.stats();
            transport.close().await;
            if stats.datagrams_unsent > 0 || !self.stage.is_connected() {
                return Err(Failure::fault(
                    "the kernel did not take all datagrams, or the node lost contact",
                ));
            }
            Ok(rate)
        })
    }

    /// Lets the node hear everybody.
    fn answer(&mut self) {
        self.rounds += 1;
        for place in self.stage.others() {
            let heartbeat = self.stage.heartbeat(place, FIRST_NUMBER + self.rounds);
            self.stage.receive(place, heartbeat);
        }
        self.stage.drain(|_, _| {});
    }
}

fn add(rate: &mut Rate, count: usize, begun: u64, cpu: u64) {
    rate.datagrams += count as u64;
    rate.seconds += (now() - begun) as f64 / 1e9;
    rate.cpu_seconds += (thread_cpu() - cpu) as f64 / 1e9;
}

/// Datagrams of one turn, one after the other in one piece of memory: as the driver of members hands them over.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    places: Vec<(SocketAddr, std::ops::Range<usize>)>,
    outgoing: Vec<Outgoing>,
}

impl Batch {
    fn add(&mut self, to: SocketAddr, datagram: &gms_core::message::Datagram) {
        let start = self.bytes.len();
        encode_datagram(datagram, &mut self.bytes).expect("a heartbeat fits");
        self.places.push((to, start..self.bytes.len()));
    }

    async fn send(&mut self, transport: &UdpTransport) -> Result<(), Failure> {
        let room = self.bytes.len();
        let bytes = Bytes::from(std::mem::replace(&mut self.bytes, Vec::with_capacity(room)));
        self.outgoing
            .extend(self.places.drain(..).map(|(to, place)| Outgoing { to, bytes: bytes.slice(place) }));
        transport.send(&mut self.outgoing).await.map_err(failed)
    }
}
