//! What makes two states the same: the ages of things, as far as they matter.

use std::time::Duration;

use super::{Flaw, Scenery, Setting, TICK, at, numbered};
use crate::health::contacts::Shown;
use crate::membership::model_props::digest_of;
use crate::testing::id;

impl Scenery {
    /// Puts into one number all that matters for what can happen from here: ages and not times, none of them beyond the
    /// span after which it makes no difference, and no numbers of datagrams.
    pub(super) fn encode(&mut self, setting: &Setting) {
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
            u64::from(setting.views[0].weight_of(&id(numbered(who)))),
        ];
        if let Some(record) = peer.contacts.get(&victim) {
            let mut open = record.clone();
            let is_withheld = open.take_echo(now).is_none();
            open.withhold_echo(false);
            let echo = open.take_echo(now);
            let sent = echo.map(|e| peer.sent[usize::try_from(e.number).expect("few datagrams") - 1]);
            code.push(sent.map_or(lapse + 1, |sent| (self.tick - sent).min(lapse)));
            if setting.asks {
                let received = echo.map(|e| Duration::from_micros(u64::from(e.age_us)));
                let echoed = record.newest_echoed().map(|t| now.since(t));
                for age in [Some(record.silence(now)), received, echoed] {
                    code.push(age.map_or(setting.silence, |age| ticks(age, setting.silence)));
                }
                code.extend([record.newest_view().0, u64::from(is_withheld && echo.is_some())]);
            }
        }
        code.push(u64::from(peer.fences.oldest_grant().is_some()));
        code.push(u64::from(!peer.fences.is_empty()));
        let heard = self.peers[setting.victim].contacts.get(&id(numbered(who)));
        for shown in shown(setting) {
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

/// What heads can show.
fn shown(setting: &Setting) -> impl Iterator<Item = Shown> {
    setting.views.iter().enumerate().flat_map(|(number, view)| {
        let tag = setting.views.get(number + 1).map(|next| next.digest().tag());
        let shown = |accepted| Shown { view: view.id(), accepted };
        [Some(shown(None)), tag.map(|tag| shown(Some(tag)))].into_iter().flatten()
    })
}
