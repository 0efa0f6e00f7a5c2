//! One member that some do not hear, and the others: echoes, fences and views between them, in ticks of time.
//!
//! The member is called the victim. What is modelled is all that goes into its own reckoning of two-way contact, and all that
//! goes into the fences against it. Everything happens at whole ticks and in any order within one; a datagram may take any
//! time, or be lost.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::health::contacts::{Contacts, Shown};
use crate::health::isolation::{self, Pending};
use crate::membership::acceptor::Acceptor;
use crate::membership::fence::{FenceQuestion, Fences};
use crate::membership::fencing::{FenceState, Fencing, Silent};
use crate::membership::history::{Decided, History};
use crate::membership::proposer::ROUND_ZERO;
use crate::message::{Answers, CheckId, FenceTarget, Flags, FrameBody, Head};
use crate::outbox::{Action, Outbox};
use crate::scene::Scene;
use crate::testing::{self, id, member};
use crate::time::Timestamp;
use crate::view::{Change, View, ViewId};

use super::digest_of;

/// Length of a tick.
const TICK: Duration = Duration::from_millis(100);
/// The one final check that is modelled.
const CHECK: CheckId = CheckId(1);

/// Faults that can be planted around the machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    None,
    /// Echoes are given without a note of them: a fence looks at the silence alone.
    EchoUnnoted,
    /// Whoever granted goes on echoing.
    EchoAfterGrant,
    /// One grant is counted as everybody's.
    OneGrant,
    /// The proposer knows nothing of views before its base.
    NoSettling,
    /// A victim that has accepted its own expulsion goes on counting echoes in its view.
    ExpelledCounts,
    /// The victim does not see that others have gone on to another view or change.
    BlindTally,
}

/// What does not change during a run.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// The views, each made by the change before it.
    pub(super) views: Vec<Arc<View>>,
    /// The same, as the victim's clock has them.
    pub(super) views_of_victim: Vec<Arc<View>>,
    pub(super) changes: Vec<Arc<Change>>,
    pub(super) members: usize,
    pub(super) victim: usize,
    pub(super) proposer: usize,
    /// T of the victim, in ticks of the others.
    pub(super) lapse: u64,
    /// R, in ticks.
    pub(super) silence: u64,
    /// Whether how much was said and how late it is belong to a state, because they are bounded.
    pub(super) is_bounded: bool,
    pub(super) flaw: Flaw,
}

/// A datagram on its way.
#[derive(Clone, Debug)]
struct Flight {
    head: Head,
    /// When the victim sent it, or what it echoes.
    sent: Option<u64>,
}

/// One member.
#[derive(Clone)]
pub(super) struct Peer {
    /// Which of the views it holds.
    pub(super) view: usize,
    contacts: Contacts,
    fences: Fences,
    acceptor: Acceptor,
    /// The victim's datagram to it, and its datagram to the victim.
    from_victim: Option<Flight>,
    to_victim: Option<Flight>,
    /// When the victim sent each of its datagrams to it.
    sent: Vec<u64>,
}

/// Everybody's state.
#[derive(Clone)]
pub(super) struct Scenery {
    pub(super) tick: u64,
    peers: Vec<Arc<Peer>>,
    fencing: Fencing,
    history: History,
    /// When the proposer replaced views, and whether it skipped one then.
    replaced: Vec<(u64, bool)>,
    /// How many datagrams the others have sent to the victim, where that is bounded.
    answered: usize,
    /// When each change was decided.
    decided: Vec<Option<u64>>,
    code: u64,
}

impl Hash for Scenery {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.code.hash(state);
    }
}

impl PartialEq for Scenery {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl fmt::Debug for Scenery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tick {}, views {:?}", self.tick, self.peers.iter().map(|p| p.view).collect::<Vec<_>>())
    }
}

fn at(tick: u64) -> Timestamp {
    Timestamp::ZERO + TICK * u32::try_from(tick).expect("short runs")
}

fn numbered(who: usize) -> u8 {
    u8::try_from(who).expect("few members")
}

