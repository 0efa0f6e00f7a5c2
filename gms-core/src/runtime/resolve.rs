//! Seeds: their syntax, and names turned into addresses on threads of their own.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self as std_mpsc, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::member::canonical;
use crate::runtime::clock;

/// Wait before a name is resolved again, at first.
const AGAIN_MIN: Duration = Duration::from_millis(500);
/// The same, at last.
const AGAIN_MAX: Duration = Duration::from_secs(30);
/// How long a start waits for the first seed's address, to know on which interface it lies.
const FIRST_WAIT: Duration = Duration::from_secs(3);

/// A seed that can't be one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("seed {seed:?} {why}: write HOST:PORT, IP:PORT, [IPV6]:PORT or dns:NAME:PORT")]
pub struct SeedError {
    /// What was given.
    pub seed: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// One seed as it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Seed {
    /// An address.
    Address(SocketAddr),
    /// A host's name: one process, at one address of that name.
    Host(String, u16),
    /// A name whose every address is a process.
    All(String, u16),
}

impl Seed {
    pub(super) fn parse(seed: &str) -> Result<Self, SeedError> {
        let error = |why| SeedError { seed: seed.into(), why };
        if let Ok(addr) = seed.parse::<SocketAddr>() {
            if addr.ip().is_unspecified() || addr.port() == 0 {
                return Err(error("is an address that nobody can send to"));
            }
            return Ok(Self::Address(canonical(addr)));
        }
        let (all, rest) = seed.strip_prefix("dns:").map_or((false, seed), |rest| (true, rest));
        let (host, port) = rest.rsplit_once(':').ok_or_else(|| error("has no port"))?;
        let port =
            port.parse::<u16>().ok().filter(|port| *port != 0).ok_or_else(|| error("has no valid port"))?;
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
        if host.is_empty() || !host.chars().all(is_name) || (all && host.parse::<IpAddr>().is_ok()) {
            return Err(error("has no valid name"));
        }
        Ok(if all { Self::All(host.into(), port) } else { Self::Host(host.into(), port) })
    }

    /// How many processes these seeds are, as far as they and what their names resolved to tell: known only if no
    /// name stands for many. Seeds at the same address are one.
    pub(super) fn count(seeds: &[Self], resolved: &[Vec<SocketAddr>], own: IpAddr) -> Option<u16> {
        let mut distinct: Vec<(Option<SocketAddr>, &Self)> = Vec::new();
        for (index, seed) in seeds.iter().enumerate() {
            if seed.is_many() {
                return None;
            }
            let addresses = resolved.get(index).map_or(&[][..], Vec::as_slice);
            let addr = seed.choose(addresses, own.is_ipv4()).first().copied();
            if !distinct.iter().any(|(known, other)| *other == seed || addr.is_some() && *known == addr) {
                distinct.push((addr, seed));
            }
        }
        u16::try_from(distinct.len()).ok()
    }

    /// Whether the count of these seeds depends on what their names resolve to.
    pub(super) fn count_needs_look(seeds: &[Self]) -> bool {
        seeds.len() > 1 && !seeds.iter().all(Self::is_address) && !seeds.iter().any(Self::is_many)
    }

    /// Where to ask, of the addresses of the seed's name: a host is one process, in the family of the member.
    fn choose<'a>(&self, addresses: &'a [SocketAddr], prefers_ipv4: bool) -> &'a [SocketAddr] {
        let preferred = addresses.iter().position(|addr| addr.is_ipv4() == prefers_ipv4);
        match self {
            Self::Host(..) if !addresses.is_empty() => {
                let at = preferred.unwrap_or(0);
                &addresses[at..=at]
            }
            _ => addresses,
        }
    }

    const fn is_many(&self) -> bool {
        matches!(self, Self::All(..))
    }

    /// Whether its address is known without asking anybody.
    pub(super) const fn is_address(&self) -> bool {
        matches!(self, Self::Address(_))
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(addr) => addr.fmt(f),
            Self::Host(name, port) => write!(f, "{name}:{port}"),
            Self::All(name, port) => write!(f, "dns:{name}:{port}"),
        }
    }
}

/// How a name becomes addresses; may block.
pub(super) type Lookup = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// The system's resolver.
pub(super) fn system_lookup() -> Lookup {
    Arc::new(|name, port| Ok((name, port).to_socket_addrs()?.map(canonical).collect()))
}

