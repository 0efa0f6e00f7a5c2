//! `gms-bench limits`: what the machine can do at most, and GMS's share of it.
//!
//! Each measurement is a pair, made one right after the other: a bare loop over the same system calls and sizes (over QUIC
//! quinn alone), and GMS's own path. Shares are taken within pairs, since a machine's speed drifts.

mod codec;
mod load;
mod quic;
mod receive;
mod report;
mod send;

use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::{LimitsArgs, Way};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::print;

pub use load::Load;
pub use receive::Receiver;
pub use report::{LimitsReport, Rate};
pub use send::Sender;

/// `gms-bench limits`
pub(crate) fn command(args: &LimitsArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals()?;
    let (report, ended) = measure(args, &interrupt)?;
    if !report.is_empty() {
        print(&report.markdown())?;
        if let Some(dir) = &args.out {
            write_out(&report, dir)?;
        }
    }
    ended
}

/// What was measured, and why that is not all.
fn measure(args: &LimitsArgs, interrupt: &Interrupt) -> Result<(LimitsReport, Result<(), Failure>), Failure> {
    let peers = usize::from(args.peers);
    raise_descriptors(peers)?;
    let mut report = LimitsReport::new(peers);
    let bar = ProgressBar::with_draw_target(Some(args.repeats.into()), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} pairs  {msg}") {
        bar.set_style(style);
    }
    let mut receiver = Receiver::new(peers)?;
    report.window = receiver.window();
    report.heartbeat_bytes = codec::heartbeat_bytes();
    let mut sender = Sender::new(peers)?;
    let mut ended = Ok(());
    for pair in 0..args.repeats {
        // Which of the two is first changes, since the first one warms the caches of the other.
        let subjects = (&mut receiver, &mut sender);
        ended = measure_pair(args, interrupt, &bar, subjects, pair % 2 == 0, &mut report);
        match ended {
            Ok(()) => bar.inc(1),
            Err(Failure::Interrupted) => break,
            Err(failure) => return Err(failure),
        }
    }
    bar.finish_and_clear();
    Ok((report, ended))
}

/// A pair of each kind that is wanted.
fn measure_pair(
    args: &LimitsArgs,
    interrupt: &Interrupt,
    bar: &ProgressBar,
    (receiver, sender): (&mut Receiver, &mut Sender),
    bare_first: bool,
    report: &mut LimitsReport,
) -> Result<(), Failure> {
    let wants = |way| args.only.is_none_or(|only| only == way);
    interrupt.check()?;
    if wants(Way::Received) {
        bar.set_message("receiving");
        let pair = both(receiver, bare_first, |r| r.bare(args.time), |r| r.through_a_member(args.time))?;
        report.received.push(pair);
    }
    interrupt.check()?;
    if wants(Way::Sent) {
        bar.set_message("sending");
        let pair = both(sender, bare_first, |s| s.bare(args.time), |s| s.through_a_member(args.time))?;
        report.sent.push(pair);
    }
    interrupt.check()?;
    if wants(Way::Quic) {
        bar.set_message("over QUIC");
        let own = |(): &mut ()| quic::through_transports(args.time);
        report.quic.push(both(&mut (), bare_first, |()| quic::bare(args.time), own)?);
    }
    report.codec_ns.push(codec::heartbeat_ns());
    Ok(())
}

/// Both measurements of a pair, in this order or the other.
fn both<T>(
    subject: &mut T,
    bare_first: bool,
    bare: impl Fn(&mut T) -> Result<Rate, Failure>,
    own: impl Fn(&mut T) -> Result<Rate, Failure>,
) -> Result<(Rate, Rate), Failure> {
    if bare_first {
        let first = bare(subject)?;
        return Ok((first, own(subject)?));
    }
    let first = own(subject)?;
    Ok((bare(subject)?, first))
}

/// Makes room for a socket for each peer.
fn raise_descriptors(peers: usize) -> Result<(), Failure> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = peers as u64 + 100;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < needed) {
        return Err(Failure::fault(format!(
            "{needed} descriptors are needed and {} allowed: raise the hard limit (ulimit -Hn), or use fewer --peers",
            limit.maximum.unwrap_or(0)
        )));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum: limit.maximum })
        .map_err(|error| Failure::fault(format!("the limit of descriptors can't be raised: {error}")))
}

fn write_out(report: &LimitsReport, dir: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::fault(format!("{} can't be written ({error}): name a writable folder", dir.display()))
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    std::fs::write(dir.join("limits.md"), report.markdown()).map_err(failed)?;
    std::fs::write(dir.join("limits.json"), report.json()?).map_err(failed)
}
