//! The loop that accepts connections. Their number is bounded, and whoever comes is served: with all seats taken, the
//! connection that deserves its seat least gives way, so that clients which hold connections without using them can
//! neither use up the process's descriptors nor keep a health check out.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use super::seat::Seat;
use super::{DRAIN, Limits};

/// Wait before accepting is tried again where the system has no descriptors or memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Serves until told to stop, and a little longer what is open then.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &Limits,
    stopped: watch::Receiver<bool>,
) {
    let mut seats = Seats::new(limits.connections);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.request_takes);
    let mut stops = pin!(stop(stopped.clone()));
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    rest_after(&error).await;
                    continue;
                }
            },
            () = &mut stops => break,
        };
        let seat = Seat::new();
        let task = converse(http.clone(), stream, router.clone(), seat.clone(), stopped.clone());
        seats.take(seat, task).await;
    }
    drop(listener);
    seats.drain().await;
}

/// A client that gave up before it was accepted is no reason to wait; anything else has to pass first.
async fn rest_after(error: &std::io::Error) {
    let of_the_client =
        [ErrorKind::ConnectionRefused, ErrorKind::ConnectionAborted, ErrorKind::ConnectionReset];
    if !of_the_client.contains(&error.kind()) {
        tracing::warn!(%error, "the http interface can't accept a connection");
        tokio::time::sleep(ACCEPT_AGAIN).await;
    }
}

/// Returns when the interface is to stop.
async fn stop(mut stopped: watch::Receiver<bool>) {
    // An error says that nobody is left who could say so.
    drop(stopped.wait_for(|stop| *stop).await);
}

/// One connection, to its end.
async fn converse(
    http: http1::Builder,
    stream: TcpStream,
    router: Router,
    seat: Seat,
    stopped: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        seat.asked();
        request.extensions_mut().insert(seat.clone());
        let (answer, seat) = (router.call(request), seat.clone());
        async move {
            let answer: Result<Response, Infallible> = answer.await;
            seat.answered();
            answer
        }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // How a client ended its connection is its own affair.
        ended = &mut connection => drop(ended),
        () = stop(stopped) => {
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
    }
}

/// The connections that are served.
struct Seats {
    tasks: JoinSet<()>,
    /// By the order in which they came.
    taken: BTreeMap<u64, (Seat, AbortHandle)>,
    came: u64,
    max: usize,
}

impl Seats {
    fn new(max: usize) -> Self {
        Self { tasks: JoinSet::new(), taken: BTreeMap::new(), came: 0, max }
    }

    /// Gives a seat to a connection, that of another one where all are taken.
    async fn take(&mut self, seat: Seat, task: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.taken.retain(|_, (_, task)| !task.is_finished());
        while self.taken.len() >= self.max {
            let least = self.taken.iter().min_by_key(|(came, (seat, _))| (seat.used_for(), **came));
            let Some(came) = least.map(|(came, _)| *came) else { break };
            if let Some((_, task)) = self.taken.remove(&came) {
                task.abort();
                // Its descriptor is free when the task has had its turn.
                tokio::task::yield_now().await;
            }
        }
        self.came += 1;
        self.taken.insert(self.came, (seat, self.tasks.spawn(task)));
    }

    /// Lets open requests end, for a bounded time.
    async fn drain(mut self) {
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // Whoever takes longer is cut off.
        drop(tokio::time::timeout(DRAIN, ended).await);
    }
}
