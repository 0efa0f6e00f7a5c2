//! Any list of operations on one node: messages of members, former members and strangers, results, time, commands.
//!
//! The bytes of an input choose the operations and what they carry, out of small pools, so that what is said concerns the
//! node more often than not. After every call the outputs are judged (`node/judge.rs`).

mod answers;
mod cast;
mod changes;
mod datagrams;
mod frames;
mod heads;
mod judge;
mod stage;

use std::time::Duration;

use gms_core::Input;
use gms_core::evidence::ProbeOutcome;
use gms_core::input::{CheckHandle, Command, CommandToken, SendFailure, WatchEnd};
use gms_core::message::CheckRequest;
use gms_core::output::{FrameToken, ProbeId, WatchId};
use gms_core::view::ViewId;

use super::draw::Draw;
use stage::Stage;

/// Most operations of one input: an input that is longer only repeats itself.
const OPERATIONS_MAX: u32 = 600;
/// What became of an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// Operations performed.
    pub operations: u32,
    /// Outputs of the node.
    pub outputs: u64,
    /// Views installed.
    pub views: u64,
    /// A hash over everything that the node put out.
    pub trace: u64,
    /// The kinds of messages that the node was given.
    pub kinds: std::collections::BTreeSet<String>,
}

/// The kinds of operations; a byte chooses one, and those that are listed several times come more often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// Wakes the node when it asked to be woken.
    Wake,
    /// Wakes it so, several times.
    WakeOften,
    /// Wakes it at another time, as if it had been busy or asleep.
    WakeLate,
    /// Lets time pass without waking it.
    Pass,
    /// Peers send the heartbeats that they should.
    Beat,
    /// Peers answer what they were asked.
    Answer,
    /// A datagram of any content.
    Datagram,
    /// A frame of any content.
    Frame,
    /// What became of a frame.
    FrameResult,
    /// What a probe brought.
    ProbeResult,
    /// A watch connection ends, or a datagram finds nobody.
    Sign,
    /// A check is asked.
    Check,
    /// The application wants something.
    Command,
}

/// Which operation a byte stands for, modulo the length.
pub(super) const OPERATIONS: [Operation; 24] = [
    Operation::Wake,
    Operation::WakeOften,
    Operation::Beat,
    Operation::Answer,
    Operation::Datagram,
    Operation::Frame,
    Operation::ProbeResult,
    Operation::Command,
    Operation::WakeLate,
    Operation::Pass,
    Operation::Check,
    Operation::FrameResult,
    Operation::Wake,
    Operation::WakeOften,
    Operation::Beat,
    Operation::Answer,
    Operation::Datagram,
    Operation::Frame,
    Operation::ProbeResult,
    Operation::Beat,
    Operation::Answer,
    Operation::Datagram,
    Operation::Frame,
    Operation::Sign,
];

/// Runs the operations that `bytes` stand for.
///
/// # Panics
///
/// Where an invariant does not hold.
pub fn node(bytes: &[u8]) {
    replay(bytes);
}

/// As [`node`]; says what happened.
///
/// # Panics
///
/// Where an invariant does not hold.
pub fn replay(bytes: &[u8]) -> Account {
    let mut stage = Stage::new(Draw::new(bytes));
    let mut operations = 0;
    while operations < OPERATIONS_MAX && !stage.draw.is_over() && !stage.node.is_stopped() {
        operations += 1;
        perform(&mut stage);
        stage.look();
    }
    if stage.node.is_stopped() {
        // Nothing may follow, whatever comes.
        (0..16).for_each(|_| perform(&mut stage));
        check(&mut stage);
    }
    stage.end(operations)
}

fn perform(stage: &mut Stage<'_>) {
    match stage.draw.of(&OPERATIONS) {
        Operation::Wake => stage.wake(),
        Operation::WakeOften => {
            for _ in 0..=stage.draw.below(16) {
                stage.wake();
            }
        }
        Operation::WakeLate => {
            let span = span(stage);
            stage.pass(span);
            stage.settle();
        }
        Operation::Pass => {
            let span = span(stage);
            stage.pass(span);
        }
        Operation::Beat => heads::beat(stage),
        Operation::Answer => answers::answer(stage),
        Operation::Datagram => datagrams::deliver(stage),
        Operation::Frame => frames::deliver(stage),
        Operation::FrameResult => frame_result(stage),
        Operation::ProbeResult => probe_result(stage),
        Operation::Sign => sign(stage),
        Operation::Check => check(stage),
        Operation::Command => command(stage),
    }
}