impl Setting {
    /// Members with these weights; T and R in ticks. The victim's clock makes its own T last `lapse`.
    pub(super) fn new(weights: &[u8], victim: usize, lapse: u64, silence: u64) -> Self {
        let timing = |ticks: u64| {
            let mut timing = testing::timing();
            timing.member_timeout = TICK * u32::try_from(ticks).expect("few ticks");
            timing.check_timeout = TICK;
            timing.heartbeat_interval = TICK / 10;
            timing
        };
        let view = |ticks| Arc::new(super::view_with(weights, &timing(ticks)));
        Self {
            views: vec![view(silence - 1)],
            views_of_victim: vec![view(lapse)],
            changes: Vec::new(),
            members: weights.len(),
            victim,
            proposer: usize::from(victim == 0),
            lapse,
            silence,
            is_bounded: false,
            flaw: Flaw::None,
        }
    }

    /// One more view, made by what `fill` puts into a change.
    #[must_use]
    pub(super) fn then(mut self, fill: impl FnOnce(&mut Change)) -> Self {
        let mut change = Change::empty(self.views.last().expect("there is a first view"));
        fill(&mut change);
        for views in [&mut self.views, &mut self.views_of_victim] {
            let next = views.last().expect("there is a first view").apply(&change);
            views.push(Arc::new(next.expect("a change of that view")));
        }
        self.changes.push(Arc::new(change));
        self
    }

    pub(super) const fn with(mut self, flaw: Flaw) -> Self {
        self.flaw = flaw;
        self
    }

    fn view(&self, who: usize, number: usize) -> &Arc<View> {
        if who == self.victim { &self.views_of_victim[number] } else { &self.views[number] }
    }

    /// What heads can show.
    fn shown(&self) -> impl Iterator<Item = Shown> {
        self.views.iter().enumerate().flat_map(|(number, view)| {
            let tag = self.views.get(number + 1).map(|next| next.digest().tag());
            let shown = |accepted| Shown { view: view.id(), accepted };
            [Some(shown(None)), tag.map(|tag| shown(Some(tag)))].into_iter().flatten()
        })
    }

    pub(super) fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.members).filter(|who| *who != self.victim)
    }
}

impl Scenery {
    /// Nobody has heard of the victim, or it of them, for as long as matters.
    pub(super) fn new(setting: &Setting) -> Self {
        let peer = |who| {
            let mut contacts = Contacts::default();
            contacts.install(setting.view(who, 0), Timestamp::ZERO);
            Arc::new(Peer {
                view: 0,
                contacts,
                fences: Fences::default(),
                acceptor: Acceptor::default(),
                from_victim: None,
                to_victim: None,
                sent: Vec::new(),
            })
        };
        let mut scenery = Self {
            tick: setting.silence + 1,
            peers: (0..setting.members).map(peer).collect(),
            fencing: Fencing::default(),
            history: History::new(Timestamp::ZERO),
            replaced: Vec::new(),
            answered: 0,
            decided: vec![None; setting.changes.len()],
            code: 0,
        };
        scenery.encode(setting);
        scenery
    }

    /// How many datagrams the victim has sent.
    pub(super) fn spoken(&self) -> usize {
        self.peers.iter().map(|p| p.sent.len()).sum()
    }

    /// How many datagrams were sent to the victim.
    pub(super) const fn answered(&self) -> usize {
        self.answered
    }

    pub(super) fn peer(&self, who: usize) -> &Peer {
        &self.peers[who]
    }

    /// A tick goes by.
    pub(super) fn wait(&mut self, setting: &Setting) {
        self.tick += 1;
        self.encode(setting);
    }

    /// Whether `who` and the victim may talk: each is in the other's view.
    pub(super) fn knows_victim(&self, setting: &Setting, who: usize) -> bool {
        setting.view(who, self.peers[who].view).contains(&id(numbered(setting.victim)))
    }

    /// The victim sends to `who`. A datagram that was still on its way there is lost.
    pub(super) fn speak(&mut self, setting: &Setting, who: usize) -> bool {
        let flags = Flags { isolated: !self.is_connected(setting), ..Flags::default() };
        let now = at(self.tick);
        let victim = Arc::make_mut(&mut self.peers[setting.victim]);
        let Some(place) = victim.contacts.place_of(id(numbered(who)).short()) else { return false };
        let number = victim.contacts.at_mut(place).next_number(now);
        let mut head = victim.head(setting, setting.victim, who, number);
        head.flags = flags;
        let tick = self.tick;
        let peer = Arc::make_mut(&mut self.peers[who]);
        peer.sent.push(tick);
        peer.from_victim = Some(Flight { head, sent: Some(tick) });
        self.encode(setting);
        true
    }

