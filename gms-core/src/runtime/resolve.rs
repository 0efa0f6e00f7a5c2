//! Seeds: their syntax, and names turned into addresses on threads of their own.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self as std_mpsc, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::member::canonical;

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

    /// How many processes these seeds are, as far as the list tells: known only if no name stands for many.
    pub(super) fn count(seeds: &[Self]) -> Option<u16> {
        let mut distinct: Vec<&Self> = Vec::new();
        for seed in seeds {
            match seed {
                Self::All(..) => return None,
                seed if distinct.contains(&seed) => {}
                seed => distinct.push(seed),
            }
        }
        u16::try_from(distinct.len()).ok()
    }

    /// Whether its address is known without asking anybody.
    pub(super) const fn is_address(&self) -> bool {
        matches!(self, Self::Address(_))
    }
}

/// How a name becomes addresses; may block.
pub(super) type Lookup = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// The system's resolver.
pub(super) fn system_lookup() -> Lookup {
    Arc::new(|name, port| Ok((name, port).to_socket_addrs()?.map(canonical).collect()))
}

/// The first address of the first seed, waiting for its name for a bounded time. Blocks.
pub(super) fn first_address(seeds: &[Seed], lookup: &Lookup) -> Option<SocketAddr> {
    match seeds.first()? {
        Seed::Address(addr) => Some(*addr),
        Seed::Host(name, port) | Seed::All(name, port) => {
            let (done, result) = std_mpsc::channel();
            let (name, port, lookup) = (name.clone(), *port, Arc::clone(lookup));
            let look = move || {
                // An error says that nobody waits for it any more.
                let _ = done.send(lookup(&name, port));
            };
            std::thread::Builder::new().name("gms-first-seed".into()).spawn(look).ok()?;
            result.recv_timeout(FIRST_WAIT).ok()?.ok()?.first().copied()
        }
    }
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
            let one = matches!(seed, Seed::Host(..));
            let preferred = addresses.iter().find(|addr| addr.is_ipv4() == self.prefers_ipv4);
            let chosen: Vec<_> = if one {
                preferred.or_else(|| addresses.first()).into_iter().copied().collect()
            } else {
                addresses.clone()
            };
            all.extend(chosen);
        }
        let mut distinct = Vec::with_capacity(all.len());
        for addr in all {
            if !distinct.contains(&addr) {
                distinct.push(addr);
            }
        }
        distinct
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
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn each_form_of_a_seed_is_understood() {
        let table = [
            ("10.0.0.1:7790", Seed::Address(addr("10.0.0.1:7790"))),
            ("[fd00::1]:7790", Seed::Address(addr("[fd00::1]:7790"))),
            ("[::ffff:10.0.0.1]:7790", Seed::Address(addr("10.0.0.1:7790"))),
            ("db-1.example:7790", Seed::Host("db-1.example".into(), 7790)),
            ("dns:gms.internal:7790", Seed::All("gms.internal".into(), 7790)),
        ];
        for (text, seed) in table {
            assert_eq!(Seed::parse(text), Ok(seed));
        }
    }

    #[test]
    fn a_seed_with_wrong_syntax_is_named() {
        for text in
            ["", "host", "host:", "host:0", "host:99999", ":7790", "fd00::1:7790", "a b:1", "dns:7790"]
        {
            assert_eq!(Seed::parse(text).unwrap_err().seed, text);
        }
        let error = Seed::parse("0.0.0.0:7790").unwrap_err().to_string();
        assert!(error.starts_with("seed \"0.0.0.0:7790\" is an address that nobody can send to"), "{error}");
    }

    #[test]
    fn seeds_are_counted_once_and_not_where_a_name_stands_for_many() {
        let seeds = |texts: &[&str]| texts.iter().map(|t| Seed::parse(t).unwrap()).collect::<Vec<_>>();
        assert_eq!(Seed::count(&seeds(&["a:1", "b:1", "a:1", "10.0.0.1:1"])), Some(3));
        assert_eq!(Seed::count(&seeds(&["a:1", "dns:b:1"])), None);
    }

    #[tokio::test]
    async fn names_are_resolved_beside_and_again_when_asked() {
        let answers = Arc::new(Mutex::new(vec![
            vec![addr("10.0.0.3:1"), addr("10.0.0.1:1")],
            vec![addr("[fd00::2]:1"), addr("10.0.0.2:1")],
        ]));
        let lookup: Lookup = Arc::new(move |name, _| match name {
            "many" => Ok(answers.lock().unwrap().pop().unwrap_or_default()),
            _ => Err(io::Error::other("no such name")),
        });
        let seeds = vec![
            Seed::Address(addr("10.0.0.1:1")),
            Seed::All("many".into(), 1),
            Seed::Host("unknown".into(), 1),
        ];
        let mut resolver = Resolver::start(seeds, addr("10.0.0.9:1").ip(), &lookup).unwrap();
        resolver.wait().await;
        assert_eq!(resolver.addresses(), ["10.0.0.1:1", "[fd00::2]:1", "10.0.0.2:1"].map(addr));
        resolver.again();
        resolver.wait().await;
        assert_eq!(resolver.addresses(), ["10.0.0.1:1", "10.0.0.3:1"].map(addr), "each once");
    }

    #[tokio::test]
    async fn a_host_is_one_process_at_an_address_of_the_members_family() {
        let lookup: Lookup = Arc::new(|_, _| Ok(vec![addr("[fd00::2]:1"), addr("10.0.0.2:1")]));
        for (own, expected) in [("10.0.0.9:1", "10.0.0.2:1"), ("[fd00::9]:1", "[fd00::2]:1")] {
            let seeds = vec![Seed::Host("host".into(), 1)];
            let mut resolver = Resolver::start(seeds, addr(own).ip(), &lookup).unwrap();
            resolver.wait().await;
            assert_eq!(resolver.addresses(), [addr(expected)]);
        }
    }

    #[test]
    fn the_first_address_is_that_of_the_first_seed() {
        let lookup: Lookup = Arc::new(|_, _| Ok(vec![addr("10.0.0.2:1")]));
        assert_eq!(first_address(&[], &lookup), None);
        assert_eq!(first_address(&[Seed::Host("h".into(), 1)], &lookup), Some(addr("10.0.0.2:1")));
    }
}
