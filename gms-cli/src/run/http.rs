//! Opens the HTTP interface of the member.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use gms_core::runtime::Gms;

use super::{read_token, settings};
use crate::args::{HttpAddr, OutsideArgs, RunArgs};
use crate::exit::Failure;
use crate::serve::{self, App, History, Server, Writes};

/// An open port that nobody serves yet.
pub(super) struct Port {
    listener: TcpListener,
    /// Where it is.
    pub(super) addr: SocketAddr,
    writes: Writes,
}

/// Opens the port before the member starts, so that a busy one ends everything before it began.
pub(super) fn listen(args: &OutsideArgs) -> Result<Option<Port>, Failure> {
    let token = args.http_token.as_deref().map(read_token).transpose()?;
    let HttpAddr::At(addr) = args.http else { return Ok(None) };
    let listener = TcpListener::bind(addr).and_then(|listener| Ok((listener.local_addr()?, listener)));
    match listener {
        Ok((addr, listener)) => Ok(Some(Port { listener, addr, writes: serve::writes(addr, token) })),
        Err(error) => Err(Failure::fault(match error.kind() {
            ErrorKind::AddrInUse => {
                format!(
                    "--http {addr} is in use: choose another port, 0 to pick one, or off for no HTTP interface"
                )
            }
            ErrorKind::AddrNotAvailable => {
                format!(
                    "--http {addr} is no address of this machine: choose one that is, such as 127.0.0.1:7780"
                )
            }
            _ => format!("--http {addr} can't be opened ({error}): choose another address, or off"),
        })),
    }
}

/// Serves the member on the open port.
pub(super) fn serve(port: Port, args: &RunArgs, gms: &Gms, history: History) -> Result<Server, Failure> {
    let Port { listener, addr, writes } = port;
    if writes == Writes::Nobody {
        tracing::warn!(%addr, "the http interface is open beyond loopback without --http-token: it refuses writes");
    }
    let app = App {
        control: Box::new(gms.clone()),
        cluster: args.cluster.clone(),
        config: settings::json(args, &gms.me()),
        history,
        writes,
    };
    Server::start(listener, app)
        .map_err(|error| Failure::fault(format!("--http {addr}: its thread can't be started ({error})")))
}
