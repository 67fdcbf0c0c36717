//! A local address and port of a listener or a connecting association.
use super::addresses;
use super::port::Port;
use super::raw_socket::Route;
use super::receiver::{Receiver, Receivers};
use crate::SctpError;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A local address and port in use until dropped.
pub(super) struct Endpoint {
    /// Inner port.
    pub(super) inner_port: u16,
    pub(super) local: IpAddr,
    port: Port,
    receiver: Arc<Receiver>,
    /// Keeps the timers running.
    _receivers: Arc<Receivers>,
}

impl Endpoint {
    /// Receives packets to `port`, only from `peer` if there is one. `missing_checksums`: see
    /// [`crate::Options::missing_checksums`].
    pub(super) fn open(
        receivers: Arc<Receivers>,
        local: IpAddr,
        port: Port,
        peer: Option<SocketAddr>,
        missing_checksums: bool,
    ) -> Result<Endpoint, SctpError> {
        let receiver = receivers.of(local)?;
        let inner_port =
            addresses::lock().add_endpoint(receiver.raw.clone(), port.number).ok_or_else(|| {
                io::Error::new(io::ErrorKind::AddrInUse, "too many SCTP endpoints in this process")
            })?;
        let endpoint = Endpoint { inner_port, local, port, receiver, _receivers: receivers };
        let route = Route { endpoint: inner_port, peer, missing_checksums };
        endpoint.receiver.raw.add(endpoint.port(), route)?;
        Ok(endpoint)
    }

    /// Port on the wire.
    pub(super) fn port(&self) -> u16 {
        self.port.number
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.receiver.raw.remove(self.port());
        let raw = addresses::lock().remove_endpoint(self.inner_port);
        drop(raw);
    }
}
