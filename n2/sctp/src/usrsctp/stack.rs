//! Opening endpoints: listen and connect.
use super::core::Core;
use super::endpoint::{Endpoint, Reader};
use super::gate;
use super::port;
use super::raw::RawSocket;
use super::route::{MTU_LIMIT, route};
use super::socket::{ListeningSocket, Pin, Socket};
use super::tables::{self, Path};
use super::ticker::Ticker;
use crate::association::{Association, established};
use crate::ffi::usrsctp::Handle;
use crate::listener::Listener;
use crate::socket::Accepted;
use crate::{Options, SctpError};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::task::JoinHandle;

/// The stack in user space: the raw sockets of one runtime.
pub(crate) struct Stack(Arc<Inner>);

#[derive(Default)]
pub(super) struct Inner {
    readers: Mutex<HashMap<IpAddr, Weak<Reader>>>,
    ticker: Arc<Ticker>,
    ticks: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(task) = self.ticks.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Stack {
    /// Starts the library and sees whether raw sockets are permitted.
    pub(crate) fn open() -> Result<Stack, SctpError> {
        RawSocket::open(Ipv4Addr::LOCALHOST.into())?;
        gate::start();
        Ok(Stack(Arc::default()))
    }

    /// The raw socket for a local address, opened and read if it is not yet.
    fn reader(&self, local: IpAddr) -> Result<Arc<Reader>, SctpError> {
        let mut ticks = self.0.ticks.lock().unwrap_or_else(PoisonError::into_inner);
        if ticks.as_ref().is_none_or(JoinHandle::is_finished) {
            *ticks = Some(tokio::spawn(self.0.ticker.clone().run()));
        }
        drop(ticks);
        let mut readers = self.0.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = readers.get(&local).and_then(Weak::upgrade).filter(|reader| reader.is_alive()) {
            return Ok(reader);
        }
        let reader = Arc::new(Reader::spawn(local, self.0.ticker.clone())?);
        readers.retain(|_, reader| reader.strong_count() > 0);
        readers.insert(local, Arc::downgrade(&reader));
        Ok(reader)
    }

    pub(crate) async fn listen(
        &self,
        local: &[IpAddr],
        port: u16,
        options: &Options,
    ) -> Result<Listener<ListeningSocket>, SctpError> {
        let address = local.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        if local.len() > 1 {
            tracing::warn!(
                %address,
                "the SCTP stack in user space takes one local address: the others are not used (no multi-homing)"
            );
        }
        let port = port::reserve(address, port)?;
        let endpoint = Endpoint::open(self.0.clone(), self.reader(address)?, address, port, None)?;
        let core = {
            let mut gate = gate::enter();
            let handle = Handle::new(&mut gate, options, MTU_LIMIT as u32)?;
            let ready =
                handle.bind(&mut gate, endpoint.inner_port).and_then(|()| handle.listen(&mut gate, options.backlog));
            match ready {
                Ok(()) => Core::new(handle, &mut gate)?,
                Err(error) => {
                    handle.close(&mut gate);
                    return Err(error.into());
                }
            }
        };
        Ok(Listener::new(ListeningSocket::new(core, Arc::new(endpoint), options.clone()), options.clone()))
    }

    pub(crate) async fn connect(
        &self,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        options: &Options,
    ) -> Result<Association<Socket>, SctpError> {
        let wanted = local.filter(|local| !local.ip().is_unspecified());
        let route = route(wanted.map(|local| local.ip()), remote.ip())?;
        let port = port::reserve(route.local, local.map_or(0, |local| local.port()))?;
        let reader = self.reader(route.local)?;
        let endpoint = Arc::new(Endpoint::open(self.0.clone(), reader, route.local, port, Some(remote))?);
        let peer =
            tables::lock().peer(endpoint.inner_port, Path { local: route.local, remote }).ok_or(SctpError::Closed)?;
        let pin = Pin::new(endpoint.inner_port, peer).ok_or(SctpError::Closed)?;
        let core = {
            let mut gate = gate::enter();
            let handle = Handle::new(&mut gate, options, route.mtu)?;
            let core = match handle.bind(&mut gate, endpoint.inner_port) {
                Ok(()) => Core::new(handle, &mut gate)?,
                Err(error) => {
                    handle.close(&mut gate);
                    return Err(error.into());
                }
            };
            let begun = core.connect(&mut gate, peer);
            drop(gate);
            begun?;
            core
        };
        self.0.ticker.stir();
        let socket = Arc::new(Socket::new(core, pin, endpoint));
        let streams = established(&*socket).await?;
        let local = socket.local();
        Ok(Association::new(Accepted { socket, peer: remote, local, streams }, options.clone(), None))
    }
}
