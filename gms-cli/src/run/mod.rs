//! `gms run`: one member until it is told to end.

mod handle;
mod http;
mod join;
mod logging;
mod on_event;
mod parent;
mod pump;
mod settings;
mod transport;

use std::path::Path;
use std::time::Duration;

use gms_core::event::{Event, StopReason};
use gms_core::runtime::{Builder, EventStream, Gms};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::RunArgs;
use crate::exit::{Code, Failure};
use crate::sink::LineSink;
use crate::trace::JsonTrace;

pub(crate) use settings::config_sentence;

use pump::{Pump, Started};
use transport::Opened;

/// How long queued lines may take to be written at the end.
const FLUSH: Duration = Duration::from_millis(500);

/// `gms run`
pub(crate) fn command(args: RunArgs) -> Result<Code, Failure> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(
            |error| {
                Failure::fault(format!("no threads can be started ({error}): raise this process's limits"))
            },
        )?;
    // Before anything else: whoever started this process may send a signal at once.
    let entered = runtime.enter();
    let hangup = catch(SignalKind::hangup())?;
    let signals = Signals::catch()?;
    drop(entered);
    if args.outside.exit_with_stdin {
        parent::end_with_it();
    }
    settings::validate(&args)?;
    let log = logging::start(&args.outside)?;
    let result = runtime.block_on(run(args, signals, hangup));
    // Nothing that still hangs, such as a program of --on-event, may hold the end.
    runtime.shutdown_timeout(FLUSH);
    log.flush(FLUSH);
    result
}

/// The token in a file, without the line's end.
pub(crate) fn read_token(file: &Path) -> Result<String, Failure> {
    let text = crate::files::read_text(file).map_err(|error| {
        Failure::usage(format!(
            "--http-token {} can't be read ({error}): name a readable file",
            file.display()
        ))
    })?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
        let file = file.display();
        return Err(Failure::usage(format!(
            "--http-token {file} holds no token: write one line of printable ASCII into it"
        )));
    }
    Ok(token.to_owned())
}

/// What is opened before the member starts.
struct Prepared {
    http: Option<http::Port>,
    transport: Opened,
    builder: Builder,
    trace: Option<LineSink>,
}

/// Opens everything. That may take for ever: files that are named may be pipes, or on a file system that hangs.
async fn prepare(args: &RunArgs, hangup: Signal) -> Result<Prepared, Failure> {
    let http = http::listen(&args.outside)?;
    let transport = Opened::open(args, hangup).await?;
    let mut builder = settings::builder(args)?;
    let mut trace = None;
    if let Some(file) = &args.outside.trace {
        let (sink, lines) = open_trace(file)?;
        builder = builder.trace(Box::new(sink));
        trace = Some(lines);
    }
    Ok(Prepared { http, transport, builder, trace })
}

/// What `prepare` gives, unless `told` to end before.
async fn unless_told<T: Send + 'static>(
    prepare: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    told: impl Future<Output = ()>,
) -> Result<T, Failure> {
    tokio::select! {
        prepared = transport::off_the_runtime(prepare) => {
            prepared.unwrap_or_else(|| Err(Failure::fault("what the member needs could not be opened")))
        }
        () = told => Err(Failure::fault(
            "told to end before the member started: a file or an address kept it waiting",
        )),
    }
}

async fn run(args: RunArgs, mut signals: Signals, hangup: Signal) -> Result<Code, Failure> {
    let opening = args.clone();
    let handle = tokio::runtime::Handle::current();
    let prepare = move || handle.block_on(prepare(&opening, hangup));
    let Prepared { http, transport, builder, trace } = unless_told(prepare, signals.next()).await?;
    let (gms, events) = transport
        .start(builder)
        .await
        .map_err(|error| Failure::usage(format!("the member can't start: {error}")))?;
    let started = Started::of(&gms, http.as_ref().map(|port| port.addr));
    let pump = Pump::start(&args.outside, started)?;
    let server = http.map(|port| http::serve(port, &args, &gms, pump.history())).transpose()?;
    let ended = follow(&gms, events, pump, &mut signals).await;
    if let Some(server) = server {
        // Joining a thread blocks; nothing else runs here any more.
        server.stop();
    }
    if let Some(trace) = trace {
        trace.flush(FLUSH);
    }
    match ended {
        Some(reason) => end(&args, &reason),
        None => Err(Failure::fault(
            "ended at once at the second signal: the others find this member gone or silent",
        )),
    }
}

