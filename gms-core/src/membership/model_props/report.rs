//! Running a model: what it explored, and what it must find.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use stateright::{Checker, HasDiscoveries, Model};

/// Threads of a run: as many as a small machine has.
const THREADS: usize = 2;
/// A run that takes longer than this is cut off, and fails.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// Explores all of `model`: everything it calls *always* holds, everything it calls *sometimes* is reached.
pub(super) fn holds<M>(name: &str, model: M)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let checker = model
        .checker()
        .threads(THREADS)
        .timeout(PATIENCE)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    println!(
        "{name}: {} unique states, {} in all, depth {}",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
    );
    for (property, path) in checker.discoveries() {
        let is_failure = checker.discovery_classification(property).to_string() == "counterexample";
        assert!(!is_failure, "{name}: {property:?} is broken by\n{:#?}", path.into_actions());
    }
    checker.assert_properties();
}

/// Explores `model`, in which a fault is planted, until `property` breaks. Returns in how many steps it did.
pub(super) fn breaks<M>(name: &str, model: M, property: &'static str) -> usize
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let only = HasDiscoveries::AnyOf([property].into());
    let checker = model.checker().threads(THREADS).timeout(PATIENCE).finish_when(only).spawn_bfs().join();
    let Some(path) = checker.discovery(property) else {
        panic!("{name}: {property:?} holds in all of {} states", checker.unique_state_count());
    };
    let steps = path.into_actions();
    println!(
        "{name}: {property:?} is broken in {} steps, {} states",
        steps.len(),
        checker.unique_state_count()
    );
    steps.len()
}
