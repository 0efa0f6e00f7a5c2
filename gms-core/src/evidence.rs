//! What is recorded about a suspicion, a final check and a removal, so that each one can be explained (p-6).
//!
//! Times are ages at the moment the record was closed: clocks of different members can't be compared, durations can.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::member::MemberId;

/// Most accusations kept in one record; later ones are counted in [`Evidence::more_accusations`].
pub const ACCUSATIONS_MAX: usize = 8;
/// Most members named as having granted a fence.
pub const FENCES_MAX: usize = 32;

/// Why a member was accused or looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Reason {
    /// No contact for T, and no answer to a check.
    Silent,
    /// Another incarnation answered at its address.
    Replaced,
    /// A user asked for it.
    Requested,
    /// It was silent while another member was being checked.
    SilentBesideAnother,
    /// It is before the checker in office and silent, so that the checker has to look for itself.
    InOffice,
    /// A fresh connection to its address was refused, after a sign that its process is gone.
    Refused,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silent => "silent",
            Self::Replaced => "another incarnation answered at its address",
            Self::Requested => "requested",
            Self::SilentBesideAnother => "silent while another was checked",
            Self::InOffice => "silent in office",
            Self::Refused => "its address refused a connection",
        })
    }
}

/// What a fresh connection to a member's check address brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ProbeOutcome {
    /// The incarnation asked for answered: it lives.
    Ok,
    /// Another incarnation answered.
    Other(MemberId),
    /// The incarnation asked for answered that its application does not work.
    Sick,
    /// The connection was refused (ECONNREFUSED and nothing else): nobody listens there.
    Refused,
    /// The connection was accepted and then closed or reset without an answer.
    Reset,
    /// Time ran out: no connection, or no answer on it.
    TimedOut,
    /// The network says that there is no way to that address.
    Unreachable,
    /// The attempt failed on this side (no file descriptor, no local address, forbidden): it says nothing.
    LocalFault,
    /// Bytes came back that are no answer.
    Garbage,
    /// The incarnation asked for answered that it is a member of another cluster: it never is one of the asker's.
    Elsewhere,
}

impl fmt::Display for ProbeOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "answered",
            Self::Other(_) => "another incarnation answered",
            Self::Sick => "answered that it is sick",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::TimedOut => "timed out",
            Self::Unreachable => "unreachable",
            Self::LocalFault => "failed locally",
            Self::Garbage => "answered garbage",
            Self::Elsewhere => "answered from another cluster",
        })
    }
}

/// How a final check ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// It answered somebody first-hand.
    Alive,
    /// Proof that its process is gone.
    Gone,
    /// Time ran out.
    Silent,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alive => "alive",
            Self::Gone => "gone",
            Self::Silent => "silent",
        })
    }
}

/// One accusation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Accusation {
    /// Who accused.
    pub by: MemberId,
    /// Why.
    pub reason: Reason,
    /// How long the accuser had not heard the member.
    pub silent_for: Duration,
    /// How long before the verdict the accusation arrived.
    pub age: Duration,
}

/// What a verifier found when it looked for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Finding {
    /// Contact, or an answer on its own connection, since it was asked.
    Alive,
    /// Its connection was refused.
    Refused,
    /// Another incarnation answered.
    Other(MemberId),
    /// Nothing.
    Silent,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alive => "alive",
            Self::Refused => "refused",
            Self::Other(_) => "another incarnation",
            Self::Silent => "silent",
        })
    }
}

/// What one verifier reported.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VerifierReport {
    /// The verifier.
    pub by: MemberId,
    /// What it found, or `None` if it had not answered when the verdict was reached: where that was [`Verdict::Silent`] its
    /// time was up, otherwise it may have been about to.
    pub finding: Option<Finding>,
}

/// The chain that led to a verdict, and for a removal the fences that allowed it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// Who ran the final check.
    pub checker: MemberId,
    /// Why the final check was started.
    pub reason: Reason,
    /// Accusations, in the order of arrival.
    pub accusations: Vec<Accusation>,
    /// Accusations beyond [`ACCUSATIONS_MAX`].
    pub more_accusations: u32,
    /// How long the checker had not heard the member at the verdict.
    pub silent_for: Duration,
    /// How long the final check took.
    pub check_took: Duration,
    /// Heartbeat requests sent during it.
    pub requests_sent: u8,
    /// What the fresh connection brought, or `None` if it was still pending.
    pub probe: Option<ProbeOutcome>,
    /// What the verifiers found.
    pub verifiers: Vec<VerifierReport>,
    /// The verdict.
    pub verdict: Verdict,
    /// Members that granted a fence; empty where none was needed.
    pub fenced_by: Vec<MemberId>,
}

impl Evidence {
    /// One line for people, with members named by `name_of`.
    pub fn sentence(&self, name_of: &dyn Fn(&MemberId) -> String) -> String {
        let mut parts = Vec::new();
        for a in &self.accusations {
            parts.push(format!(
                "accused by {} ({}, {} ms)",
                name_of(&a.by),
                a.reason,
                a.silent_for.as_millis()
            ));
        }
        let probe = self.probe.map_or_else(|| String::from("pending"), |p| p.to_string());
        parts.push(format!(
            "checked by {} for {} ms: {} requests, connection {probe}",
            name_of(&self.checker),
            self.check_took.as_millis(),
            self.requests_sent
        ));
        for report in &self.verifiers {
            let by = name_of(&report.by);
            parts.push(match (report.finding, self.verdict) {
                (Some(finding), _) => format!("{by} looked: {finding}"),
                (None, Verdict::Silent) => format!("{by} was asked to look: did not answer"),
                // The verdict did not wait for it.
                (None, Verdict::Gone | Verdict::Alive) => {
                    format!("{by} was asked to look: had not answered yet")
                }
            });
        }
        parts.push(format!("verdict {} after {} ms of silence", self.verdict, self.silent_for.as_millis()));
        if !self.fenced_by.is_empty() {
            let names: Vec<_> = self.fenced_by.iter().map(name_of).collect();
            parts.push(format!("fenced by {}", names.join(", ")));
        }
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::id;

    fn evidence(finding: Option<Finding>, verdict: Verdict) -> Evidence {
        Evidence {
            checker: id(1),
            reason: Reason::Refused,
            accusations: Vec::new(),
            more_accusations: 0,
            silent_for: Duration::from_millis(20),
            check_took: Duration::from_millis(10),
            requests_sent: 1,
            probe: Some(ProbeOutcome::Refused),
            verifiers: vec![VerifierReport { by: id(2), finding }],
            verdict,
            fenced_by: Vec::new(),
        }
    }

    #[test]
    fn a_verifier_that_was_not_waited_for_differs_from_one_that_did_not_answer_in_time() {
        let said = |finding, verdict| {
            let sentence = evidence(finding, verdict).sentence(&|_| "m2".into());
            sentence.split("; ").find(|part| part.contains("look")).map(str::to_owned)
        };
        let looked = said(Some(Finding::Refused), Verdict::Gone);
        assert_eq!(looked.as_deref(), Some("m2 looked: refused"));
        let pending = said(None, Verdict::Gone);
        assert_eq!(pending.as_deref(), Some("m2 was asked to look: had not answered yet"));
        let silent = said(None, Verdict::Silent);
        assert_eq!(silent.as_deref(), Some("m2 was asked to look: did not answer"));
    }
}
