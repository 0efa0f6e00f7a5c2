//! The running member behind the HTTP interface.

use async_trait::async_trait;
use gms_core::event::{Status, StopReason};
use gms_core::evidence::Verdict;
use gms_core::member::MemberId;
use gms_core::runtime::{CommandError, Gms};

use crate::serve::{Control, Refused};

impl From<CommandError> for Refused {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::NoSuchMember => Self::NoSuchMember,
            CommandError::NotNow => Self::NotNow,
            CommandError::Stopped => Self::Stopped,
        }
    }
}

#[async_trait]
impl Control for Gms {
    async fn status(&self) -> Result<Status, Refused> {
        Ok(Self::status(self).await?)
    }

    async fn suspect(&self, member: MemberId, reason: String) -> Result<(), Refused> {
        Ok(Self::suspect(self, member, reason).await?)
    }

    async fn check(&self, member: MemberId) -> Result<Verdict, Refused> {
        Ok(Self::check(self, member).await?)
    }

    async fn remove(&self, member: MemberId, reason: String) -> Result<(), Refused> {
        Ok(Self::remove(self, member, reason).await?)
    }

    async fn leave(&self) -> StopReason {
        Self::leave(self).await
    }
}
