//! One member that some do not hear, and the others: echoes, fences and views between them, in ticks of time.
//!
//! The member is called the victim. What is modelled is all that goes into its own reckoning of two-way contact, and all that
//! goes into the fences against it. Everything happens at whole ticks and in any order within one; a datagram may take any
//! time, or be lost.

mod code;
mod setting;

pub(super) use setting::{Flaw, Setting};

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::health::contacts::Contacts;
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
use crate::view::{Change, View};

/// Length of a tick.
const TICK: Duration = Duration::from_millis(100);
/// The one final check that is modelled.
const CHECK: CheckId = CheckId(1);

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
            head.view = setting.views[0].id();
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
        isolation::connected_until(view, &me, &peer.contacts, pending, Timestamp::ZERO) > at(self.tick)
    }

    /// For how many ticks the change that makes view `number` has been decided.
    pub(super) fn decided_for(&self, number: usize) -> Option<u64> {
        self.decided[number - 1].map(|tick| self.tick - tick)
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
