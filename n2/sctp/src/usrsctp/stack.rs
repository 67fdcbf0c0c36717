//! Opening endpoints: listen and connect.
use super::core::Core;
use super::endpoint::Endpoint;
use super::gate;
use super::port;
use super::raw::RawSocket;
use super::reader::Readers;
use super::route::{MTU_LIMIT, route};
use super::socket::{ListeningSocket, Pin, Socket};
use super::tables::{self, Path};
use crate::association::{Association, established};
use crate::ffi::usrsctp::Handle;
use crate::listener::Listener;
use crate::socket::Accepted;
use crate::{Options, SctpError};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The stack in user space: the raw sockets of one runtime.
pub(crate) struct Stack(Arc<Readers>);

impl Stack {
    /// Starts the library and sees whether raw sockets are permitted.
    pub(crate) fn open() -> Result<Stack, SctpError> {
        RawSocket::open(Ipv4Addr::LOCALHOST.into())?;
        gate::start();
        Ok(Stack(Arc::default()))
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
        let endpoint = Endpoint::open(self.0.clone(), address, port, None)?;
        let core = {
            let mut gate = gate::enter();
            let handle = Handle::new(&mut gate, options, MTU_LIMIT as u32)?;
            let ready = handle
                .bind(&mut gate, endpoint.inner_port)
                .and_then(|()| handle.listen(&mut gate, options.backlog));
            match ready {
                Ok(()) => Core::new(handle, &mut gate)?,
                Err(error) => {
                    handle.close(&mut gate);
                    return Err(error.into());
                }
            }
        };
        Ok(Listener::new(
            ListeningSocket::new(core, Arc::new(endpoint), options.clone()),
            options.clone(),
        ))
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
        let endpoint = Arc::new(Endpoint::open(self.0.clone(), route.local, port, Some(remote))?);
        let peer = tables::lock()
            .peer(endpoint.inner_port, Path { local: route.local, remote })
            .ok_or(SctpError::Closed)?;
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
        self.0.stir();
        let socket = Arc::new(Socket::new(core, pin, endpoint));
        let streams = established(&*socket).await?;
        let local = socket.local();
        Ok(Association::new(
            Accepted { socket, peer: remote, local, streams },
            options.clone(),
            None,
        ))
    }
}
