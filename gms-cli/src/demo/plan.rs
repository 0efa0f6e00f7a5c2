//! What the demo is going to do, and whether that makes sense.

use std::time::Duration;

use gms_core::config::TimingOverrides;

use crate::args::{DemoArgs, Fault, QuicWatch, TransportName};
use crate::exit::Failure;
use crate::run::config_sentence;

/// Weight of a member, and what the oldest has more.
const WEIGHT: u32 = 10;
const LEAD_WEIGHT: u32 = 5;

/// What the demo is going to do.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// How many members.
    pub(super) members: usize,
    /// T.
    pub(super) member_timeout: Duration,
    /// What carries the messages.
    pub(super) transport: TransportName,
    /// How members watch each other over QUIC.
    pub(super) quic_watch: QuicWatch,
    /// What happens to the victims.
    pub(super) fault: Fault,
    /// How many victims.
    pub(super) victims: usize,
    /// Whether the coordinator is the first of them.
    pub(super) coordinator: bool,
}

impl Plan {
    /// The plan of these arguments.
    ///
    /// # Errors
    ///
    /// What the survivors could not decide on, or nobody would survive, or T out of bounds.
    pub(super) fn of(args: &DemoArgs) -> Result<Self, Failure> {
        let plan = Self {
            members: args.members.into(),
            member_timeout: args.member_timeout,
            transport: args.transport,
            quic_watch: args.quic_watch,
            fault: args.fault,
            victims: args.victims.into(),
            coordinator: args.coordinator,
        };
        let timing =
            TimingOverrides { member_timeout: Some(plan.member_timeout), ..TimingOverrides::default() };
        timing.resolve().map_err(|error| Failure::usage(config_sentence(&error)))?;
        if plan.transport == TransportName::Udp && plan.quic_watch == QuicWatch::Tcp {
            return Err(Failure::usage("--quic-watch tcp needs --transport quic: add it, or leave both out"));
        }
        if plan.victims >= plan.members {
            return Err(Failure::usage(format!(
                "--victims {} of --members {} leaves nobody: name fewer victims or more members",
                plan.victims, plan.members
            )));
        }
        if plan.fault != Fault::Leave && !plan.survivors_decide() {
            return Err(Failure::usage(format!(
                "--victims {}{} of --members {} leaves no majority, so nothing could be decided: name fewer victims or more \
                 members",
                plan.victims,
                if plan.coordinator { " with --coordinator" } else { "" },
                plan.members
            )));
        }
        Ok(plan)
    }

    fn survivors_decide(&self) -> bool {
        let of = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(WEIGHT);
        let total = of(self.members) + LEAD_WEIGHT;
        let left = of(self.members - self.victims) + if self.coordinator { 0 } else { LEAD_WEIGHT };
        left * 2 > total
    }

    /// The victims among `members`, which stand in view order: the coordinator and its neighbours, or members in the
    /// middle.
    pub(super) fn choose(&self, members: &[String]) -> Vec<String> {
        let spare = members.len().saturating_sub(1 + self.victims);
        let first = if self.coordinator { 0 } else { 1 + spare / 2 };
        members.iter().skip(first).take(self.victims).cloned().collect()
    }
}
