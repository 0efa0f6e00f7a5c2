//! Two different views with one number never exist (p-4).

use std::collections::BTreeMap;

use gms_core::Event;
use gms_core::member::ClusterId;
use gms_core::runtime::StepKind;
use gms_core::view::{Digest, ViewId};

use crate::world::{Look, Observer};

/// Remembers the digest of each number that anybody installed.
#[derive(Debug, Default)]
pub(crate) struct OneViewPerNumber {
    digests: BTreeMap<(ClusterId, ViewId), Digest>,
}

impl Observer for OneViewPerNumber {
    fn name(&self) -> &'static str {
        "no number names two views"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::Event(Event::ViewInstalled(change)) = kind else { return Ok(()) };
        let view = &change.view;
        let known = *self.digests.entry((view.cluster(), view.id())).or_insert_with(|| view.digest());
        if known == view.digest() {
            return Ok(());
        }
        let name = &look.processes[by].member().name;
        Err(format!("{name} installed view {} with digest {}, others with {known}", view.id(), view.digest()))
    }
}
