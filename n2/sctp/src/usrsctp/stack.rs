//! Opening endpoints: listen and connect.
use super::endpoint::Endpoint;
use super::port;
use super::raw_socket::{Path, RawSocket};
use super::receiver::Receivers;
use super::route::{MTU_LIMIT, route};
use super::socket::{ListeningSocket, PeerReference, Socket};
use super::{addresses, library, library_socket};
use crate::association::{Association, established};
use crate::ffi::usrsctp::{Callbacks, Handle};
use crate::listener::Listener;
use crate::socket::Accepted;
use crate::{Options, SctpError};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The user-space stack: the raw sockets of one runtime.
pub(crate) struct Stack(Arc<Receivers>);

impl Stack {
    /// Starts the library and checks that raw sockets are permitted.
    pub(crate) fn open() -> Result<Stack, SctpError> {
        RawSocket::open(Ipv4Addr::LOCALHOST.into())?;
        library::start(Callbacks { output: addresses::output, ready: library_socket::ready });
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
                "user-space SCTP has no multi-homing: only the first local address is used"
            );
        }
        let port = port::reserve(address, port)?;
        let endpoint =
            Endpoint::open(self.0.clone(), address, port, None, options.missing_checksums)?;
        let socket = {
            let mut library = library::lock();
            let handle = Handle::new(&mut library, options, MTU_LIMIT as u32)?;
            let ready = handle
                .bind(&mut library, endpoint.inner_port)
                .and_then(|()| handle.listen(&mut library, options.backlog));
            match ready {
                Ok(()) => library::register(handle, &mut library)?,
                Err(error) => {
                    handle.close(&mut library);
                    return Err(error.into());
                }
            }
        };
        Ok(Listener::new(
            ListeningSocket::new(socket, Arc::new(endpoint), options.clone()),
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
        let endpoint = Endpoint::open(
            self.0.clone(),
            route.local,
            port,
            Some(remote),
            options.missing_checksums,
        )?;
        let endpoint = Arc::new(endpoint);
        let peer = addresses::lock()
            .peer(endpoint.inner_port, Path { local: route.local, remote })
            .ok_or(SctpError::Closed)?;
        let peer_reference =
            PeerReference::new(endpoint.inner_port, peer).ok_or(SctpError::Closed)?;
        let socket = {
            let mut library = library::lock();
            let handle = Handle::new(&mut library, options, route.mtu)?;
            let socket = match handle.bind(&mut library, endpoint.inner_port) {
                Ok(()) => library::register(handle, &mut library)?,
                Err(error) => {
                    handle.close(&mut library);
                    return Err(error.into());
                }
            };
            let begun = socket.connect(&mut library, peer);
            drop(library);
            begun?;
            socket
        };
        self.0.resume_timers();
        let socket = Arc::new(Socket::new(socket, peer_reference, endpoint));
        let streams = established(&*socket).await?;
        let local = socket.local();
        Ok(Association::new(
            Accepted { socket, peer: remote, local, streams },
            options.clone(),
            None,
        ))
    }
}