/// What the seeds resolve to at once, waiting for their names for a bounded time; nothing for those that take longer
/// or can't be resolved. Blocks.
pub(super) fn first_look(seeds: &[Seed], lookup: &Lookup) -> Vec<Vec<SocketAddr>> {
    let (done, results) = std_mpsc::channel();
    let mut found = Vec::new();
    for (index, seed) in seeds.iter().enumerate() {
        let (name, port) = match seed {
            Seed::Address(addr) => {
                found.push(vec![*addr]);
                continue;
            }
            Seed::Host(name, port) | Seed::All(name, port) => (name.clone(), *port),
        };
        found.push(Vec::new());
        let (lookup, done) = (Arc::clone(lookup), done.clone());
        let look = move || {
            // An error says that nobody waits for it any more.
            let _ = done.send((index, lookup(&name, port).unwrap_or_default()));
        };
        // Where there is no thread, the name counts as one that can't be resolved.
        drop(std::thread::Builder::new().name("gms-first-seed".into()).spawn(look));
    }
    drop(done);
    let until = clock::now() + FIRST_WAIT;
    while let Ok((index, addresses)) = results.recv_timeout(until.since(clock::now())) {
        found[index] = addresses;
    }
    found
}

/// Keeps the seeds' addresses current.
#[derive(Debug)]
pub(super) struct Resolver {
    seeds: Vec<Seed>,
    /// What each seed resolved to, last.
    addresses: Vec<Vec<SocketAddr>>,
    /// Which family a host with addresses of both is asked at.
    prefers_ipv4: bool,
    results: mpsc::UnboundedReceiver<(usize, Vec<SocketAddr>)>,
    /// Wakes the thread of each name; dropped, they end.
    threads: Vec<std_mpsc::SyncSender<()>>,
}

impl Resolver {
    /// Begins to resolve; `own` is the member's address.
    ///
    /// # Errors
    ///
    /// A thread can't be started.
    pub(super) fn start(seeds: Vec<Seed>, own: IpAddr, lookup: &Lookup) -> io::Result<Self> {
        let (found, results) = mpsc::unbounded_channel();
        let mut threads = Vec::new();
        let mut addresses = Vec::new();
        for (index, seed) in seeds.iter().enumerate() {
            match seed {
                Seed::Address(addr) => addresses.push(vec![*addr]),
                Seed::Host(name, port) | Seed::All(name, port) => {
                    addresses.push(Vec::new());
                    let (wake, woken) = std_mpsc::sync_channel(1);
                    threads.push(wake);
                    let (name, port) = (name.clone(), *port);
                    let (lookup, found) = (Arc::clone(lookup), found.clone());
                    let tell = move |addresses| found.send((index, addresses)).is_ok();
                    std::thread::Builder::new()
                        .name("gms-resolver".into())
                        .spawn(move || resolve_forever(&name, port, &lookup, &woken, &tell))?;
                }
            }
        }
        Ok(Self { seeds, addresses, prefers_ipv4: own.is_ipv4(), results, threads })
    }

    /// Waits until a name is resolved; never returns where there is none. May be cancelled.
    pub(super) async fn wait(&mut self) {
        match self.results.recv().await {
            Some((index, addresses)) => self.addresses[index] = addresses,
            None => std::future::pending().await,
        }
    }

    /// All addresses that are known now, each once, in the order of the seeds.
    pub(super) fn addresses(&mut self) -> Vec<SocketAddr> {
        while let Ok((index, addresses)) = self.results.try_recv() {
            self.addresses[index] = addresses;
        }
        let mut all = Vec::new();
        for (seed, addresses) in self.seeds.iter().zip(&self.addresses) {
            all.extend_from_slice(seed.choose(addresses, self.prefers_ipv4));
        }
        let mut distinct = Vec::with_capacity(all.len());
        for addr in all {
            if !distinct.contains(&addr) {
                distinct.push(addr);
            }
        }
        distinct
    }

    /// The seeds whose names never resolved, each once.
    pub(super) fn unresolved(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (seed, _) in self.seeds.iter().zip(&self.addresses).filter(|(_, found)| found.is_empty()) {
            let name = seed.to_string();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Resolves all names again, soon.
    pub(super) fn again(&self) {
        for thread in &self.threads {
            // A full channel says that it is asked already.
            let _ = thread.try_send(());
        }
    }
}

/// Resolves one name with growing waits between, until nobody listens. What it last resolved to is kept while it
/// can't be resolved.
fn resolve_forever(
    name: &str,
    port: u16,
    lookup: &Lookup,
    woken: &std_mpsc::Receiver<()>,
    tell: &dyn Fn(Vec<SocketAddr>) -> bool,
) {
    let mut wait = AGAIN_MIN;
    let mut last_error = None;
    loop {
        match lookup(name, port) {
            Ok(addresses) if !addresses.is_empty() => {
                last_error = None;
                if !tell(addresses) {
                    return;
                }
            }
            other => {
                let error =
                    other.map_or_else(|error| error.to_string(), |_| String::from("it has no address"));
                if last_error.as_ref() != Some(&error) {
                    tracing::warn!(target: "gms::seed_unresolved", name, port, %error);
                }
                last_error = Some(error);
            }
        }
        match woken.recv_timeout(wait) {
            Ok(()) => wait = AGAIN_MIN,
            Err(RecvTimeoutError::Timeout) => wait = (wait * 2).min(AGAIN_MAX),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests;