    /// The victim's datagram arrives at `who`.
    pub(super) fn hear(&mut self, setting: &Setting, who: usize) -> bool {
        let now = at(self.tick);
        let peer = Arc::make_mut(&mut self.peers[who]);
        let Some(flight) = peer.from_victim.take() else { return false };
        let Some(place) = peer.contacts.place_of(flight.head.sender) else { return false };
        let contact = peer.contacts.handle_datagram(place, &flight.head, Answers::Nothing, now);
        let view = setting.view(who, peer.view);
        peer.fences.handle_contact(view, &mut peer.contacts, &contact, &mut Outbox::default());
        self.encode(setting);
        true
    }

    /// `who` sends to the victim, with the echo that it would give.
    pub(super) fn answer(&mut self, setting: &Setting, who: usize) -> bool {
        let now = at(self.tick);
        let peer = Arc::make_mut(&mut self.peers[who]);
        let Some(place) = peer.contacts.place_of(id(numbered(setting.victim)).short()) else { return false };
        let number = peer.contacts.at_mut(place).next_number(now);
        let mut head = peer.head(setting, who, setting.victim, number);
        head.echo = match setting.flaw {
            Flaw::EchoUnnoted => peer.contacts.clone().take_echo(place, now),
            Flaw::EchoAfterGrant => {
                peer.contacts.at_mut(place).withhold_echo(false);
                peer.contacts.take_echo(place, now)
            }
            _ => peer.contacts.take_echo(place, now),
        };
        if setting.flaw == Flaw::BlindTally {
            head.view = ViewId::NONE;
            head.accepted = None;
        }
        let Some(echo) = head.echo else { return false };
        let sent = peer.sent[usize::try_from(echo.number).expect("few datagrams") - 1];
        peer.to_victim = Some(Flight { head, sent: Some(sent) });
        self.answered += 1;
        self.encode(setting);
        true
    }

    /// The datagram of `who` arrives at the victim.
    pub(super) fn learn(&mut self, setting: &Setting, who: usize) -> bool {
        let now = at(self.tick);
        let Some(flight) = Arc::make_mut(&mut self.peers[who]).to_victim.take() else { return false };
        let victim = Arc::make_mut(&mut self.peers[setting.victim]);
        let Some(place) = victim.contacts.place_of(flight.head.sender) else { return false };
        victim.contacts.handle_datagram(place, &flight.head, Answers::Nothing, now);
        self.encode(setting);
        true
    }

    /// The proposer asks `who` for a fence, and has the answer.
    pub(super) fn ask(&mut self, setting: &Setting, who: usize) -> bool {
        let now = at(self.tick);
        let base = self.peers[setting.proposer].view;
        let victim = id(numbered(setting.victim));
        let silent = [Silent { member: victim, check: CHECK, began: now }];
        let me = member(numbered(setting.proposer));
        let contacts = self.peers[setting.proposer].contacts.clone();
        let scene = scene(now, &me, &setting.views[base], &contacts);
        self.fencing.sync(scene, &silent, &mut Outbox::default());
        let peer = Arc::make_mut(&mut self.peers[who]);
        let is_silent =
            peer.contacts.get(&victim).is_some_and(|r| r.silence(now) >= setting.ticks_of_silence());
        if peer.view != base || !is_silent {
            return false;
        }
        let targets = [FenceTarget { member: victim, check: CHECK, age: Duration::ZERO }];
        let (asker, asked) = (id(numbered(setting.proposer)), id(numbered(who)));
        let question = FenceQuestion { asker, me: asked, targets: &targets };
        let mut out = Outbox::default();
        peer.fences.handle_fence(now, &setting.views[base], &mut peer.contacts, question, &mut out);
        for action in out.drain() {
            if let Action::Frame { body: FrameBody::Fenced { member, check, .. }, .. } = action {
                let all: Vec<usize> = setting.others().collect();
                let heard = if setting.flaw == Flaw::OneGrant { all } else { vec![who] };
                heard.iter().for_each(|by| self.fencing.handle_fenced(id(numbered(*by)), &member, check));
            }
        }
        self.encode(setting);
        true
    }