fn open_trace(file: &Path) -> Result<(JsonTrace, LineSink), Failure> {
    let opened = std::fs::File::create(file).and_then(JsonTrace::to_file);
    opened.map_err(|error| {
        Failure::fault(format!(
            "--trace {} can't be written ({error}): name a file in a writable place",
            file.display()
        ))
    })
}

/// The signals that tell a member to leave.
struct Signals {
    term: Signal,
    int: Signal,
}

impl Signals {
    fn catch() -> Result<Self, Failure> {
        Ok(Self { term: catch(SignalKind::terminate())?, int: catch(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}

fn catch(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| {
        Failure::fault(format!("signals can't be caught ({error}): raise the limits of this process"))
    })
}

/// Passes events on until the member stopped; `None` when a second signal ended it.
async fn follow(
    gms: &Gms,
    mut events: EventStream,
    mut pump: Pump,
    signals: &mut Signals,
) -> Option<StopReason> {
    let mut leaving = false;
    loop {
        tokio::select! {
            event = events.next_stamped() => match event {
                Some(event) => {
                    let is_last = matches!(event.event, Event::Stopped { .. });
                    pump.tell(event);
                    if is_last {
                        // A further signal has nothing to end.
                        return Some(finish(gms, pump).await);
                    }
                }
                None => return Some(finish(gms, pump).await),
            },
            () = signals.next() => {
                if leaving {
                    gms.abort();
                    pump.close(Duration::ZERO).await;
                    return None;
                }
                leaving = true;
                tracing::info!("leaving; a second signal ends at once");
                let gms = gms.clone();
                tokio::spawn(async move { gms.leave().await });
            }
        }
    }
}

async fn finish(gms: &Gms, pump: Pump) -> StopReason {
    let reason = gms.stopped().await;
    pump.close(FLUSH).await;
    reason
}

fn end(args: &RunArgs, reason: &StopReason) -> Result<Code, Failure> {
    let failure = |code, sentence: &str| Err(Failure { code, sentence: sentence.to_owned() });
    match reason {
        StopReason::Left => Ok(Code::Success),
        StopReason::LeaveTimedOut => failure(
            Code::Fault,
            "left without an answer: no view without this member was decided in time, so the others remove it as silent; \
             a longer --leave-timeout waits longer",
        ),
        StopReason::JoinFailed(why) => Err(join::failure(args, why)),
        StopReason::Excluded => failure(
            Code::Excluded,
            "excluded from the cluster, and told not to join again: start it anew, or run it without --no-rejoin",
        ),
        StopReason::QuorumLost => failure(
            Code::QuorumLost,
            "the majority was lost for too long, and --quorum-loss is leave: start it anew when the others are back",
        ),
        StopReason::TransportFailed(why) => failure(Code::Fault, &format!("{why}: start the member again")),
        StopReason::Aborted => failure(Code::Fault, "told to stop at once: the others find this member gone"),
        other => failure(Code::Fault, &format!("stopped: {other:?}; look at the log")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn who_is_told_to_end_waits_for_no_file() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (free, hang) = mpsc::channel::<()>();
        let prepare = move || hang.recv().map_err(|_| Failure::fault("freed"));
        let told = runtime.block_on(unless_told(prepare, async {})).unwrap_err();
        assert!(told.sentence.starts_with("told to end before the member started"), "{told}");
        drop(free);
        let opened = runtime.block_on(unless_told(|| Ok(7), std::future::pending()));
        assert_eq!(opened.unwrap(), 7);
    }
}
