//! The node: one dispatcher over the health monitor and the membership machines.

use std::sync::Arc;

use crate::config::{Config, ConfigError};
use crate::event::{State, Status};
use crate::input::Input;
use crate::member::Member;
use crate::output::Output;
use crate::time::Timestamp;
use crate::timer::WakeReason;
use crate::view::View;

/// One member's whole protocol.
#[derive(Debug)]
pub struct Node {}

#[expect(unused_variables, reason = "signatures first")]
impl Node {
    /// A node that begins to join.
    pub fn new(config: Config, me: Member, seed: u64, now: Timestamp) -> Result<Self, ConfigError> {
        Ok(Self {})
    }
    /// Takes one arrival, result or command.
    pub fn handle_input(&mut self, now: Timestamp, input: Input) {}
    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Timestamp) {}
    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        None
    }
    /// When to call [`Node::handle_timeout`] next, and why.
    pub fn poll_timeout(&self) -> Option<(Timestamp, WakeReason)> {
        None
    }
    /// Its account of itself.
    pub fn status(&self, now: Timestamp) -> Status {
        unimplemented!("lands with the machines")
    }
    /// Its record.
    pub fn me(&self) -> &Member {
        unimplemented!("lands with the machines")
    }
    /// The installed view.
    pub fn view(&self) -> Option<&Arc<View>> {
        None
    }
    /// Where it stands.
    pub fn state(&self) -> State {
        State::Joining
    }
    /// Until when two-way contact to a majority is certain.
    pub fn connected_until(&self) -> Timestamp {
        Timestamp::ZERO
    }
    /// Whether it has stopped; nothing more comes out after the last output is drained.
    pub fn is_stopped(&self) -> bool {
        false
    }
}
