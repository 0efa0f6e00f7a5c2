//! The builder: settings of a member, their check, and the start of its thread.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::config::{Config, ConfigError, Profile, QuorumLoss, TimingOverrides};
use crate::member::{RecordFault, Weight};
use crate::runtime::advertise::{self, Advertise};
use crate::runtime::driver::Driver;
use crate::runtime::events::{CAPACITY_DEFAULT, EventSink, EventStream};
use crate::runtime::handle::Gms;
use crate::runtime::resolve::{self, Resolver, Seed, SeedError};
use crate::runtime::setup::Setup;
use crate::runtime::shared::Shared;
use crate::runtime::trace::{TraceSink, Tracer};
use crate::transport::Transport;

/// A number of seeds that no list reaches: with it a name that stands for many founds nothing by itself.
const SEEDS_UNKNOWN: u16 = 1000;

/// How long a transport may take to close behind a loop that died.
const CLOSING: Duration = Duration::from_secs(1);

/// Why a member did not start. Nothing runs, and the transport is closed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A setting is out of bounds.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A seed is malformed.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// The member's record is out of bounds.
    #[error("the member's record is out of bounds: {0}")]
    Member(#[from] RecordFault),
    /// The member would found a cluster without any weight, which could decide nothing.
    #[error("a founder needs a weight above 0: set one, or name seeds")]
    WeightlessFounder,
    /// The system gives no thread or no randomness.
    #[error("the system gives no thread or randomness: {0}")]
    System(#[from] io::Error),
}

/// Settings of a member; see [`Config`] for what they mean.
#[derive(Debug)]
#[must_use = "a member runs once it is started"]
pub struct Builder {
    config: Config,
    name: Option<String>,
    seeds: Vec<String>,
    member_timeout: Option<Duration>,
    profile: Option<Profile>,
    weight: Weight,
    coordinator_eligible: bool,
    tags: Vec<(String, String)>,
    rejoin: bool,
    advertise: Option<Advertise>,
    event_capacity: usize,
    trace: Tracer,
}

impl Builder {
    pub(super) fn new(cluster: String) -> Self {
        Self {
            config: Config::new(cluster),
            name: None,
            seeds: Vec::new(),
            member_timeout: None,
            profile: None,
            weight: Weight::DEFAULT,
            coordinator_eligible: true,
            tags: Vec::new(),
            rejoin: true,
            advertise: None,
            event_capacity: CAPACITY_DEFAULT,
            trace: Tracer::default(),
        }
    }

    /// The member's name, unique among live members. Default: `member-` and the start of its id.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Seeds, in addition to those set before: `HOST:PORT`, `IP:PORT`, `[IPV6]:PORT`, or `dns:NAME:PORT` for all
    /// addresses of a name. Without any the member founds a cluster.
    pub fn join<S: Into<String>>(mut self, seeds: impl IntoIterator<Item = S>) -> Self {
        self.seeds.extend(seeds.into_iter().map(Into::into));
        self
    }

    /// The member timeout T; stronger than [`Builder::timing`] and [`Builder::profile`].
    pub const fn member_timeout(mut self, timeout: Duration) -> Self {
        self.member_timeout = Some(timeout);
        self
    }

    /// Timing values; those that are not set derive from T, or are the cluster's.
    pub fn timing(mut self, timing: TimingOverrides) -> Self {
        self.config.timing = timing;
        self
    }

    /// A preset of T.
    pub const fn profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// The member's share in decisions. Default 10. A member without seeds, which founds a cluster, needs one above 0.
    pub const fn weight(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }

    /// Whether the member takes office before those that are not eligible. Default: yes.
    pub const fn coordinator_eligible(mut self, eligible: bool) -> Self {
        self.coordinator_eligible = eligible;
        self
    }

    /// A further tag of the member.
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.push((key.into(), value.into()));
        self
    }

    /// How long joining is tried. Default 24 s.
    pub const fn join_timeout(mut self, timeout: Duration) -> Self {
        self.config.join_timeout = timeout;
        self
    }

    /// How long leaving waits for a view without the member. Default T.
    pub const fn leave_timeout(mut self, timeout: Duration) -> Self {
        self.config.leave_timeout = Some(timeout);
        self
    }

    /// What happens when the majority is lost for long. Default: wait.
    pub const fn quorum_loss(mut self, quorum_loss: QuorumLoss) -> Self {
        self.config.quorum_loss = quorum_loss;
        self
    }

    /// How long the majority must be lost before [`Builder::quorum_loss`] acts. Default 4 T.
    pub const fn quorum_loss_timeout(mut self, timeout: Duration) -> Self {
        self.config.quorum_loss_timeout = Some(timeout);
        self
    }

    /// Whether the member joins again, as a new incarnation, after it was excluded. Default: yes.
    pub const fn rejoin(mut self, rejoin: bool) -> Self {
        self.rejoin = rejoin;
        self
    }

    /// How many seed processes there are, where the list can't tell: needed to found a cluster from a `dns:` seed.
    pub const fn expect_seeds(mut self, count: u16) -> Self {
        self.config.expected_seeds = Some(count);
        self
    }

    /// Where peers reach the member. Default: where its transport is bound; if that is any address, that of the
    /// interface towards the first seed, else towards the default route, else loopback.
    pub const fn advertise(mut self, advertise: Advertise) -> Self {
        self.advertise = Some(advertise);
        self
    }

    /// How many events a reader may be behind before it loses some. Default 1024.
    pub const fn event_capacity(mut self, events: usize) -> Self {
        self.event_capacity = events;
        self
    }

    /// Records every protocol step.
    pub fn trace(mut self, sink: Box<dyn TraceSink>) -> Self {
        self.trace = Tracer(Some(sink));
        self
    }

    /// Starts the member, and returns when its loop runs. It joins in the background: see [`Gms::joined`].
    ///
    /// # Errors
    ///
    /// [`StartError`]; nothing runs then.
    pub async fn start(self, transport: impl Transport) -> Result<(Gms, EventStream), StartError> {
        let transport: Arc<dyn Transport> = Arc::new(transport);
        let (ready, started) = oneshot::channel();
        let on_thread = Arc::clone(&transport);
        let thread = std::thread::Builder::new().name("gms-driver".into());
        let spawned = thread.spawn(move || self.run(on_thread, ready));
        let result = match spawned {
            Ok(_detached) => {
                started.await.unwrap_or_else(|_| Err(io::Error::other("the thread died").into()))
            }
            Err(error) => Err(error.into()),
        };
        if result.is_err() {
            transport.close().await;
        }
        result
    }

    /// The member's thread.
    fn run(
        self,
        transport: Arc<dyn Transport>,
        ready: oneshot::Sender<Result<(Gms, EventStream), StartError>>,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let kept = Arc::clone(&transport);
        let prepared = runtime.map_err(Into::into).and_then(|runtime| {
            let (driver, gms, events) = runtime.block_on(async { self.prepare(transport) })?;
            Ok((runtime, driver, gms, events))
        });
        match prepared {
            Ok((runtime, driver, gms, events)) => {
                // Where the caller is gone already, the handle is dropped here and the member leaves.
                let _ = ready.send(Ok((gms, events)));
                let ran = catch_unwind(AssertUnwindSafe(|| runtime.block_on(driver.run())));
                if let Err(panic) = ran {
                    // Others must not find a listener without a loop behind it.
                    runtime.block_on(async { timeout(CLOSING, kept.close()).await.ok() });
                    resume_unwind(panic);
                }
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        }
    }

    fn prepare(mut self, transport: Arc<dyn Transport>) -> Result<(Driver, Gms, EventStream), StartError> {
        let seeds = self.seeds.iter().map(|seed| Seed::parse(seed)).collect::<Result<Vec<_>, _>>()?;
        self.complete_config(&seeds);
        self.config.validate()?;
        if seeds.is_empty() && self.weight.get() == 0 {
            return Err(StartError::WeightlessFounder);
        }
        let lookup = resolve::system_lookup();
        self.config.take_turns = !transport.watch_shows_crashes();
        let bound = transport.endpoint();
        let needs_first = self.advertise.is_none() && bound.addr.ip().is_unspecified();
        let needs_count = self.config.expected_seeds.is_none() && !seeds.iter().all(Seed::is_address);
        let looked_at = match needs_count && Seed::count_needs_look(&seeds) {
            true => seeds.len(),
            false => usize::from(needs_first).min(seeds.len()),
        };
        let found = resolve::first_look(&seeds[..looked_at], &lookup);
        let first_seed = found.first().and_then(|addresses| addresses.first()).filter(|_| needs_first);
        let endpoint = advertise::choose(bound, self.advertise, first_seed.copied());
        if needs_count {
            // Names may resolve later than others: a list that is not complete yet must not found with itself alone.
            let count = Seed::count(&seeds, &found, endpoint.addr.ip());
            self.config.expected_seeds = count.or(Some(SEEDS_UNKNOWN));
            self.config.validate()?;
        }
        let mut setup = Setup {
            name: self.name,
            weight: self.weight,
            coordinator_eligible: self.coordinator_eligible,
            tags: self.tags,
            rejoin: self.rejoin,
            ..Setup::new(self.config, endpoint)
        };
        let me = setup.incarnation()?;
        if let Some(fault) = me.fault() {
            return Err(fault.into());
        }
        let resolver = Resolver::start(seeds, endpoint.addr.ip(), &lookup)?;
        let sink = EventSink::new(&me.name, self.event_capacity);
        let events = sink.subscriptions().subscribe();
        let shared = Arc::new(Shared::new(me.clone(), sink.subscriptions(), Arc::clone(&transport)));
        let (requests, received) = mpsc::unbounded_channel();
        let gms = Gms::new(Arc::clone(&shared), requests);
        let driver = Driver::new(setup, me, transport, shared, sink, self.trace, resolver, received)?;
        Ok((driver, gms, events))
    }

    fn complete_config(&mut self, seeds: &[Seed]) {
        let preset = self.profile.map(Profile::member_timeout);
        let timing = &mut self.config.timing;
        timing.member_timeout = self.member_timeout.or(timing.member_timeout).or(preset);
        self.config.has_seeds = !seeds.is_empty();
    }
}
