//! Which name belongs to which incarnation, as far as this process has seen.

use std::collections::BTreeMap;

use gms_core::event::Event;
use gms_core::member::{Member, MemberId, ShortId};
use gms_core::view::View;

/// Names kept beyond those of the newest view; older ones are forgotten together.
const FORMER_MAX: usize = 4096;

/// Names of members, present and former.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    known: BTreeMap<ShortId, String>,
}

impl Names {
    /// Learns one member's name.
    pub(crate) fn learn(&mut self, member: &Member) {
        if self.known.get(&member.id.short()) != Some(&member.name) {
            self.known.insert(member.id.short(), member.name.clone());
        }
    }

    /// Learns the names that an event brings.
    pub(crate) fn learn_event(&mut self, event: &Event) {
        match event {
            Event::Joined { view } | Event::Rejoined { view } => self.learn_view(view),
            Event::ViewInstalled(change) => self.learn_view(&change.view),
            _ => {}
        }
    }

    /// Learns the names of a view's members.
    pub(crate) fn learn_view(&mut self, view: &View) {
        if self.known.len() > view.len() + FORMER_MAX {
            self.known.clear();
        }
        for row in view.members() {
            self.learn(&row.member);
        }
    }

    /// The member's name, or the beginning of its id.
    pub(crate) fn of(&self, id: &MemberId) -> String {
        self.of_short(id.short())
    }

    /// The same by short id.
    pub(crate) fn of_short(&self, id: ShortId) -> String {
        self.find(id).map_or_else(|| id.to_string()[..8].to_owned(), str::to_owned)
    }

    /// The name, if known.
    pub(crate) fn find(&self, id: ShortId) -> Option<&str> {
        self.known.get(&id).map(String::as_str)
    }
}
