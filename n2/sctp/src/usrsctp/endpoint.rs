//! A local address and port: a listener's or a connecting association's.
use super::port::Port;
use super::raw::Route;
use super::reader::{Reader, Readers};
use super::tables;
use crate::SctpError;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A local address and port in use until dropped.
pub(super) struct Endpoint {
    /// Port inside the library.
    pub(super) inner_port: u16,
    pub(super) local: IpAddr,
    port: Port,
    reader: Arc<Reader>,
    /// Keeps the clock going.
    _readers: Arc<Readers>,
}

impl Endpoint {
    /// Takes packets for `port`, from `peer` only if there is one.
    pub(super) fn open(
        readers: Arc<Readers>,
        local: IpAddr,
        port: Port,
        peer: Option<SocketAddr>,
    ) -> Result<Endpoint, SctpError> {
        let reader = readers.of(local)?;
        let inner_port =
            tables::lock().add_endpoint(reader.raw.clone(), port.number).ok_or_else(|| {
                io::Error::new(io::ErrorKind::AddrInUse, "too many SCTP endpoints in this process")
            })?;
        let endpoint = Endpoint { inner_port, local, port, reader, _readers: readers };
        endpoint.reader.raw.add(endpoint.port(), Route { endpoint: inner_port, peer })?;
        Ok(endpoint)
    }

    /// Port on the wire.
    pub(super) fn port(&self) -> u16 {
        self.port.number
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.reader.raw.remove(self.port());
        let raw = tables::lock().remove_endpoint(self.inner_port);
        drop(raw);
    }
}
