//! The transport's thread: quinn's tasks and ours, on a runtime of their own.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use gms_core::transport::TransportError;
use quinn::{Endpoint, TokioRuntime};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::dial;
use crate::end::CloseCode;
use crate::expiry;
use crate::limits::{CLOSE_MAX, Limits};
use crate::shared::Shared;
use crate::socket::SharedSocket;
use crate::tls::{Keys, Tls};
use crate::watch;

/// What the thread is started with.
pub(crate) struct Opening {
    pub(crate) socket: std::net::UdpSocket,
    pub(crate) listener: Option<TcpListener>,
    pub(crate) mapped: bool,
    pub(crate) own: Option<SocketAddr>,
    pub(crate) keys: Keys,
    pub(crate) tls: Tls,
    pub(crate) limits: Limits,
}

/// Starts the thread.
pub(crate) fn start(opening: Opening) -> io::Result<Arc<Shared>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let Opening { socket, listener, mapped, own, keys, tls, limits } = opening;
    let socket = Arc::new(SharedSocket::new(socket)?);
    #[cfg(target_os = "linux")]
    let io = socket.io();
    let server = Some(tls.server.clone());
    let abstract_socket: Arc<dyn quinn::AsyncUdpSocket> = socket;
    let config = keys.endpoint_config();
    let endpoint =
        Endpoint::new_with_abstract_socket(config, server, abstract_socket, Arc::new(TokioRuntime))?;
    let shared = Arc::new(Shared::new(
        endpoint.clone(),
        listener.is_some(),
        mapped,
        own,
        runtime.handle().clone(),
        tls,
        limits,
    ));
    runtime.spawn(dial::accept(Arc::clone(&shared), endpoint));
    runtime.spawn(expiry::watch(Arc::clone(&shared)));
    #[cfg(target_os = "linux")]
    runtime.spawn(crate::errors::read(Arc::clone(&shared), io));
    if let Some(listener) = listener {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        runtime.spawn(watch::accept(Arc::clone(&shared), listener));
    }
    drop(entered);
    let on_thread = Arc::clone(&shared);
    let thread = std::thread::Builder::new().name("gms-quic".into());
    thread.spawn(move || {
        let _ending = Ending(Arc::clone(&on_thread));
        run(&runtime, &on_thread);
        // Drops every task, and the socket with the last of them.
        drop(runtime);
    })?;
    Ok(shared)
}

fn run(runtime: &Runtime, shared: &Shared) {
    runtime.block_on(async {
        shared.life.asked_to_close().await;
        let endpoint = shared.let_go(TransportError::Closed);
        shared.life.say_goodbye();
        if let Some(endpoint) = endpoint {
            endpoint.close(CloseCode::Goodbye.code(), b"goodbye");
            // What matters is sent in the meantime; nobody needs the rest of the time that closing takes.
            let _ = timeout(CLOSE_MAX, endpoint.wait_idle()).await;
        }
    });
}

/// Tells everyone that the thread is over, when it is.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(self.0.let_go(TransportError::Failed("the transport's thread panicked".into())));
        }
        self.0.life.ended.set();
    }
}
