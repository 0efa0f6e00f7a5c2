//! What users ask of the health monitor: to suspect a member, or to check it.

use crate::evidence::Reason;
use crate::input::CommandToken;
use crate::member::MemberId;
use crate::outbox::Outbox;
use crate::output::CommandResult;
use crate::scene::Scene;

use super::Health;

impl Health {
    /// A user suspects `member`.
    pub(crate) fn handle_command_suspect(
        &mut self,
        scene: Scene<'_>,
        member: MemberId,
        out: &mut Outbox,
    ) -> CommandResult {
        if scene.is_me(&member) || scene.contacts.get(&member).is_none() {
            return CommandResult::NoSuchMember;
        }
        if scene.isolated || scene.sick {
            return CommandResult::NotNow;
        }
        if self.may_accuse(scene, &member) {
            self.raise(scene, &[member], Reason::Requested, None, out);
        }
        CommandResult::Accepted
    }

    /// A user wants `member` checked; the verdict comes under `token`.
    pub(crate) fn handle_command_check(
        &mut self,
        scene: Scene<'_>,
        member: MemberId,
        token: CommandToken,
        out: &mut Outbox,
    ) {
        if scene.is_me(&member) || scene.contacts.get(&member).is_none() {
            out.command_done(token, CommandResult::NoSuchMember);
        } else if scene.isolated {
            out.command_done(token, CommandResult::NotNow);
        } else if let Some(standing) = self.finals.standing(&member) {
            out.command_done(token, CommandResult::Checked(standing.verdict));
        } else {
            if !self.finals.is_running(&member) {
                let is_official = self.is_acting_checker(scene);
                self.begin_final_checks(scene, &[(member, Reason::Requested)], is_official, out);
            }
            if !self.finals.join_user(&member, token) {
                out.command_done(token, CommandResult::NotNow);
            }
        }
    }
}