/// A span around those that rules speak of.
pub(super) fn span(stage: &mut Stage<'_>) -> Duration {
    let timing = stage.timing();
    let (t, interval) = (timing.member_timeout, timing.heartbeat_interval);
    let exact = [
        Duration::from_millis(1),
        interval / 2,
        interval,
        timing.check_timeout,
        timing.refused_grace,
        timing.batch_window,
        t,
        timing.removal_silence(),
        t * 2,
        t * 5,
        Duration::ZERO,
        Duration::from_nanos(1),
    ];
    match stage.draw.below(16) {
        n @ 0..12 => exact[n],
        12 => Duration::from_micros(stage.draw.wide() % 10_000_000),
        13 => t * 100,
        14 => Duration::from_secs(86_400 * 365),
        _ => interval - Duration::from_nanos(1),
    }
}

fn sign(stage: &mut Stage<'_>) {
    if stage.draw.below(2) == 0 {
        let to = cast::address_of(stage.draw.below(cast::ALL));
        return stage.feed(Input::Unreachable { to });
    }
    let watch = match stage.draw.below(8) {
        0 => WatchId(stage.draw.wide()),
        _ => stage.said.watches.pick(&mut stage.draw).unwrap_or(WatchId(1)),
    };
    let end = stage.draw.of(&[WatchEnd::Broken, WatchEnd::Refused, WatchEnd::Goodbye, WatchEnd::Failed]);
    stage.feed(Input::WatchEnded { watch, end });
}

fn frame_result(stage: &mut Stage<'_>) {
    let failures = [
        SendFailure::Refused,
        SendFailure::Broken,
        SendFailure::TimedOut,
        SendFailure::Unreachable,
        SendFailure::NotQueued,
        SendFailure::Local,
    ];
    let token = match stage.draw.below(8) {
        0 => FrameToken(stage.draw.wide()),
        _ => stage.said.tokens.pick(&mut stage.draw).unwrap_or(FrameToken(1)),
    };
    let input = match stage.draw.below(3) {
        0 => Input::FrameSent { token },
        _ => Input::FrameFailed { token, failure: stage.draw.of(&failures) },
    };
    stage.feed(input);
}

fn probe_result(stage: &mut Stage<'_>) {
    let other = stage.id();
    let outcomes = [
        ProbeOutcome::Ok,
        ProbeOutcome::Refused,
        ProbeOutcome::TimedOut,
        ProbeOutcome::Other(other),
        ProbeOutcome::Sick,
        ProbeOutcome::Reset,
        ProbeOutcome::Unreachable,
        ProbeOutcome::LocalFault,
        ProbeOutcome::Garbage,
        ProbeOutcome::Elsewhere,
    ];
    // A probe that was stopped may have ended just before; one that never was is a fault of the driver's.
    let probe = match stage.draw.below(8) {
        0 => ProbeId(stage.draw.wide()),
        _ => stage.said.probes.pick(&mut stage.draw).unwrap_or(ProbeId(1)),
    };
    let outcome = stage.draw.of(&outcomes);
    stage.feed(Input::ProbeDone { probe, outcome });
}

fn check(stage: &mut Stage<'_>) {
    let target = if stage.draw.one_in(3) { stage.id() } else { stage.node.me().id };
    let view = stage.view_number();
    let view = ViewId(stage.draw.number(view));
    let cluster = stage.cluster();
    let handle = CheckHandle(stage.fresh());
    stage.feed(Input::CheckAsked { handle, request: CheckRequest { cluster, target, view } });
}

fn command(stage: &mut Stage<'_>) {
    let member = stage.id();
    let command = match stage.draw.below(16) {
        0..=3 => Command::Suspect { member, reason: cast::text(&mut stage.draw) },
        4..=8 => Command::Check { token: CommandToken(stage.fresh()), member },
        9..=10 => Command::Remove { member, reason: cast::long_text(&mut stage.draw) },
        11..=12 => Command::SetSick(stage.draw.one_in(2)),
        13 => {
            let count = stage.draw.below(5);
            Command::Seeds((0..count).map(|_| cast::address_of(stage.draw.below(cast::ALL))).collect())
        }
        14 => Command::Leave,
        // Rare, since it ends the run.
        _ if stage.draw.one_in(16) => Command::Abort,
        _ => Command::SetSick(false),
    };
    stage.feed(Input::Command(command));
}
