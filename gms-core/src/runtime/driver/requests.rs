//! What handles ask of the loop.

use super::Driver;
use crate::event::{State, StopReason};
use crate::input::{Command, CommandToken, Input};
use crate::member::MemberId;
use crate::output::CommandResult;
use crate::runtime::handle::{CommandError, Request};
use crate::time::Timestamp;

impl Driver {
    pub(super) fn take_requests(&mut self, now: Timestamp) {
        for request in std::mem::take(&mut self.asked) {
            match request {
                Request::AboutMember { member, command, done } => {
                    let answer = self.can_command(&member);
                    if answer.is_ok() {
                        self.hand_over(now, Input::Command(command));
                    }
                    // An error says that the caller does not wait any more.
                    let _ = done.send(answer);
                }
                Request::Check { member, done } => {
                    self.tokens += 1;
                    let token = CommandToken(self.tokens);
                    self.awaiting.insert(token, done);
                    if self.life.is_running() {
                        self.hand_over(now, Input::Command(Command::Check { token, member }));
                    } else {
                        self.answer_command(token, CommandResult::NotNow);
                    }
                }
                Request::Status { done } => {
                    let _ = done.send(self.node.status(now));
                }
                Request::Leave => self.leave(now),
                Request::Abort => self.ended = Some(StopReason::Aborted),
                Request::Watch(feeding) => self.watch.add(feeding),
                Request::Wake => {}
            }
        }
    }

    fn can_command(&self, member: &MemberId) -> Result<(), CommandError> {
        match self.node.view() {
            _ if !self.life.is_running() => Err(CommandError::NotNow),
            None => Err(CommandError::NotNow),
            Some(view) if !view.contains(member) => Err(CommandError::NoSuchMember),
            Some(_) if self.node.state() != State::Member => Err(CommandError::NotNow),
            Some(_) => Ok(()),
        }
    }

    fn leave(&mut self, now: Timestamp) {
        if self.life.leave(now) {
            self.hand_over(now, Input::Command(Command::Leave));
        } else if !self.life.is_running() {
            self.ended = Some(StopReason::Left);
        }
    }

    pub(super) fn answer_command(&mut self, token: CommandToken, result: CommandResult) {
        let answer = match result {
            CommandResult::Accepted => return,
            CommandResult::Checked(verdict) => Ok(verdict),
            CommandResult::NoSuchMember => Err(CommandError::NoSuchMember),
            CommandResult::NotNow => Err(CommandError::NotNow),
        };
        if let Some(done) = self.awaiting.remove(&token) {
            // An error says that the caller does not wait any more.
            let _ = done.send(answer);
        }
    }
}
