//! A local address and port: a listener's or a connecting association's.
use super::port::Port;
use super::raw::{RawSocket, Route, read_for_ever, release_for_ever};
use super::stack::Inner;
use super::tables;
use crate::SctpError;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// A raw socket with the tasks that read it and send what waits; they end with the last endpoint.
pub(super) struct Reader {
    pub(super) raw: Arc<RawSocket>,
    task: JoinHandle<()>,
    release: JoinHandle<()>,
}

impl Reader {
    pub(super) fn spawn(local: IpAddr, ticker: Arc<super::ticker::Ticker>) -> Result<Reader, SctpError> {
        let raw = Arc::new(RawSocket::open(local)?);
        let task = tokio::spawn(read_for_ever(raw.clone(), ticker));
        let release = tokio::spawn(release_for_ever(raw.clone()));
        Ok(Reader { raw, task, release })
    }

    /// Whether the task still runs; it does not when its runtime has gone.
    pub(super) fn is_alive(&self) -> bool {
        !self.task.is_finished()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.task.abort();
        self.release.abort();
    }
}

/// A local address and port in use until dropped.
pub(super) struct Endpoint {
    /// Port inside the library.
    pub(super) inner_port: u16,
    pub(super) local: IpAddr,
    port: Port,
    reader: Arc<Reader>,
    /// Keeps the clock going.
    _stack: Arc<Inner>,
}

impl Endpoint {
    /// Takes packets for `port`, from `peer` only if there is one.
    pub(super) fn open(
        stack: Arc<Inner>,
        reader: Arc<Reader>,
        local: IpAddr,
        port: Port,
        peer: Option<SocketAddr>,
    ) -> Result<Endpoint, SctpError> {
        let inner_port = tables::lock()
            .add_endpoint(reader.raw.clone(), port.number)
            .ok_or_else(|| io::Error::new(io::ErrorKind::AddrInUse, "too many SCTP endpoints in this process"))?;
        let endpoint = Endpoint { inner_port, local, port, reader, _stack: stack };
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
