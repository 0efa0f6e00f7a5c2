//! The handle that the application holds.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::event::{JoinFailure, State, Status, StopReason};
use crate::evidence::Verdict;
use crate::input::Command;
use crate::member::{Member, MemberId};
use crate::runtime::builder::Builder;
use crate::runtime::clock;
use crate::runtime::events::EventStream;
use crate::runtime::shared::Shared;
use crate::runtime::stats::Stats;
use crate::runtime::watchdog::{Feeding, Watchdog};
use crate::time::Timestamp;
use crate::view::View;

/// What handles and watchdogs ask of the loop.
#[derive(Debug)]
pub(super) enum Request {
    /// A command about a member.
    AboutMember { member: MemberId, command: Command, done: oneshot::Sender<Result<(), CommandError>> },
    /// A check whose verdict is awaited.
    Check { member: MemberId, done: oneshot::Sender<Result<Verdict, CommandError>> },
    /// The member's account of itself.
    Status { done: oneshot::Sender<Status> },
    /// Leave.
    Leave,
    /// Stop at once.
    Abort,
    /// A further watchdog.
    Watch(Arc<Feeding>),
    /// A watchdog changed.
    Wake,
}

/// Why a member is not in a view and never will be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// It could not join.
    #[error("could not join within {:?}: {}", .0.tried_for, explain(.0))]
    Failed(JoinFailure),
    /// It stopped for another reason.
    #[error("the member stopped before it joined: {0:?}")]
    Stopped(StopReason),
}

/// Why a command was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommandError {
    /// No member of the view has that id.
    #[error("no member of the view has that id")]
    NoSuchMember,
    /// The member is in no view, isolated or leaving.
    #[error("not possible while the member is joining, isolated, excluded or leaving: try again later")]
    NotNow,
    /// The member has stopped.
    #[error("the member has stopped")]
    Stopped,
}

/// A running member. Clones are the same member; dropping the last one makes it leave in the background.
#[derive(Clone, Debug)]
pub struct Gms {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    requests: UnboundedSender<Request>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // An error says that the member has stopped already.
        let _ = self.requests.send(Request::Leave);
    }
}

impl Gms {
    /// A builder of a member of the cluster with this name.
    pub fn builder(cluster: impl Into<String>) -> Builder {
        Builder::new(cluster.into())
    }

    pub(super) fn new(shared: Arc<Shared>, requests: UnboundedSender<Request>) -> Self {
        Self { inner: Arc::new(Inner { shared, requests }) }
    }

    /// The record of the current incarnation; a rejoin is a new one.
    pub fn me(&self) -> Arc<Member> {
        self.inner.shared.me.load_full()
    }

    /// The installed view, or `None` while the member is in none. Takes no lock.
    pub fn view(&self) -> Option<Arc<View>> {
        self.inner.shared.view.load_full()
    }

    /// Where the member stands. Takes no lock.
    pub fn state(&self) -> State {
        self.inner.shared.state()
    }

    /// Until when two-way contact to a majority is certain: compare with [`clock::now`] right before acting for the
    /// cluster. [`Timestamp::ZERO`] when not connected, [`Timestamp::FAR_FUTURE`] where its own weight is a
    /// majority: alone, or the older of two. Takes no lock.
    pub fn connected_until(&self) -> Timestamp {
        self.inner.shared.connected_until()
    }

    /// The time left until [`Gms::connected_until`]; zero when not connected.
    pub fn connected_for(&self) -> Duration {
        self.connected_until().since(clock::now())
    }

    /// Waits until a view contains the member.
    ///
    /// # Errors
    ///
    /// [`JoinError`]: why none ever will.
    pub async fn joined(&self) -> Result<Arc<View>, JoinError> {
        let mut progress = self.inner.shared.progress.subscribe();
        loop {
            let step = progress.wait_for(|p| p.joined || p.stopped.is_some()).await;
            let step = step.expect("the handle keeps the sender").clone();
            match step.stopped {
                Some(StopReason::JoinFailed(failure)) => return Err(JoinError::Failed(failure)),
                Some(reason) => return Err(JoinError::Stopped(reason)),
                None => {}
            }
            // Without a view it was excluded in between, and is joining again.
            if let Some(view) = self.view() {
                return Ok(view);
            }
            progress.changed().await.expect("the handle keeps the sender");
        }
    }

