//! Opening endpoints: listen and connect.
use super::socket::{ListeningSocket, Socket, known};
use crate::association::{Association, established};
use crate::ffi::kernel;
use crate::listener::Listener;
use crate::socket::Accepted;
use crate::{Options, SctpError};
use socket2::SockAddr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The kernel's stack. All state is in the kernel.
pub(crate) struct Stack(());

impl Stack {
    /// Checks whether the kernel has SCTP.
    pub(crate) fn open() -> io::Result<Stack> {
        kernel::probe().map(Stack)
    }

    pub(crate) async fn listen(
        &self,
        local: &[IpAddr],
        port: u16,
        options: &Options,
    ) -> Result<Listener<ListeningSocket>, SctpError> {
        let first = local.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let socket = ready(options, first.is_ipv4())?;
        bind(&socket, SocketAddr::new(first, port))?;
        if let Some(more @ [_, ..]) = local.get(1..) {
            let port = known(socket.local_addr()?)?.port();
            kernel::bind_more(&socket, more, port).map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("cannot listen on all of {local:?}, port {port}: {error}"),
                )
            })?;
        }
        socket.listen(options.backlog.into())?;
        Ok(Listener::new(ListeningSocket::new(socket)?, options.clone()))
    }

    pub(crate) async fn connect(
        &self,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        options: &Options,
    ) -> Result<Association<Socket>, SctpError> {
        let socket = ready(options, remote.is_ipv4())?;
        if let Some(local) = local {
            bind(&socket, local)?;
        }
        match socket.connect(&SockAddr::from(remote)) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                return Err(io::Error::new(
                    error.kind(),
                    format!("cannot reach {remote}: {error}"),
                )
                .into());
            }
            _ => {}
        }
        let socket = Arc::new(Socket::new(socket)?);
        let streams = established(&*socket).await?;
        let local = known(socket.inner().local_addr()?)?;
        Ok(Association::new(
            Accepted { socket, peer: remote, local, streams },
            options.clone(),
            None,
        ))
    }
}

/// A socket with the options set.
fn ready(options: &Options, ipv4: bool) -> io::Result<socket2::Socket> {
    let socket = kernel::open(ipv4)?;
    kernel::set_buffers(&socket, options);
    kernel::configure(&socket, options)?;
    Ok(socket)
}

fn bind(socket: &socket2::Socket, local: SocketAddr) -> io::Result<()> {
    socket.bind(&SockAddr::from(local)).map_err(|error| match error.raw_os_error() {
        Some(libc::EADDRINUSE) => {
            let what = format!(
                "SCTP port {} of {} is in use by another program or endpoint",
                local.port(),
                local.ip()
            );
            io::Error::new(error.kind(), what)
        }
        Some(libc::EADDRNOTAVAIL) => {
            io::Error::new(error.kind(), format!("{} is not a local address", local.ip()))
        }
        _ => io::Error::new(error.kind(), format!("cannot use {local}: {error}")),
    })
}
