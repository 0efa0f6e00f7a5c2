//! The joiner: a process that is in no view yet. It asks its seeds, founds a cluster with them or asks the
//! coordinator to be let in, and gives up after the join timeout with what each seed answered.
//!
//! It is in when a view contains it; the view's arrival is the node's business.

mod letting_in;
mod sent;

use std::net::SocketAddr;
use std::time::Duration;

use fastrand::Rng;

use crate::config::{Config, Timing, TimingOverrides};
use crate::event::{JoinFailure, SeedAnswer};
use crate::input::{ReplyHandle, SendFailure};
use crate::member::{ClusterId, Member, MemberId, ShortId};
use crate::message::{ClusterInfo, DatagramBody, FrameBody, JoinRefusal};
use crate::outbox::Outbox;
use crate::output::FrameToken;
use crate::time::Timestamp;
use crate::timer::WakeReason;
use crate::view::ViewId;

use super::announce::QUESTION_PADDING;
use letting_in::Asked;
use sent::{Purpose, Sent};

use super::founding::{Founding, Ground, Step, draw_cluster_id};
use super::seeds::Seeds;
use super::strays::Strays;

/// First and longest wait between two rounds of questions to the seeds.
const ASK_AFTER_MIN: Duration = Duration::from_millis(50);
const ASK_AFTER_MAX: Duration = Duration::from_secs(1);
/// How long the first answer waits for those of other seeds, so that the better of two clusters is chosen.
const SETTLE: Duration = Duration::from_millis(50);
/// Shortest time between two joins: to the same coordinator, and to one that another named.
const JOIN_AGAIN_MIN: Duration = Duration::from_millis(200);
const REDIRECT_MIN: Duration = Duration::from_millis(20);
/// How long one attempt to found waits for its answers: a heartbeat interval within these bounds, so that round trips
/// fit which the timing is made for.
const PACE_MIN: Duration = Duration::from_millis(100);
const PACE_MAX: Duration = Duration::from_secs(1);

/// How joining ended, where it did not end with a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum JoinOutcome {
    /// This process founds the cluster with this id.
    Found(ClusterId),
    /// It could not join.
    Failed(JoinFailure),
}

/// The joining machine.
///
/// `handle_*` take what arrives, [`Joining::poll_timeout`] says when to call [`Joining::handle_timeout`], and
/// [`Joining::outcome`] is to be asked after each of them. Once it gave an outcome the machine does nothing.
#[derive(Debug)]
pub(crate) struct Joining {
    me: Member,
    cluster_name: String,
    overrides: TimingOverrides,
    timing: Timing,
    rng: Rng,
    strays: Strays,
    started: Timestamp,
    deadline: Timestamp,
    seeds: Seeds,
    founding: Founding,
    ask_at: Timestamp,
    /// Rounds of questions since something new was learned.
    rounds: u32,
    /// When this process becomes old enough to promise; `None` once it is.
    grown_up_at: Option<Timestamp>,
    join_at: Option<Timestamp>,
    first_cluster_at: Option<Timestamp>,
    asked: Option<Asked>,
    /// For each cluster asked: the newest view known of when it was first asked.
    asked_in: Vec<(ClusterId, ViewId)>,
    /// When a coordinator last said anything to this process's joins, or when the first join went out.
    last_word: Option<Timestamp>,
    sent: Sent,
    refusal: Option<JoinRefusal>,
    outcome: Option<JoinOutcome>,
    is_over: bool,
}

impl Joining {
    /// A process that begins to join. Without seeds it founds a cluster at once.
    ///
    /// # Panics
    ///
    /// If `config` was not validated.
    //= docs/protocol.md#vw-10
    pub(crate) fn new(config: &Config, me: &Member, seed: u64, now: Timestamp) -> Self {
        let mut rng = Rng::with_seed(seed);
        let timing = config.timing.resolve().expect("a validated configuration has valid timing");
        let alone = (!config.has_seeds).then(|| JoinOutcome::Found(draw_cluster_id(me.id, &mut rng)));
        let name = config.cluster_name.clone();
        let expected = config.expected_seeds.map(usize::from);
        Self {
            me: me.clone(),
            cluster_name: name.clone(),
            overrides: config.timing.clone(),
            strays: Strays::default(),
            rng,
            started: now,
            deadline: now + config.join_timeout,
            seeds: Seeds::new(me.id, me.endpoint.addr, name.clone(), expected, now),
            founding: Founding::new(me.id, me.endpoint, name),
            ask_at: Timestamp::FAR_FUTURE,
            rounds: 0,
            grown_up_at: Some(now + timing.founding_age()),
            join_at: None,
            first_cluster_at: None,
            asked: None,
            asked_in: Vec::new(),
            last_word: None,
            sent: Sent::default(),
            refusal: None,
            is_over: alone.is_some(),
            outcome: alone,
            timing,
        }
    }

