//! Running a model: what it explored, and what it must find.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use stateright::report::{ReportData, ReportDiscovery, Reporter};
use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model};

/// Threads of a run: as many as a small machine has.
const THREADS: usize = 2;

/// Prints what a run explored, for the table in docs/model.md: `cargo test -- --nocapture` shows it.
struct Summary<'a>(&'a str);

impl<M: Model> Reporter<M> for Summary<'_> {
    fn report_checking(&mut self, data: ReportData) {
        if data.done {
            let ReportData { total_states, unique_states, max_depth, duration, .. } = data;
            let seconds = duration.as_secs_f32();
            println!(
                "{}: {unique_states} states, {total_states} steps, depth {max_depth}, {seconds:.1} s",
                self.0
            );
        }
    }

    fn report_discoveries(&mut self, _: &M, _: BTreeMap<&'static str, ReportDiscovery<M>>)
    where
        M::Action: Debug + PartialEq,
        M::State: Debug + Hash + PartialEq,
    {
    }

    fn delay(&self) -> Duration {
        Duration::from_millis(20)
    }
}

fn run<M>(name: &str, checker: CheckerBuilder<M>) -> impl Checker<M>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    checker.threads(THREADS).spawn_bfs().join_and_report(&mut Summary(name))
}

/// Explores all of `model`: everything it calls *always* holds, everything it calls *sometimes* is reached.
pub(super) fn holds<M>(name: &str, model: M)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let checker = run(name, model.checker().finish_when(HasDiscoveries::AnyFailures));
    for (property, path) in checker.discoveries() {
        let is_failure = checker.discovery_classification(property).to_string() == "counterexample";
        assert!(!is_failure, "{name}: {property:?} is broken by\n{:#?}", path.into_actions());
    }
    checker.assert_properties();
}

/// Explores `model`, in which a fault is planted, until `property` breaks.
pub(super) fn breaks<M>(name: &str, model: M, property: &'static str)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let checker = run(name, model.checker().finish_when(HasDiscoveries::AnyOf([property].into())));
    let Some(path) = checker.discovery(property) else {
        panic!("{name}: {property:?} holds in all of {} states", checker.unique_state_count());
    };
    println!("{name}: broken in {} steps", path.into_actions().len());
}
