//! A forwarder without sockets, which stores the packets that it sends.
use super::Carrier;
use super::egress::Egress;
use super::forwarder::Forwarder;
use super::frame::{Frame, HEADROOM};
use super::lan;
use martlet_upf_config::{KernelLimits, N3Config, UpfConfig};
use martlet_upf_datapath::conformance::{Rig, payload_of, udp_packet};
use martlet_upf_datapath::perimeter::{Perimeter, Policy};
use martlet_upf_datapath::{Datapath, Event};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::mpsc;

/// A datagram that was sent to a GTP-U peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentDatagram {
    /// The peer.
    pub peer: IpAddr,
    /// Type of service, or traffic class, of the outer header.
    pub marking: u8,
    /// The message.
    pub bytes: Vec<u8>,
}

/// The sent packets.
#[derive(Default)]
pub struct SentPackets {
    /// Datagrams to GTP-U peers.
    pub to_peers: Mutex<VecDeque<SentDatagram>>,
    /// Packets to the data network, each with its network instance; 0 is the default.
    pub to_network: Mutex<VecDeque<(usize, Vec<u8>)>>,
}

impl Egress for Arc<SentPackets> {
    fn to_peer(&self, datagram: &[u8], peer: IpAddr) -> io::Result<()> {
        self.to_peer_marked(datagram, peer, 0)
    }

    fn to_peer_marked(&self, datagram: &[u8], peer: IpAddr, marking: u8) -> io::Result<()> {
        let sent = SentDatagram { peer, marking, bytes: datagram.to_vec() };
        self.to_peers.lock().unwrap().push_back(sent);
        Ok(())
    }

    fn to_network(&self, packet: &[u8], instance: usize) -> io::Result<()> {
        self.to_network.lock().unwrap().push_back((instance, packet.to_vec()));
        Ok(())
    }
}

/// A forwarder between queues that stand for a gNB and a data network.
pub struct Bench {
    pub(crate) forwarder: Arc<Forwarder<Arc<SentPackets>>>,
    carrier: Carrier<Arc<SentPackets>>,
    /// Sent packets.
    pub left: Arc<SentPackets>,
    /// Events of the forwarder.
    pub events: mpsc::Receiver<Event>,
}

/// Address of the gNB.
pub const GNB: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// N3 address of the UPF.
pub const N3: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 8));

impl Bench {
    /// A bench with the default N3 address.
    pub fn new(limits: KernelLimits) -> Self {
        Bench::ending_at(limits, &N3Config::default())
    }

    /// With these as our own ends of tunnels.
    pub fn ending_at(limits: KernelLimits, n3: &N3Config) -> Self {
        Self::within(limits, n3, Arc::new(Perimeter::new(Policy::default())))
    }

    /// The same with a perimeter.
    pub fn within(limits: KernelLimits, n3: &N3Config, perimeter: Arc<Perimeter>) -> Self {
        Self::of(limits, |forwarder| forwarder.ending_at(n3).within(perimeter))
    }

    /// With N3, the network instances and the networks of Ethernet sessions of a configuration;
    /// these have no devices.
    pub fn configured(config: &UpfConfig, perimeter: Arc<Perimeter>) -> Self {
        Self::of(config.kernel.clone(), |forwarder| {
            let forwarder = forwarder.ending_at(&config.n3).within(perimeter);
            let forwarder = forwarder.network_instances(config.n6.network_instance_names());
            forwarder.with(lan::without_devices(config))
        })
    }

    fn of(
        limits: KernelLimits,
        configure: impl FnOnce(Forwarder<Arc<SentPackets>>) -> Forwarder<Arc<SentPackets>>,
    ) -> Self {
        let left = Arc::new(SentPackets::default());
        let (sender, events) = mpsc::channel(limits.events);
        let forwarder = Arc::new(configure(Forwarder::new(left.clone(), limits, sender)));
        Bench { carrier: Carrier(forwarder.clone()), forwarder, left, events }
    }
}

impl Bench {
    /// The same datapath once more.
    pub fn boxed(&self) -> Box<dyn Datapath> {
        Box::new(Carrier(self.forwarder.clone()))
    }

    /// The same datapath, to share it.
    pub fn shared(&self) -> Arc<Mutex<dyn Datapath>> {
        Arc::new(Mutex::new(Carrier(self.forwarder.clone())))
    }

    /// Receives a packet from the data network.
    pub fn packet_from_network(&self, packet: &[u8]) {
        let mut buffer = [&[0; HEADROOM], packet].concat();
        self.forwarder.take_from_network(Frame::new(&mut buffer, HEADROOM), Instant::now());
    }

    /// Whether a session has this tunnel.
    pub fn has_tunnel(&self, teid: u32) -> bool {
        self.forwarder.by_teid(teid).is_some()
    }
}

impl Rig for Bench {
    fn datapath(&mut self) -> &mut dyn Datapath {
        &mut self.carrier
    }
    fn n3(&self) -> IpAddr {
        N3
    }
    fn gnb(&self) -> IpAddr {
        GNB
    }
    fn ue(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 45, 0, 2)
    }
    fn remote(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 99, 0, 1)
    }
    fn send_n3(&mut self, datagram: &[u8]) {
        let mut buffer = [&[0; HEADROOM], datagram].concat();
        let from = SocketAddr::new(GNB, 2152);
        if let Some(reply) =
            self.forwarder.take_datagram(&mut buffer, HEADROOM, from, N3, Instant::now())
        {
            let sent = SentDatagram { peer: GNB, marking: 0, bytes: reply };
            self.left.to_peers.lock().unwrap().push_back(sent);
        }
    }
    fn receive_n3(&mut self) -> Option<Vec<u8>> {
        let sent = self.left.to_peers.lock().unwrap().pop_front()?;
        assert_eq!(sent.peer, GNB);
        Some(sent.bytes)
    }
    fn send_n6(&mut self, port: u16, payload: &[u8]) {
        let packet = udp_packet((self.remote(), port), (self.ue(), 9000), payload);
        let mut buffer = [&[0; HEADROOM], &packet[..]].concat();
        self.forwarder.take_from_network(Frame::new(&mut buffer, HEADROOM), Instant::now());
    }
    fn receive_n6(&mut self) -> Option<Vec<u8>> {
        let (_, packet) = self.left.to_network.lock().unwrap().pop_front()?;
        Some(payload_of(&packet).expect("a UDP packet").to_vec())
    }
    fn event(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }
}
