//! The GTP-U socket and the TUN device, if there is one.
use super::netlink::Netlink;
use super::netns;
use super::outlet::Outlet;
use crate::config::UpfConfig;
use crate::rules::Prefix;
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};

pub(super) struct Sockets {
    pub gtpu: UdpSocket,
    pub device: Option<File>,
    /// Devices of exits.
    exits: Vec<File>,
    /// Network namespace and name of the device.
    n6: (Option<String>, String),
    /// Port to which G-PDUs go, whatever port they came from (TS 29.281, 4.4.2.3).
    peer_port: u16,
}

impl Sockets {
    pub fn open(config: &UpfConfig, device: Option<File>, exits: Vec<File>) -> Result<Self, String> {
        let address = config.n3.address;
        let buffer = config.kernel.socket_buffer;
        let gtpu = netns::within(config.n3.netns.as_deref(), || {
            bind(address, buffer).map_err(|error| {
                format!("GTP-U cannot be served at {address} ({error}): change upf.n3.address to one of this machine")
            })
        })?;
        Ok(Sockets {
            gtpu,
            device,
            exits,
            peer_port: martlet_gtpu::PORT,
            n6: (config.n6.netns.clone(), config.n6.interface.clone()),
        })
    }
}

pub(crate) fn bind(address: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // The system may grant less; what it grants has to do.
    let _ = socket.set_recv_buffer_size(buffer);
    let _ = socket.set_send_buffer_size(buffer);
    socket.bind(&address.into())?;
    Ok(socket.into())
}

impl Outlet for Sockets {
    fn to_peer(&self, datagram: &[u8], peer: IpAddr) -> io::Result<()> {
        self.gtpu.send_to(datagram, (peer, self.peer_port)).map(drop)
    }

    fn to_network(&self, packet: &[u8], exit: usize) -> io::Result<()> {
        let device = match exit.checked_sub(1) {
            Some(n) => self.exits.get(n),
            None => self.device.as_ref(),
        };
        let mut device = device.ok_or(io::ErrorKind::NotConnected)?;
        device.write(packet).map(drop)
    }

    fn route(&self, route: Prefix, here: bool) {
        if self.device.is_none() {
            return;
        }
        let (netns, name) = &self.n6;
        let done = netns::within(netns.as_deref(), || {
            let index = nix::net::if_::if_nametoindex(name.as_str()).map_err(|error| error.to_string())?;
            let netlink = Netlink::open().map_err(|error| error.to_string())?;
            netlink.route(index, route.network, route.length, here).map_err(|error| error.to_string())
        });
        if let Err(error) = done {
            tracing::warn!(network = %route.network, length = route.length, here, error, "a network behind a UE is not routed");
        }
    }
}
