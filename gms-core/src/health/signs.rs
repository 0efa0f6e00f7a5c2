//! Signs of death that the network gives at once: a watch connection that breaks, a datagram that finds nobody.
//!
//! A sign proves nothing: middleboxes drop idle connections, and anybody can forge an ICMP error. It makes this member
//! look for itself, on one fresh connection; what that brings is evidence.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::evidence::ProbeOutcome;
use crate::health::final_check::check_target;
use crate::input::WatchEnd;
use crate::member::MemberId;
use crate::outbox::Outbox;
use crate::output::{ProbeId, WatchId};
use crate::scene::Scene;
use crate::time::Timestamp;

/// Most fresh connections made because of signs at once: more than die together in most clusters, so few that forged
/// errors can't make a member connect to everybody.
const LOOKS_MAX: usize = 64;

/// When a look that was reset is repeated first; each time waits twice as long. A kernel that tears a killed process down
/// closes its connections before its listener, within some milliseconds, and resets what it accepted in between.
const AGAIN_AFTER: Duration = Duration::from_millis(1);
/// How often it is repeated at most: over 63 ms, which a loaded machine may take.
const AGAIN_MAX: u32 = 6;

/// What a look brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// The member answered: nothing is wrong.
    Alive,
    /// The connection was refused.
    Refused,
    /// Another incarnation answered.
    Other(MemberId),
    /// Nothing that says anything: the ordinary check has to find out.
    Unclear,
}

/// The watch connection, or the wish for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Watched {
    member: MemberId,
    /// `None` while it waits to be opened again.
    watch: Option<WatchId>,
    reopen_at: Timestamp,
}

/// A fresh connection, and how often it was reset before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Look {
    member: MemberId,
    resets: u32,
}

impl Look {
    /// Whom it is about.
    pub(super) const fn member(self) -> MemberId {
        self.member
    }
}

/// The watch connection to the subject, and the looks that signs have caused.
#[derive(Debug, Default)]
pub(super) struct Signs {
    watched: Option<Watched>,
    looks: BTreeMap<ProbeId, Look>,
    /// Looks that are to be repeated, and when.
    again: BTreeMap<MemberId, (Timestamp, u32)>,
    /// Until when further signs of a member bring no further look.
    rests: BTreeMap<MemberId, Timestamp>,
}

impl Signs {
    /// Lets the watch connection lead to `subject`, and opens it again where that is due.
    //= docs/protocol.md#fd-29
    pub(super) fn follow(&mut self, scene: Scene<'_>, subject: Option<MemberId>, out: &mut Outbox) {
        if self.watched.map(|w| w.member) != subject {
            if let Some(watch) = self.watched.and_then(|w| w.watch) {
                out.stop_watch(watch);
            }
            self.watched = subject.map(|member| Watched { member, watch: None, reopen_at: scene.now });
        }
        let Some(watched) = &mut self.watched else { return };
        if watched.watch.is_none()
            && scene.now >= watched.reopen_at
            && let Some(member) = scene.view.member(&watched.member)
        {
            watched.watch = Some(out.start_watch(member.endpoint.check_addr));
        }
    }

    /// A watch connection ended. Returns the member of which that is a sign.
    //= docs/protocol.md#fd-29
    pub(super) fn handle_watch_ended(
        &mut self,
        scene: Scene<'_>,
        watch: WatchId,
        end: WatchEnd,
    ) -> Option<MemberId> {
        let watched = self.watched.as_mut().filter(|w| w.watch == Some(watch))?;
        watched.watch = None;
        watched.reopen_at = scene.now + scene.timing().heartbeat_interval;
        match end {
            WatchEnd::Broken | WatchEnd::Refused => Some(watched.member),
            // One that leaves says so on its streams, and silence has its own clock.
            WatchEnd::Goodbye | WatchEnd::Failed => None,
        }
    }

    /// Looks at a member on a fresh connection, unless that was done a moment ago.
    pub(super) fn look(&mut self, scene: Scene<'_>, member: MemberId, out: &mut Outbox) {
        let rests = self.rests.get(&member).is_some_and(|until| scene.now < *until);
        if !rests {
            self.rests.insert(member, scene.now + scene.timing().heartbeat_interval);
            self.connect(scene, Look { member, resets: 0 }, out);
        }
    }

    /// The looks that were reset and are to be repeated by now.
    //= docs/protocol.md#fd-29
    pub(super) fn take_due(&mut self, now: Timestamp) -> Vec<Look> {
        let due = self.again.extract_if(.., |_, (at, _)| *at <= now);
        due.map(|(member, (_, resets))| Look { member, resets }).collect()
    }

    /// Makes the connection of a look.
    pub(super) fn connect(&mut self, scene: Scene<'_>, look: Look, out: &mut Outbox) {
        if self.looks.len() >= LOOKS_MAX || self.looks.values().any(|l| l.member == look.member) {
            return;
        }
        let Some(target) = check_target(scene, &look.member) else { return };
        let probe = out.start_probe(target, scene.timing().check_timeout);
        self.looks.insert(probe, look);
    }

    /// `None` if the probe was not one of these; else whom it was about and what it brought.
    //= docs/protocol.md#fd-29
    pub(super) fn handle_probe_done(
        &mut self,
        scene: Scene<'_>,
        probe: ProbeId,
        outcome: ProbeOutcome,
    ) -> Option<(MemberId, Seen)> {
        let Look { member, resets } = self.looks.remove(&probe)?;
        let seen = match outcome {
            ProbeOutcome::Ok => {
                if let Some(watched) = self.watched.as_mut().filter(|w| w.member == member) {
                    watched.reopen_at = watched.reopen_at.min(scene.now);
                }
                Seen::Alive
            }
            ProbeOutcome::Refused => Seen::Refused,
            ProbeOutcome::Other(other) if !scene.is_me(&other) => Seen::Other(other),
            ProbeOutcome::Reset => {
                if resets < AGAIN_MAX {
                    let at = scene.now + AGAIN_AFTER * 2_u32.pow(resets);
                    self.again.insert(member, (at, resets + 1));
                }
                Seen::Unclear
            }
            ProbeOutcome::Other(_)
            | ProbeOutcome::Sick
            | ProbeOutcome::TimedOut
            | ProbeOutcome::Unreachable
            | ProbeOutcome::LocalFault
            | ProbeOutcome::Garbage
            | ProbeOutcome::Elsewhere => Seen::Unclear,
        };
        Some((member, seen))
    }

    /// When a watch connection is to be opened again, or a look to be repeated.
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        let reopen = self.watched.filter(|w| w.watch.is_none()).map(|w| w.reopen_at);
        self.again.values().map(|(at, _)| *at).chain(reopen).min()
    }

    /// Moves the clocks by a pause of this process.
    //= docs/protocol.md#fd-26
    pub(super) fn handle_pause(&mut self, pause: Duration) {
        for until in self.rests.values_mut() {
            *until = *until + pause;
        }
    }

    /// Forgets members that are out.
    pub(super) fn handle_view_installed(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        self.rests.retain(|id, _| scene.view.contains(id));
        self.again.retain(|id, _| scene.view.contains(id));
        self.looks.retain(|probe, look| {
            let stays = scene.view.contains(&look.member);
            if !stays {
                out.stop_probe(*probe);
            }
            stays
        });
        let gone = self.watched.is_some_and(|w| !scene.view.contains(&w.member));
        if gone {
            self.follow(scene, None, out);
        }
    }
}

#[cfg(test)]
mod tests;
