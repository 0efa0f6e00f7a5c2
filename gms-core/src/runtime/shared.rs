//! What the loop publishes and handles read: view, state and deadline without a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::watch;

use crate::event::{State, StopReason};
use crate::member::Member;
use crate::runtime::events::Subscriptions;
use crate::runtime::stats::Counters;
use crate::time::Timestamp;
use crate::transport::Transport;
use crate::view::View;

/// Steps that callers wait for.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The member is in a view.
    pub(super) joined: bool,
    /// It stopped.
    pub(super) stopped: Option<StopReason>,
}

/// Everything that handles read.
pub(super) struct Shared {
    pub(super) me: ArcSwap<Member>,
    pub(super) view: ArcSwapOption<View>,
    state: AtomicU8,
    connected_until: AtomicU64,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) counters: Counters,
    pub(super) subscriptions: Arc<Subscriptions>,
    pub(super) transport: Arc<dyn Transport>,
}

impl Shared {
    pub(super) fn new(me: Member, subscriptions: Arc<Subscriptions>, transport: Arc<dyn Transport>) -> Self {
        Self {
            me: ArcSwap::from_pointee(me),
            view: ArcSwapOption::empty(),
            state: AtomicU8::new(code_of(State::Joining)),
            connected_until: AtomicU64::new(0),
            progress: watch::Sender::new(Progress::default()),
            counters: Counters::default(),
            subscriptions,
            transport,
        }
    }

    /// Publishes where the member stands.
    ///
    /// The deadline comes first where it becomes earlier and the view where the view is new, so that a reader who
    /// looks at the deadline last never acts in a view that it was not connected in.
    pub(super) fn publish(&self, view: Option<&Arc<View>>, state: State, connected_until: Timestamp) {
        self.connected_until.store(connected_until.as_nanos(), Ordering::Release);
        self.state.store(code_of(state), Ordering::Release);
        let current = match view {
            Some(view) => self.has_view(view),
            None => self.view.load().is_none(),
        };
        if !current {
            self.view.store(view.cloned());
        }
    }

    /// Whether `view` is the one that is published.
    pub(super) fn has_view(&self, view: &Arc<View>) -> bool {
        self.view.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, view))
    }

    /// Wakes those who wait for the member to be in a view.
    pub(super) fn set_joined(&self, joined: bool) {
        self.progress.send_modify(|progress| progress.joined = joined);
    }

    /// Wakes everybody who waits.
    pub(super) fn set_stopped(&self, reason: StopReason) {
        self.progress.send_modify(|progress| {
            progress.joined = false;
            progress.stopped = Some(reason);
        });
    }

    pub(super) fn state(&self) -> State {
        state_of(self.state.load(Ordering::Acquire))
    }

    pub(super) fn connected_until(&self) -> Timestamp {
        Timestamp::from_nanos(self.connected_until.load(Ordering::Acquire))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.progress.borrow().stopped.is_some()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("me", &self.me.load().name)
            .field("view", &self.view.load().as_ref().map(|view| view.id()))
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

const STATES: [State; 6] =
    [State::Joining, State::Member, State::Isolated, State::NoQuorum, State::Excluded, State::Leaving];

fn code_of(state: State) -> u8 {
    let code = STATES.iter().position(|s| *s == state).expect("every state is listed");
    u8::try_from(code).expect("few states")
}

fn state_of(code: u8) -> State {
    STATES[usize::from(code)]
}
