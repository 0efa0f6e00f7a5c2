//! As many heartbeats as the reader takes, from many sockets.
//!
//! A plain sender is slower than a reader, and would be what is measured. Segmentation offload hands several
//! datagrams to the kernel in one call, which takes them apart before the reader sees them: to it they are single
//! datagrams like any others. Only so many are under way at once that no queue overflows: a flood would measure how
//! fast a reader throws away.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use gms_core::codec::encode_datagram;
use gms_core::view::View;
use nix::sys::socket::{setsockopt, sockopt::UdpGsoSegment};

use crate::failure::Failure;
use crate::limits::receive::thread_cpu;
use crate::stage::{FIRST_NUMBER, ME, heartbeat};

/// Heartbeats of one sender in one call.
const SEGMENTS: u64 = 8;

/// Largest number that is echoed: numbers up to it have one length, as segments must. A node sends one a second.
const ECHOED_MAX: u64 = 250;

/// How often the thread tells what it has taken: each 32 calls, about 0.1 ms.
const PLACES_PER_LOOK: usize = 32;

/// Most heartbeats under way: a quarter of the transport's inbox, and enough that the reader never waits.
const WINDOW_MAX: u64 = 4096;
/// What the kernel charges a receive buffer for a small datagram.
const CHARGED_BYTES: u64 = 832;
/// How long the thread rests when so many are under way.
const REST: Duration = Duration::from_micros(50);
/// Rests after which what is under way is taken for lost: 50 ms and more.
const RESTS_MAX: u32 = 1000;

/// A thread that sends heartbeats of all members but the node to it, until dropped.
#[derive(Debug)]
pub struct Load {
    stop: Arc<AtomicBool>,
    cpu: Arc<AtomicU64>,
    taken: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// A socket on loopback.
pub(super) fn socket() -> Result<(UdpSocket, SocketAddr), Failure> {
    let failed =
        |error: std::io::Error| Failure::fault(format!("a socket on loopback can't be opened: {error}"));
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    Ok((socket, address))
}

/// How many heartbeats may be under way to a socket with a receive buffer of so many bytes: half of what it holds.
pub(super) fn window(buffer_bytes: usize) -> u64 {
    (buffer_bytes as u64 / CHARGED_BYTES / 2).clamp(SEGMENTS, WINDOW_MAX)
}

impl Load {
    /// Starts to send from these sockets, one for each member of the view but the node, in its order. `heard` holds
    /// what each last heard of the node. Never are more than `window` under way.
    ///
    /// # Errors
    ///
    /// The kernel does not know segmentation offload, or gives no thread.
    pub fn start(
        to: SocketAddr,
        sockets: Arc<Vec<UdpSocket>>,
        view: View,
        heard: Arc<Vec<AtomicU64>>,
        window: u64,
    ) -> Result<Self, Failure> {
        let length = encoded(&view, 0, FIRST_NUMBER, 1).len();
        for socket in sockets.iter() {
            let size = i32::try_from(length).unwrap_or(0);
            setsockopt(socket, UdpGsoSegment, &size).map_err(|error| {
                Failure::fault(format!(
                    "this kernel has no UDP segmentation offload ({error}): Linux 4.18 has"
                ))
            })?;
        }
        let (stop, cpu) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let taken = Arc::new(AtomicU64::new(0));
        let (stopped, spent, told) = (Arc::clone(&stop), Arc::clone(&cpu), Arc::clone(&taken));
        let run = move || {
            let places: Vec<usize> = (0..view.len()).filter(|place| *place != ME).collect();
            let mut number = FIRST_NUMBER;
            let mut bytes = Vec::with_capacity(1024);
            let mut sent = 0;
            while !stopped.load(Ordering::Relaxed) {
                for (socket, place) in sockets.iter().zip(&places) {
                    bytes.clear();
                    let echoed = heard[*place].load(Ordering::Relaxed).clamp(1, ECHOED_MAX);
                    for offset in 0..SEGMENTS {
                        let datagram = heartbeat(&view, *place, number + offset, echoed);
                        encode_datagram(&datagram, &mut bytes).expect("a heartbeat fits");
                    }
                    // What is not sent counts as lost below.
                    let _ = socket.send_to(&bytes, to);
                    sent += SEGMENTS;
                    let mut rests = 0;
                    while sent - told.load(Ordering::Relaxed).min(sent) >= window {
                        std::thread::sleep(REST);
                        rests += 1;
                        if stopped.load(Ordering::Relaxed) {
                            return;
                        }
                        if rests > RESTS_MAX {
                            sent = told.load(Ordering::Relaxed);
                        }
                    }
                    if place % PLACES_PER_LOOK == 0 {
                        spent.store(thread_cpu(), Ordering::Relaxed);
                    }
                }
                number += SEGMENTS;
            }
        };
        let thread = std::thread::Builder::new()
            .name("load".into())
            .spawn(run)
            .map_err(|error| Failure::fault(format!("the system gives no thread: {error}")))?;
        Ok(Self { stop, cpu, taken, thread: Some(thread) })
    }

    /// Nanoseconds of processor time that it has taken, up to a moment ago.
    pub fn cpu(&self) -> u64 {
        self.cpu.load(Ordering::Relaxed)
    }

    /// Tells that the reader has taken so many more.
    pub fn taken(&self, count: u64) {
        self.taken.fetch_add(count, Ordering::Relaxed);
    }
}

fn encoded(view: &View, place: usize, number: u64, echoed: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_datagram(&heartbeat(view, place, number, echoed), &mut bytes).expect("a heartbeat fits");
    bytes
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
