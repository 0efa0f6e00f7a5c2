//! What the application wants of a member.

use crate::event::StopReason;
use crate::input::Command;
use crate::member::MemberId;
use crate::message::{CheckAnswer, CheckRequest};
use crate::outbox::Outbox;
use crate::output::CommandResult;
use crate::time::Timestamp;
use crate::view::Expelled;

use super::{End, InView, scene};

impl InView {
    /// Takes one command.
    pub(in crate::node) fn handle_command(&mut self, now: Timestamp, command: Command, out: &mut Outbox) {
        match command {
            Command::Seeds(seeds) => self.announcer.handle_seeds(now, &seeds),
            Command::Leave => self.leave(now),
            Command::Abort => self.end = Some(End::Stop(StopReason::Aborted)),
            Command::Suspect { member, .. } => {
                self.health.handle_command_suspect(scene!(self, now), member, out);
            }
            Command::Check { token, member } => {
                if self.view.contains(&member) && member != self.me.id {
                    self.health.handle_command_check(scene!(self, now), member, token, out);
                } else {
                    out.command_done(token, CommandResult::NoSuchMember);
                }
            }
            Command::Remove { member, reason } => self.remove(now, member, reason),
            Command::SetSick(sick) => self.sick = sick,
        }
    }

    //= docs/protocol.md#vw-14
    fn leave(&mut self, now: Timestamp) {
        if self.view.len() == 1 {
            self.end = Some(End::Stop(StopReason::Left));
            return;
        }
        if self.leave_deadline.is_none() {
            let timeout = self.leave_timeout.unwrap_or_else(|| self.view.timing().member_timeout);
            self.leave_deadline = Some(now + timeout);
            self.requests.leave(now);
            // The flag goes out at once, so that nobody takes the leaver for a candidate or an accuser.
            self.heartbeat_at = now;
        }
    }

    //= docs/protocol.md#vw-15
    fn remove(&mut self, now: Timestamp, member: MemberId, reason: String) {
        if self.view.contains(&member) {
            let by = self.me.name.clone();
            self.requests.remove(now, Expelled { member, reason, by });
        }
    }

    /// Answers a checker's question: this loop runs, and says who it is.
    //= docs/protocol.md#fd-22
    pub(in crate::node) fn check_answer(&self, request: &CheckRequest) -> CheckAnswer {
        if request.target != self.me.id {
            return CheckAnswer::Other(self.me.id);
        }
        //= docs/protocol.md#fd-21
        if request.cluster != self.view.cluster() {
            return CheckAnswer::Elsewhere;
        }
        //= docs/protocol.md#fd-28
        if self.sick { CheckAnswer::Sick } else { CheckAnswer::Ok }
    }
}