    /// The member's account of itself, asked from the loop: an answer also proves that the loop runs.
    ///
    /// # Errors
    ///
    /// [`CommandError::Stopped`].
    pub async fn status(&self) -> Result<Status, CommandError> {
        let (done, result) = oneshot::channel();
        self.request(Request::Status { done })?;
        result.await.map_err(|_| CommandError::Stopped)
    }

    /// Accuses a member: a final check follows, and its removal only if it fails that.
    ///
    /// # Errors
    ///
    /// [`CommandError`]; nobody was accused.
    pub async fn suspect(&self, member: MemberId, reason: impl Into<String>) -> Result<(), CommandError> {
        self.about(member, Command::Suspect { member, reason: reason.into() }).await
    }

    /// Has a member checked, and returns the verdict of this member's own check.
    ///
    /// # Errors
    ///
    /// [`CommandError`]; [`CommandError::NotNow`] also if the member was excluded before the check ended.
    pub async fn check(&self, member: MemberId) -> Result<Verdict, CommandError> {
        let (done, result) = oneshot::channel();
        self.request(Request::Check { member, done })?;
        result.await.unwrap_or_else(|_| {
            Err(if self.inner.shared.is_stopped() { CommandError::Stopped } else { CommandError::NotNow })
        })
    }

    /// Has a member removed, whatever its health; the reason is recorded.
    ///
    /// # Errors
    ///
    /// [`CommandError`]; nobody was removed.
    pub async fn remove(&self, member: MemberId, reason: impl Into<String>) -> Result<(), CommandError> {
        self.about(member, Command::Remove { member, reason: reason.into() }).await
    }

    /// Leaves, and returns when the member has stopped: at most the leave timeout and a little later.
    pub async fn leave(&self) -> StopReason {
        let _ = self.request(Request::Leave);
        self.stopped().await
    }

    /// Waits until the member has stopped, for whatever reason.
    pub async fn stopped(&self) -> StopReason {
        let mut progress = self.inner.shared.progress.subscribe();
        let step =
            progress.wait_for(|p| p.stopped.is_some()).await.expect("the handle keeps the sender").clone();
        step.stopped.expect("waited for it")
    }

    /// Stops at once, without a word to anybody: to the others it looks like a crash.
    pub fn abort(&self) {
        let _ = self.request(Request::Abort);
    }

    /// A watchdog: not fed for `timeout`, the member tells the others that it is sick.
    pub fn watchdog(&self, timeout: Duration) -> Watchdog {
        Watchdog::new(timeout, self.inner.requests.clone())
    }

    /// A further stream of events, from now on.
    pub fn events(&self) -> EventStream {
        self.inner.shared.subscriptions.subscribe()
    }

    /// The member's counters.
    pub fn stats(&self) -> Stats {
        self.inner.shared.counters.snapshot(self.inner.shared.transport.stats())
    }

    async fn about(&self, member: MemberId, command: Command) -> Result<(), CommandError> {
        let (done, result) = oneshot::channel();
        self.request(Request::AboutMember { member, command, done })?;
        result.await.unwrap_or(Err(CommandError::Stopped))
    }

    fn request(&self, request: Request) -> Result<(), CommandError> {
        self.inner.requests.send(request).map_err(|_| CommandError::Stopped)
    }
}

pub(super) fn explain(failure: &JoinFailure) -> String {
    let refusal = failure.refusal.as_ref().map(|refusal| format!("refused, {refusal}"));
    let answers = failure.seeds.iter().map(|(seed, answer)| format!("{seed} {answer}"));
    let unresolved = failure.unresolved.iter().map(|seed| format!("{seed} does not resolve"));
    refusal.into_iter().chain(answers).chain(unresolved).collect::<Vec<_>>().join("; ")
}
