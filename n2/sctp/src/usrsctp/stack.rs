//! Opening endpoints: listen and connect.
use super::association::{Association, Pin, SharedSocket};
use super::endpoint::{Endpoint, Reader};
use super::gate;
use super::listener::Listener;
use super::port;
use super::socket::Core;
use super::tables::{self, Path};
use super::ticker::Ticker;
use crate::error::End;
use crate::ffi::sys;
use crate::ffi::usrsctp::{Handle, Read, change};
use crate::{Options, SctpError};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::task::JoinHandle;

/// Largest SCTP packet in an IP packet.
const MTU_LIMIT: i32 = 65_532;

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
        super::raw::RawSocket::open(Ipv4Addr::LOCALHOST.into())?;
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

    pub(crate) async fn listen(&self, local: &[IpAddr], port: u16, options: &Options) -> Result<Listener, SctpError> {
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
            let ready = handle.bind(&mut gate, endpoint.inner_port).and_then(|()| handle.listen(&mut gate, options.backlog));
            match ready {
                Ok(()) => Core::new(handle, &mut gate)?,
                Err(error) => {
                    handle.close(&mut gate);
                    return Err(error.into());
                }
            }
        };
        Ok(Listener::new(core, Arc::new(endpoint), options.clone()))
    }

    pub(crate) async fn connect(
        &self,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        options: &Options,
    ) -> Result<Association, SctpError> {
        let wanted = local.filter(|local| !local.ip().is_unspecified());
        let route = route(wanted.map(|local| local.ip()), remote.ip())?;
        let port = port::reserve(route.local, local.map_or(0, |local| local.port()))?;
        let reader = self.reader(route.local)?;
        let endpoint = Arc::new(Endpoint::open(self.0.clone(), reader, route.local, port, Some(remote))?);
        let peer = tables::lock().peer(endpoint.inner_port, Path { local: route.local, remote }).ok_or(SctpError::Closed)?;
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
        let socket = SharedSocket { core, _pin: pin, endpoint };
        let streams = established(&socket.core).await?;
        Ok(Association::new(Arc::new(socket), remote, route.local, streams, options.clone(), None))
    }
}

/// Waits until a connecting socket is up; outbound streams agreed on.
async fn established(core: &Core) -> Result<u16, SctpError> {
    let mut failed = false;
    loop {
        let read = gate::enter().read(core).map(|(read, _)| read);
        match read {
            Ok(Read::Change { state: change::UP, outbound, .. }) => return Ok(outbound),
            Ok(Read::Change { state: change::LOST | change::CANNOT_START, .. }) => failed = true,
            Ok(Read::Eof) => return Err(SctpError::Refused),
            Ok(_) => {}
            Err(error) => match error.raw_os_error() {
                Some(libc::EWOULDBLOCK) if !failed => core.readable.notified().await,
                Some(libc::ECONNREFUSED | libc::ECONNRESET) => return Err(SctpError::Refused),
                Some(libc::EWOULDBLOCK | libc::ETIMEDOUT | libc::ECONNABORTED) => {
                    return Err(SctpError::ConnectTimeout);
                }
                _ => return Err(error.into()),
            },
        }
    }
}

/// How packets get to a peer.
pub(super) struct RouteTo {
    /// The local address they come from.
    pub(super) local: IpAddr,
    /// What fits into one IP packet, without the IP header.
    pub(super) mtu: u32,
}

/// Asks the kernel for its route by connecting a UDP socket, which sends nothing.
pub(super) fn route(local: Option<IpAddr>, remote: IpAddr) -> Result<RouteTo, SctpError> {
    let any = if remote.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
    let probe = UdpSocket::bind((local.unwrap_or(any), 0)).map_err(|error| {
        io::Error::new(error.kind(), format!("{} is no address of this machine: {error}", local.unwrap_or(any)))
    })?;
    // The port matters to nobody.
    probe.connect((remote, 9)).map_err(|error| io::Error::new(error.kind(), format!("no route to {remote}: {error}")))?;
    let (level, option, header) = if remote.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU, 20)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU, 40)
    };
    let mtu = sys::get_int(probe.as_fd(), level, option)?.clamp(576, MTU_LIMIT) - header;
    Ok(RouteTo { local: probe.local_addr()?.ip(), mtu: (mtu & !3) as u32 })
}

/// How reading ended, from what the library says after its last event.
pub(super) fn end_of(lost: Option<u16>, error: Option<&io::Error>) -> End {
    match (lost, error.and_then(io::Error::raw_os_error)) {
        (cause, Some(libc::ECONNRESET | libc::ECONNREFUSED)) => End::Aborted { cause: cause.unwrap_or(0) },
        (None, None) => End::Shutdown,
        _ => End::PathFailed,
    }
}