    /// The cluster that this process asked to be let in: the one whose view it awaits.
    pub(crate) fn cluster_to_expect(&self) -> Option<ClusterId> {
        self.asked.map(|asked| asked.cluster)
    }

    /// How it ended, told once.
    pub(crate) const fn outcome(&mut self) -> Option<JoinOutcome> {
        self.outcome.take()
    }

    /// Seeds through which this process can't join as it is set up.
    pub(crate) fn misfits(&self) -> impl Iterator<Item = (SocketAddr, &SeedAnswer)> {
        self.seeds.misfits()
    }

    /// When to call [`Joining::handle_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<(Timestamp, WakeReason)> {
        if self.is_over {
            return None;
        }
        let due = [Some(self.deadline), Some(self.ask_at), self.join_at, self.grown_up_at];
        let at = due.into_iter().chain([self.founding.poll_timeout()]).flatten().min()?;
        Some((at, WakeReason::Joining))
    }

    /// The seeds' addresses as they resolve at the moment.
    pub(crate) fn handle_seeds(&mut self, now: Timestamp, seeds: &[SocketAddr], out: &mut Outbox) {
        if self.is_over {
            return;
        }
        if self.seeds.replace(seeds) {
            self.ask_at = now;
            self.rounds = 0;
        }
        self.advance(now, out);
    }

    /// Answers a joiner: this process is in no cluster yet. Also asked by itself, which tells it that it is a seed.
    pub(crate) fn handle_find_coordinator(
        &self,
        now: Timestamp,
        from: SocketAddr,
        reply: Option<ReplyHandle>,
        asker: MemberId,
        out: &mut Outbox,
    ) {
        let info = ClusterInfo {
            cluster_name: self.cluster_name.clone(),
            sender: self.me.id,
            age: now.since(self.started),
            membership: None,
        };
        match reply {
            Some(reply) => out.reply(reply, asker.short(), FrameBody::Coordinator(info)),
            None => out.datagram_to(from, asker.short(), DatagramBody::Coordinator(Box::new(info))),
        }
    }

    /// Takes an answer to a question, a redirect or an announcement.
    //= docs/protocol.md#vw-9
    pub(crate) fn handle_cluster_info(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        info: &ClusterInfo,
        out: &mut Outbox,
    ) {
        if self.is_over {
            return;
        }
        if let Some(asked) = &mut self.asked {
            asked.handle_cluster_info(info);
        }
        self.seeds.record(now, from, info);
        self.founding.handle_answer(from, info.sender);
        self.advance(now, out);
    }

    /// Takes a founder's question or a seed process's answer; `sender` is who says it.
    pub(crate) fn handle_found_message(
        &mut self,
        now: Timestamp,
        sender: ShortId,
        reply: ReplyHandle,
        body: &FrameBody,
        out: &mut Outbox,
    ) {
        if self.is_over {
            return;
        }
        let awaited = self.founding.awaited_founder().map(|f| f.member);
        self.with_founding(now, out, |founding, step| founding.handle_message(step, sender, reply, body));
        if self.founding.awaited_founder().map(|f| f.member) != awaited {
            // The founder it accepted answers as a cluster any moment.
            self.rounds = 0;
            self.ask_at = self.ask_at.min(now + ASK_AFTER_MIN);
        }
        self.advance(now, out);
    }

    /// Takes a coordinator's refusal: the end, unless asking again may succeed.
    pub(crate) fn handle_join_refused(&mut self, now: Timestamp, reason: &JoinRefusal, out: &mut Outbox) {
        let Some(asked) = self.asked.filter(|_| !self.is_over) else { return };
        self.refusal = Some(reason.clone());
        self.last_word = Some(now);
        // The same id asking again can't help: whoever made this process draws another.
        if !reason.is_retriable() || *reason == JoinRefusal::IdInUse {
            self.fail(now);
            return;
        }
        if *reason == JoinRefusal::Isolated {
            self.seeds.mark_isolated(asked.cluster);
        }
        self.advance(now, out);
    }

    /// Takes the news that a frame of this process did not arrive.
    pub(crate) fn handle_frame_failed(
        &mut self,
        now: Timestamp,
        token: FrameToken,
        failure: SendFailure,
        out: &mut Outbox,
    ) {
        let purpose = self.sent.take(token);
        if self.is_over || purpose.is_none() {
            return;
        }
        let refused = failure == SendFailure::Refused;
        match purpose {
            Some(Purpose::Seed(addr)) => self.seeds.record_failure(addr, failure),
            Some(Purpose::Founder(id)) if refused => {
                self.founding.handle_founder_refused(now, id, self.timing.founding_age());
            }
            Some(Purpose::Holder) => {
                if let Some(asked) = &mut self.asked {
                    asked.is_urgent = true;
                }
            }
            // The coordinator is gone or cut off: the others may know another one soon.
            Some(Purpose::Join) => {
                self.rounds = 0;
                self.ask_at = self.ask_at.min(now + ASK_AFTER_MIN);
            }
            _ => {}
        }
        self.advance(now, out);
    }

    /// Somebody speaks for a cluster to an incarnation that was at this address before.
    pub(crate) fn handle_stray(&mut self, now: Timestamp, from: SocketAddr, out: &mut Outbox) {
        if !self.is_over {
            self.strays.ask(now, ASK_AFTER_MIN, from, (&self.cluster_name, self.me.id), out);
        }
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, out: &mut Outbox) {
        if !self.is_over {
            self.advance(now, out);
        }
    }

    fn advance(&mut self, now: Timestamp, out: &mut Outbox) {
        if now >= self.deadline {
            self.fail(now);
            return;
        }
        self.grown_up_at = self.grown_up_at.filter(|at| now < *at);
        if now >= self.ask_at {
            self.ask(now, out);
        }
        self.join(now, out);
        self.with_founding(now, out, Founding::handle_timeout);
        if let Some(cluster) = self.founding.founded() {
            self.outcome = Some(JoinOutcome::Found(cluster));
            self.is_over = true;
        }
    }

    /// Asks every seed by datagram, and in every second round on a stream too: a seed may be reachable by one of them
    /// only, and a refused connection tells at once that nobody is there.
    fn ask(&mut self, now: Timestamp, out: &mut Outbox) {
        let (cluster_name, asker) = (&self.cluster_name, self.me.id);
        let on_streams = self.rounds % 2 == 1;
        let mut sent = Vec::new();
        for addr in self.seeds.to_ask() {
            let (cluster_name, padding) = (cluster_name.clone(), vec![0; QUESTION_PADDING]);
            let body = DatagramBody::FindCoordinator { cluster_name, asker, padding };
            out.datagram_to(addr, ShortId::default(), body);
            if on_streams {
                let body = FrameBody::FindCoordinator { cluster_name: self.cluster_name.clone(), asker };
                sent.push((out.frame_to(addr, ShortId::default(), body), Purpose::Seed(addr)));
            }
        }
        if let Some(founder) = self.founding.awaited_founder() {
            let body = FrameBody::FindCoordinator { cluster_name: cluster_name.clone(), asker };
            let token = out.frame_to(founder.endpoint.check_addr, ShortId::default(), body);
            sent.push((token, Purpose::Founder(founder.member)));
        }
        self.sent.remember(sent);
        let wait = ASK_AFTER_MIN.saturating_mul(1 << self.rounds.min(8)).min(ASK_AFTER_MAX);
        let jitter = u64::try_from((wait / 2).as_nanos()).unwrap_or(u64::MAX);
        self.ask_at = now + wait * 3 / 4 + Duration::from_nanos(self.rng.u64(0..=jitter));
        self.rounds = self.rounds.saturating_add(1);
    }

    fn with_founding(
        &mut self,
        now: Timestamp,
        out: &mut Outbox,
        act: impl FnOnce(&mut Founding, &mut Step<'_>),
    ) {
        let ground = Ground {
            processes: self.seeds.processes(now),
            seats: self.seeds.seats(now),
            is_seed: self.seeds.contains_me(),
            knows_cluster: self.seeds.best_cluster(now, None).is_some(),
            age: now.since(self.started),
            founding_age: self.timing.founding_age(),
            pace: self.timing.heartbeat_interval.clamp(PACE_MIN, PACE_MAX),
        };
        let mut step = Step { now, ground: &ground, rng: &mut self.rng, out, sent: Vec::new() };
        act(&mut self.founding, &mut step);
        let sent = step.sent.into_iter().map(|(token, addr)| (token, Purpose::Seed(addr)));
        self.sent.remember(sent);
    }

    fn fail(&mut self, now: Timestamp) {
        self.is_over = true;
        self.outcome = Some(JoinOutcome::Failed(JoinFailure {
            refusal: self.refusal.clone(),
            seeds: self.seeds.answers(),
            unresolved: Vec::new(),
            tried_for: now.since(self.started),
        }));
    }
}

#[cfg(test)]
mod tests;