    /// `who` accepts the change that makes the view after its own.
    pub(super) fn accept(&mut self, setting: &Setting, who: usize) -> bool {
        let number = self.peers[who].view;
        let Some(change) = setting.changes.get(number) else { return false };
        if self.peers[who].acceptor.accepted().is_some() {
            return false;
        }
        let makes = setting.view(who, number + 1);
        let peer = Arc::make_mut(&mut self.peers[who]);
        peer.acceptor.accept(at(self.tick), ROUND_ZERO, change, makes).expect("nothing else is promised");
        if self.decided[number].is_none() && self.weighs_enough(setting, number) {
            self.decided[number] = Some(self.tick);
        }
        self.encode(setting);
        true
    }

    fn weighs_enough(&self, setting: &Setting, number: usize) -> bool {
        let view = &setting.views[number];
        let accepted = |who: usize| {
            let peer = &self.peers[who];
            peer.view > number || (peer.view == number && peer.acceptor.accepted().is_some())
        };
        let weight = crate::quorum::weight_of(view, |m| {
            let who = super::number_of(m);
            who < setting.members && accepted(who)
        });
        crate::quorum::is_majority(weight, view.weight())
    }

    /// `who` installs the view `number`, if it is decided. More than one ahead, it comes as a whole view.
    pub(super) fn install(&mut self, setting: &Setting, who: usize, number: usize) -> bool {
        let now = at(self.tick);
        let old = self.peers[who].view;
        let view = setting.view(who, number);
        let is_decided = self.decided[..number].iter().all(Option::is_some);
        if number <= old || !is_decided || !view.contains(&id(numbered(who))) {
            return false;
        }
        let peer = Arc::make_mut(&mut self.peers[who]);
        peer.fences.lift_all(&mut peer.contacts);
        peer.contacts.install(view, now);
        peer.acceptor = Acceptor::default();
        peer.view = number;
        if who == setting.proposer {
            let skips = number > old + 1;
            let change = Change::clone(&setting.changes[old]);
            let decided = Decided { digest: change.digest(), change };
            let settle = setting.ticks_of_silence();
            self.history.push(now, &setting.views[old], (!skips).then_some(decided), settle);
            self.replaced.push((self.tick, skips));
            self.fencing.reset();
        }
        self.encode(setting);
        true
    }

    /// Whether the victim's removal for silence may be proposed.
    pub(super) fn is_ready(&self, setting: &Setting) -> bool {
        let peer = &self.peers[setting.proposer];
        let me = member(numbered(setting.proposer));
        let scene = scene(at(self.tick), &me, &setting.views[peer.view], &peer.contacts);
        let nothing = History::new(Timestamp::ZERO);
        let history = if setting.flaw == Flaw::NoSettling { &nothing } else { &self.history };
        self.fencing.state(scene, history, &id(numbered(setting.victim))) == FenceState::Ready
    }

    /// Whether the victim takes itself to be in two-way contact with a majority.
    pub(super) fn is_connected(&self, setting: &Setting) -> bool {
        let peer = &self.peers[setting.victim];
        let me = id(numbered(setting.victim));
        let pending = peer.acceptor.accepted().map(|a| Pending {
            tag: a.digest.tag(),
            makes: &a.makes,
            removes_me: match setting.flaw {
                Flaw::ExpelledCounts => a.change.removes_crashed(&me),
                _ => a.change.evicts(&me),
            },
        });
        let view = setting.view(setting.victim, peer.view);
        isolation::connected_until(view, &me, &peer.contacts, pending) > at(self.tick)
    }

    /// For how many ticks the change that makes view `number` has been decided.
    pub(super) fn decided_for(&self, number: usize) -> Option<u64> {
        self.decided[number - 1].map(|tick| self.tick - tick)
    }

