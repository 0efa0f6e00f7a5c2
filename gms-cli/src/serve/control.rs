//! What the HTTP interface asks of a member.

use async_trait::async_trait;
use gms_core::event::{Status, StopReason};
use gms_core::evidence::Verdict;
use gms_core::member::MemberId;

/// Why a member did not do what it was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// There is no such member.
    NoSuchMember,
    /// Not in a view, isolated or leaving.
    NotNow,
    /// The member stopped.
    Stopped,
    /// No answer in time.
    Stuck,
}

/// A running member, as the HTTP interface sees it.
#[async_trait]
pub(crate) trait Control: Send + Sync + 'static {
    /// Its account of itself, asked from the protocol's loop.
    async fn status(&self) -> Result<Status, Refused>;
    /// Accuses a member.
    async fn suspect(&self, member: MemberId, reason: String) -> Result<(), Refused>;
    /// Checks a member.
    async fn check(&self, member: MemberId) -> Result<Verdict, Refused>;
    /// Has a member removed.
    async fn remove(&self, member: MemberId, reason: String) -> Result<(), Refused>;
    /// Leaves; returns when the member stopped.
    async fn leave(&self) -> StopReason;
}
