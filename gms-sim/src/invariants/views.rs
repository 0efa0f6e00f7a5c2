//! The views that anybody installed, as observers look back at them.

use std::collections::BTreeMap;
use std::sync::Arc;

use gms_core::View;
use gms_core::member::ClusterTag;
use gms_core::view::ViewId;

/// Views remembered of each cluster: far more than any member is behind.
pub(super) const VIEWS_MAX: usize = 256;

/// Views by cluster and number.
#[derive(Debug, Default)]
pub(super) struct Views {
    by_cluster: BTreeMap<ClusterTag, BTreeMap<ViewId, Arc<View>>>,
}

impl Views {
    /// Notes an installed view. Returns whether nobody had installed one of this number before.
    pub(super) fn note(&mut self, view: &Arc<View>) -> bool {
        let known = self.by_cluster.entry(view.cluster().tag()).or_default();
        if known.contains_key(&view.id()) || known.first_key_value().is_some_and(|(id, _)| *id > view.id()) {
            return false;
        }
        known.insert(view.id(), Arc::clone(view));
        if known.len() > VIEWS_MAX {
            known.pop_first();
        }
        true
    }

    /// A view by its number.
    pub(super) fn get(&self, cluster: ClusterTag, id: ViewId) -> Option<&Arc<View>> {
        self.by_cluster.get(&cluster)?.get(&id)
    }

    /// The view from which `view` was made.
    pub(super) fn base_of(&self, view: &View) -> Option<&Arc<View>> {
        self.get(view.cluster().tag(), ViewId(view.number().checked_sub(1)?))
    }

    /// The newest remembered view older than `view`.
    pub(super) fn before(&self, view: &View) -> Option<&Arc<View>> {
        self.by_cluster.get(&view.cluster().tag())?.range(..view.id()).next_back().map(|(_, view)| view)
    }

    /// The oldest remembered view newer than `view`.
    pub(super) fn after(&self, view: &View) -> Option<&Arc<View>> {
        let next = view.id().next();
        self.by_cluster.get(&view.cluster().tag())?.range(next..).next().map(|(_, view)| view)
    }
}