    /// Puts into one number all that matters for what can happen from here: ages and not times, none of them beyond the
    /// span after which it makes no difference, and no numbers of datagrams.
    fn encode(&mut self, setting: &Setting) {
        let age = |tick: u64, cap: u64| (self.tick - tick).min(cap);
        let mut codes: Vec<Vec<u64>> = setting.others().map(|who| self.code_of(setting, who)).collect();
        if setting.changes.is_empty() && setting.flaw != Flaw::OneGrant {
            // Nothing distinguishes those of one weight.
            codes.sort_unstable();
        }
        let victim = &self.peers[setting.victim];
        let decided: Vec<_> = self.decided.iter().map(|d| d.map(|d| age(d, setting.lapse))).collect();
        let replaced: Vec<_> =
            self.replaced.iter().map(|(t, gap)| (age(*t, setting.silence), *gap)).collect();
        let is_pending = victim.acceptor.accepted().is_some();
        let spent = setting.is_bounded.then(|| (self.tick, self.spoken(), self.answered));
        self.code = digest_of(&(codes, victim.view, is_pending, decided, replaced, spent));
    }

    fn code_of(&self, setting: &Setting, who: usize) -> Vec<u64> {
        let peer = &self.peers[who];
        let now = at(self.tick);
        let ticks = |age: Duration, cap: u64| {
            u64::try_from(age.as_millis() / TICK.as_millis()).expect("few").min(cap)
        };
        let lapse = setting.lapse;
        let victim = id(numbered(setting.victim));
        let mut code = vec![
            u64::try_from(peer.view).expect("few views"),
            u64::from(peer.acceptor.accepted().is_some()),
            u64::try_from(setting.views[0].weight_of(&id(numbered(who)))).expect("a weight"),
        ];
        if let Some(record) = peer.contacts.get(&victim) {
            code.push(ticks(record.silence(now), setting.silence));
            code.push(
                record.newest_echoed().map_or(setting.silence, |t| ticks(now.since(t), setting.silence)),
            );
            code.push(record.newest_view().0);
            let mut open = record.clone();
            let is_withheld = open.take_echo(now).is_none();
            open.withhold_echo(false);
            let echo = open.take_echo(now).map(|e| {
                let sent = peer.sent[usize::try_from(e.number).expect("few datagrams") - 1];
                let received = Duration::from_micros(u64::from(e.age_us));
                [(self.tick - sent).min(lapse), ticks(received, setting.silence)]
            });
            code.extend(echo.unwrap_or([lapse + 1, setting.silence]));
            code.push(u64::from(is_withheld && echo.is_some()));
        }
        code.push(u64::from(peer.fences.oldest_grant().is_some()));
        code.push(u64::from(!peer.fences.is_empty()));
        let heard = self.peers[setting.victim].contacts.get(&id(numbered(who)));
        for shown in setting.shown() {
            let sent = heard.and_then(|r| r.echoed(|s| s == shown));
            code.push(sent.map_or(lapse, |sent| ticks(now.since(sent), lapse)));
        }
        for flight in [&peer.from_victim, &peer.to_victim] {
            code.push(flight.as_ref().map_or(0, |f| {
                let age = f.sent.map_or(lapse, |sent| (self.tick - sent).min(lapse));
                1 + digest_of(&(f.head.view, f.head.accepted, f.head.flags, age)) % (u64::MAX - 1)
            }));
        }
        code
    }
}

impl Setting {
    fn ticks_of_silence(&self) -> Duration {
        self.views[0].timing().removal_silence()
    }
}

impl Peer {
    fn head(&self, setting: &Setting, from: usize, to: usize, number: u64) -> Head {
        let view = setting.view(from, self.view);
        let mut head = testing::head(numbered(from), numbered(to), view, number);
        head.accepted = self.acceptor.accepted().map(|a| a.digest.tag());
        head
    }
}

fn scene<'a>(
    now: Timestamp,
    me: &'a crate::member::Member,
    view: &'a View,
    contacts: &'a Contacts,
) -> Scene<'a> {
    Scene {
        now,
        me,
        view,
        contacts,
        isolated: false,
        hears_majority: false,
        sick: false,
        leaving: false,
        coordinator_is_idle: false,
    }
}
