//! A cluster of processes: started, waited for, watched, and gone when it is dropped.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::line::{Line, now};
use crate::net::Net;
use crate::process::{Dialect, Message, Process};
use crate::system::{Peer, System, Tools};

/// How often a wait looks whether the user has seen enough.
const TICK: Duration = Duration::from_millis(50);
/// How long the first member may take to start.
const START_MAX: Duration = Duration::from_secs(30);
/// How long all members may take to see each other.
const WHOLE_MAX: Duration = Duration::from_secs(120);

/// Members of one system, as they report themselves.
#[derive(Debug)]
pub struct Cluster {
    // Dropped in this order: processes before their network.
    members: Vec<Process>,
    addresses: Vec<SocketAddr>,
    histories: Vec<Vec<Line>>,
    ended: Vec<bool>,
    inbox: Receiver<Message>,
    interrupt: Interrupt,
    net: Net,
    _dir: TempDir,
}

impl Cluster {
    /// Starts `size` members and waits until each of them sees all.
    ///
    /// # Errors
    ///
    /// A process can't be started or ends, the network can't be made, the members don't find each other, or the user
    /// has seen enough.
    pub fn start(
        tools: &Tools,
        system: &System,
        size: usize,
        in_lab: bool,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let dir = tempfile::Builder::new().prefix("gms-bench-").tempdir().map_err(|error| {
            Failure::fault(format!("no temporary directory ({error}): set TMPDIR to a writable place"))
        })?;
        let net = Net::new(size, in_lab)?;
        let addresses: Vec<SocketAddr> = (0..size).map(|place| net.address(place)).collect();
        let (messages, inbox) = channel();
        let mut cluster = Self {
            members: Vec::new(),
            histories: vec![Vec::new(); size],
            ended: vec![false; size],
            addresses,
            inbox,
            interrupt: interrupt.clone(),
            net,
            _dir: dir,
        };
        let first = cluster.addresses[0];
        cluster.add(tools, system, None, &messages)?;
        cluster.until("the first member starts", START_MAX, |cluster| !cluster.histories[0].is_empty())?;
        for _ in 1..size {
            cluster.add(tools, system, Some(first), &messages)?;
        }
        // Only the readers hold it from here on.
        drop(messages);
        cluster.until("all members see each other", WHOLE_MAX, Self::is_whole)?;
        Ok(cluster)
    }

    fn add(
        &mut self,
        tools: &Tools,
        system: &System,
        seed: Option<SocketAddr>,
        messages: &Sender<Message>,
    ) -> Result<(), Failure> {
        let place = self.members.len();
        let name = |place: usize| format!("m{}", place + 1);
        let size = self.addresses.len();
        let words = tools.member(system, self.addresses[place], &name(place), size, seed)?;
        let mut tethered = vec![tools.bench.clone().into(), "tethered".into()];
        tethered.extend(self.net.words_at(place, words));
        let dialect = match system {
            System::Peer(Peer::Serf) => {
                Dialect::Serf((0..size).map(|place| (name(place), self.addresses[place])).collect())
            }
            _ => Dialect::Lines,
        };
        self.members.push(Process::start(&tethered, place, dialect, self._dir.path(), messages.clone())?);
        Ok(())
    }

    /// How many members it has, dead ones included.
    pub fn size(&self) -> usize {
        self.addresses.len()
    }

    /// Where the member at this place listens: its name in what others report.
    pub fn address(&self, place: usize) -> SocketAddr {
        self.addresses[place]
    }

    /// The place of the member with this address.
    pub fn place(&self, address: SocketAddr) -> Option<usize> {
        self.addresses.iter().position(|known| *known == address)
    }

    /// What the member at this place has reported so far.
    pub fn history(&self, place: usize) -> &[Line] {
        &self.histories[place]
    }

    /// The number of the process of the member at this place.
    pub fn process_id(&self, place: usize) -> u32 {
        self.members[place].id()
    }

    /// The network of namespaces below it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn lab(&mut self) -> Result<&mut gms_lab::Lab, Failure> {
        self.net.lab()
    }

    /// Whether every member sees all.
    pub fn is_whole(&self) -> bool {
        self.histories
            .iter()
            .all(|history| history.last().is_some_and(|line| line.members.len() == self.addresses.len()))
    }

    /// Sends a signal to the members at these places, one right after the other.
    ///
    /// # Errors
    ///
    /// One has ended.
    pub fn signal(&self, places: &[usize], signal: Signal) -> Result<(), Failure> {
        places.iter().try_for_each(|place| self.members[*place].signal(signal))
    }

    /// Waits until `done`, which must happen within `longest`.
    ///
    /// # Errors
    ///
    /// It did not, or a member ended before, or the user has seen enough.
    pub fn until(
        &mut self,
        what: &str,
        longest: Duration,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), Failure> {
        let alive = self.ended.clone();
        if self.reaches(longest, |cluster| done(cluster) || cluster.ended != alive)? && done(self) {
            return Ok(());
        }
        let ended = (0..self.size()).find(|place| self.ended[*place] && !alive[*place]);
        Err(Failure::fault(match ended {
            Some(place) => {
                let words = self.members[place].last_words();
                format!("waited for this: {what}; but a member ended: {words}")
            }
            None => format!("waited {longest:?} in vain for this: {what}; {}", self.what_is_seen()),
        }))
    }

    /// Waits until `done`, at most for `longest`, and says whether it came to that.
    ///
    /// # Errors
    ///
    /// The user has seen enough.
    pub fn reaches(&mut self, longest: Duration, done: impl Fn(&Self) -> bool) -> Result<bool, Failure> {
        let deadline = now() + nanos(longest);
        loop {
            if done(self) {
                return Ok(true);
            }
            let left = deadline.saturating_sub(now());
            if left == 0 {
                return Ok(false);
            }
            self.interrupt.check()?;
            match self.inbox.recv_timeout(TICK.min(Duration::from_nanos(left))) {
                Ok(Message::Told { member, line }) => self.histories[member].push(line),
                Ok(Message::Ended { member }) => self.ended[member] = true,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::fault("all members have ended: look at their limits"));
                }
            }
        }
    }

    /// Lets time pass.
    ///
    /// # Errors
    ///
    /// The user has seen enough.
    pub fn watch(&mut self, time: Duration) -> Result<(), Failure> {
        self.reaches(time, |_| false).map(drop)
    }

    fn what_is_seen(&self) -> String {
        let seen = self.histories.iter().map(|history| history.last().map_or(0, |line| line.members.len()));
        let seen: Vec<String> = seen.map(|count| count.to_string()).collect();
        format!("members see this many: {}", seen.join(", "))
    }
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
