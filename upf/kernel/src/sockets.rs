//! The GTP-U sockets and the optional TUN device.
use super::egress::Egress;
use super::netlink::Netlink;
use super::netns;
use crate::gtpu::Gtpu;
use martlet_upf_config::UpfConfig;
use martlet_upf_datapath::OpenError;
use martlet_upf_rules::Prefix;
use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;

pub(super) struct Sockets {
    pub gtpu: Gtpu,
    pub device: Option<File>,
    /// Devices of exits.
    network_instances: Vec<File>,
    /// Network namespace and name of the device.
    n6: (Option<String>, String),
}

impl Sockets {
    pub fn open(
        config: &UpfConfig,
        device: Option<File>,
        network_instances: Vec<File>,
    ) -> Result<Self, OpenError> {
        let buffer = config.kernel.socket_buffer;
        let gtpu = netns::within(config.n3.netns.as_deref(), || Gtpu::open(&config.n3, buffer))?;
        Ok(Sockets {
            gtpu,
            device,
            network_instances,
            n6: (config.n6.netns.clone(), config.n6.interface.clone()),
        })
    }
}

impl Egress for Sockets {
    fn to_peer(&self, datagram: &[u8], peer: IpAddr) -> io::Result<()> {
        self.gtpu.send(datagram, peer)
    }

    fn to_peer_marked(&self, datagram: &[u8], peer: IpAddr, marking: u8) -> io::Result<()> {
        self.gtpu.send_marked(datagram, peer, marking)
    }

    fn to_network(&self, packet: &[u8], exit: usize) -> io::Result<()> {
        let device = match exit.checked_sub(1) {
            Some(n) => self.network_instances.get(n),
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
            let index = nix::net::if_::if_nametoindex(name.as_str())
                .map_err(|error| OpenError::Interface(error.to_string()))?;
            let netlink =
                Netlink::open().map_err(|error| OpenError::Interface(error.to_string()))?;
            netlink
                .route(index, route.network, route.length, here)
                .map_err(|error| OpenError::Interface(error.to_string()))
        });
        if let Err(error) = done {
            tracing::warn!(
                network = %route.network, length = route.length, here, %error,
                "framed route not set"
            );
        }
    }
}
