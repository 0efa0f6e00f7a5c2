//! What one input brings about is bounded, and so is what is on its way (no storms, no leaks).

use crate::world::{Look, Observer};

/// Outputs of one input, beside those per process.
const OUTPUTS_BASE: usize = 64;
/// Outputs of one input per process of the world: a heartbeat, an accusation, a fence, a proposal, an installation and
/// their answers may go to each member at once.
const OUTPUTS_PER_PROCESS: usize = 16;
/// Packets, results and timers on their way per pair of processes.
const QUEUED_PER_PAIR: usize = 64;
/// Beside those per pair: faults, and worlds of one or two.
const QUEUED_BASE: usize = 4_096;

/// Counts outputs and what is queued.
#[derive(Debug, Default)]
pub(crate) struct Bounded;

impl Observer for Bounded {
    fn name(&self) -> &'static str {
        "outputs and queues are bounded"
    }

    fn handled(&mut self, look: Look<'_>, by: usize, outputs: usize) -> Result<(), String> {
        let up = look.processes.len();
        let name = || &look.processes[by].member().name;
        if outputs > OUTPUTS_BASE + OUTPUTS_PER_PROCESS * up {
            return Err(format!("{} answered one input with {outputs} outputs", name()));
        }
        if look.queued > QUEUED_BASE + QUEUED_PER_PAIR * up * up {
            return Err(format!("{} packets and timers are on their way", look.queued));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::formed;
    use super::*;

    #[test]
    fn a_storm_is_seen() {
        let world = formed(2);
        assert_eq!(Bounded.handled(world.look(), 0, 96), Ok(()));
        assert!(Bounded.handled(world.look(), 0, 97).is_err());
        let look = Look { queued: 4_096 + 257, ..world.look() };
        assert!(Bounded.handled(look, 0, 1).is_err());
    }
}
