//! Logs on stderr through a bounded queue: a blocked reader never holds who logs.

use std::io;

use tracing_subscriber::Layer as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::{LogFormat, OutsideArgs};
use crate::exit::Failure;
use crate::output;
use crate::sink::LineSink;

/// Log lines that wait for stderr.
const QUEUE_LINES: usize = 1024;

/// Starts logging.
pub(super) fn start(args: &OutsideArgs) -> Result<LineSink, Failure> {
    let lost: fn(u64) -> String = match args.log_format {
        LogFormat::Text => {
            |count| format!("{count} log lines are missing here: stderr was not read in time\n")
        }
        LogFormat::Json => |count| format!("{{\"level\":\"WARN\",\"lost_log_lines\":{count}}}\n"),
    };
    let sink = LineSink::spawn("gms-log", QUEUE_LINES, io::stderr(), lost).map_err(|error| {
        Failure::fault(format!("no thread can be started ({error}): raise this process's limits"))
    })?;
    let writer = sink.clone();
    let layer = tracing_subscriber::fmt::layer().with_writer(move || writer.clone());
    let filter = args.log.clone();
    let layer = match args.log_format {
        LogFormat::Text => layer.with_ansi(output::colour_of_log()).with_filter(filter).boxed(),
        LogFormat::Json => layer.json().with_filter(filter).boxed(),
    };
    // Fails only where a subscriber is set already, as in tests that run commands in one process.
    drop(tracing_subscriber::registry().with(layer).try_init());
    Ok(sink)
}
