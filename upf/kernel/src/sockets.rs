//! The GTP-U sockets and the optional TUN device.
use super::egress::Egress;
use super::netlink::Netlink;
use super::netns;
use crate::gtpu::Gtpu;
use crate::lock::lock;
use crate::outgoing::{Lost, Outgoing, write_one};
use crate::tun::Device;
use martlet_upf_config::{Offload, UpfConfig};
use martlet_upf_datapath::{InterfaceError, OpenError};
use martlet_upf_rules::Prefix;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

thread_local! {
    /// The queue of this thread, which forwards packets of one datapath.
    static QUEUE: RefCell<Option<Arc<Mutex<Outgoing>>>> = const { RefCell::new(None) };
}

pub(super) struct Sockets {
    pub gtpu: Gtpu,
    pub device: Option<Device>,
    /// Queues of the threads that forward packets.
    queues: Mutex<Vec<Arc<Mutex<Outgoing>>>>,
    /// Whether datagrams to a peer may leave as segments of one.
    segments: bool,
    /// The devices of network instances.
    network_instances: Vec<File>,
    /// Network namespace and name of the device.
    n6: (Option<String>, String),
}

impl Sockets {
    pub fn open(
        config: &UpfConfig,
        device: Option<Device>,
        network_instances: Vec<File>,
    ) -> Result<Self, OpenError> {
        let buffer = config.kernel.socket_buffer;
        let gtpu = netns::within(config.n3.netns.as_deref(), || Gtpu::open(&config.n3, buffer))?;
        Ok(Sockets {
            gtpu,
            device,
            queues: Mutex::default(),
            segments: config.kernel.offload == Offload::Auto,
            network_instances,
            n6: (config.n6.netns.clone(), config.n6.interface.clone()),
        })
    }
}

impl Sockets {
    /// Queues a packet of a thread that forwards packets. Another thread sends its packet itself,
    /// after the queued ones: an end marker is the last packet of its tunnel.
    fn queued(&self, push: impl FnOnce(&mut Outgoing)) -> bool {
        QUEUE.with_borrow(|own| {
            let Some(own) = own else {
                let queues = lock(&self.queues).clone();
                queues.iter().for_each(|queue| self.send(&mut lock(queue)));
                return false;
            };
            let mut queue = lock(own);
            push(&mut queue);
            if queue.is_full() {
                self.send(&mut queue);
            }
            true
        })
    }

    fn send(&self, queue: &mut Outgoing) {
        let device = self.device.as_ref();
        let has_header = device.is_some_and(|device| device.has_header);
        queue.send(&self.gtpu, device.map(|device| &device.file), has_header);
    }
}

impl Egress for Sockets {
    fn to_peer(&self, datagram: &[u8], peer: IpAddr) -> io::Result<()> {
        if self.gtpu.socket_for(peer).is_none() {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let queued = self.queued(|queue| queue.push(datagram, peer, None, self.segments));
        if queued { Ok(()) } else { self.gtpu.send(datagram, peer) }
    }

    fn to_peer_marked(&self, datagram: &[u8], peer: IpAddr, marking: u8) -> io::Result<()> {
        if self.gtpu.socket_for(peer).is_none() {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let queued = self.queued(|queue| queue.push(datagram, peer, Some(marking), self.segments));
        if queued { Ok(()) } else { self.gtpu.send_marked(datagram, peer, marking) }
    }

    fn to_network(&self, packet: &[u8], instance: usize) -> io::Result<()> {
        if let Some(n) = instance.checked_sub(1) {
            let mut device = self.network_instances.get(n).ok_or(io::ErrorKind::NotConnected)?;
            return device.write(packet).map(drop);
        }
        let device = self.device.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        if self.queued(|queue| queue.packets.push(packet, device.merges)) {
            return Ok(());
        }
        write_one(&device.file, packet, device.has_header)
    }

    fn queue(&self) {
        let queue = Arc::<Mutex<Outgoing>>::default();
        lock(&self.queues).push(queue.clone());
        QUEUE.with_borrow_mut(|own| *own = Some(queue));
    }

    fn flush(&self) -> Lost {
        QUEUE.with_borrow(|own| {
            let Some(own) = own else { return Lost::default() };
            let mut queue = lock(own);
            self.send(&mut queue);
            queue.take_lost()
        })
    }

    fn route(&self, route: Prefix, here: bool) {
        if self.device.is_none() {
            return;
        }
        let (netns, name) = &self.n6;
        let done = netns::within(netns.as_deref(), || {
            let index = nix::net::if_::if_nametoindex(name.as_str())
                .map_err(|error| InterfaceError::Route(error.into()))?;
            let netlink = Netlink::open().map_err(InterfaceError::Route)?;
            let set = netlink.route(index, route.network, route.length, None, here);
            Ok(set.map_err(InterfaceError::Route)?)
        });
        if let Err(error) = done {
            tracing::warn!(
                network = %route.network, length = route.length, here, %error,
                "framed route not set"
            );
        }
    }
}
