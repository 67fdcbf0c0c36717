//! Sessions that a datapath does not carry itself: Ethernet and unstructured ones, and IP sessions
//! with rare rules ([`Session::is_rare`](martlet_upf_rules::Session::is_rare)). The other datapath
//! passes their tunnels to the shared GTP-U sockets, and their downlink packets to this module.
use super::egress::Egress;
use super::forwarder::Forwarder;
pub use super::forwarder::UeElsewhere;
use super::frame::{Frame, HEADROOM};
use super::handed_over::HandedOver;
use super::lan;
use super::threads::Threads;
use crate::gtpu::Gtpu;
use martlet_board::governor::CLASSES;
use martlet_upf_config::UpfConfig;
use martlet_upf_datapath::OpenError;
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::perimeter::Perimeter;
use martlet_upf_datapath::signalling::Reply;
use martlet_upf_datapath::telemetry::{PdrTraffic, Traffic};
use martlet_upf_datapath::{Buffered, Change, DatapathError, EventSender, Shaping, Usage};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;

/// Sends a packet of IP to the data network by a network instance; 0 is the default.
pub type ToNetwork = Box<dyn Fn(&[u8], usize) -> io::Result<()> + Send + Sync>;

/// Packets are sent into tunnels, as frames of a network, or to the data network, if there is one.
struct Tunnels(Arc<Gtpu>, Option<ToNetwork>);

impl Egress for Tunnels {
    fn to_peer(&self, datagram: &[u8], peer: IpAddr) -> io::Result<()> {
        self.0.send(datagram, peer)
    }

    fn to_peer_marked(&self, datagram: &[u8], peer: IpAddr, marking: u8) -> io::Result<()> {
        self.0.send_marked(datagram, peer, marking)
    }

    fn to_network(&self, packet: &[u8], instance: usize) -> io::Result<()> {
        let send = self.1.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        send(packet, instance)
    }
}

/// What these sessions share with the other datapath.
pub struct Shared<'a> {
    /// The GTP-U sockets.
    pub gtpu: &'a Arc<Gtpu>,
    /// Traffic is added to these.
    pub counters: &'a Arc<Counters>,
    /// Events for N4.
    pub events: EventSender,
    /// Which peers and destinations are allowed.
    pub perimeter: &'a Arc<Perimeter>,
}

/// The non-IP sessions. Dropping this ends them.
pub struct NonIpSessions {
    forwarder: Arc<Forwarder<Tunnels>>,
    _threads: Threads,
}

impl NonIpSessions {
    /// Creates the networks of `upf.n6.ethernet`.
    pub fn open(
        config: &UpfConfig,
        shared: Shared<'_>,
        to_network: Option<ToNetwork>,
        elsewhere: UeElsewhere,
        failure: mpsc::Sender<String>,
    ) -> Result<Self, OpenError> {
        let lans = lan::open(config)?;
        let tunnels = Tunnels(shared.gtpu.clone(), to_network);
        let forwarder = Forwarder::new(tunnels, config.kernel.clone(), shared.events).with(lans);
        let forwarder = forwarder
            .lowest(config.governor.lowest.clone())
            .counting(shared.counters.clone())
            .network_instances(config.n6.network_instance_names())
            .ending_at(&config.n3)
            .between_ues(config.ue_to_ue())
            .beside(elsewhere)
            .within(shared.perimeter.clone());
        let forwarder = Arc::new(forwarder);
        let threads = Threads::of_lans(&forwarder, failure)?;
        Ok(NonIpSessions { forwarder, _threads: threads })
    }

    /// Whether a tunnel is one of its sessions'.
    pub fn has_tunnel(&self, teid: u32) -> bool {
        self.forwarder.by_teid(teid).is_some()
    }

    /// Processes a message of one of its tunnels, received on `local`, that starts at `start` of
    /// the buffer and fills it.
    pub fn take(
        &self,
        buffer: &mut [u8],
        start: usize,
        from: SocketAddr,
        local: IpAddr,
        now: Instant,
    ) -> Reply {
        self.forwarder.take_datagram(buffer, start, from, local, now)
    }

    /// A packet of the data network for one of its sessions.
    pub fn take_packet(&self, packet: &[u8]) {
        let mut buffer = [&[0; HEADROOM][..], packet].concat();
        self.forwarder.take_from_network(Frame::new(&mut buffer, HEADROOM), Instant::now());
    }

    /// See [`Datapath::apply`](martlet_upf_datapath::Datapath::apply).
    pub fn apply(&self, change: &Change<'_>) -> Result<(), DatapathError> {
        self.forwarder.apply(change)
    }

    /// See [`Datapath::remove`](martlet_upf_datapath::Datapath::remove).
    pub fn remove(&self, seid: u64) -> Vec<Usage> {
        self.forwarder.remove(seid)
    }

    /// See [`Datapath::take_usage`](martlet_upf_datapath::Datapath::take_usage).
    pub fn take_usage(&self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        self.forwarder.take_usage(seid, urrs)
    }

    /// See [`Datapath::forwarded`](martlet_upf_datapath::Datapath::forwarded).
    pub fn forwarded(&self, seid: u64) -> [u64; 2] {
        self.forwarder.forwarded(seid)
    }

    /// Continues a session that the other datapath carried until now. Its buffered packets are
    /// processed by the rules of now, unless they are to be dropped.
    pub fn take_over(&self, seid: u64, handed: HandedOver, drop_buffered: bool) {
        self.forwarder.take_over(seid, handed, drop_buffered);
    }

    /// See [`Datapath::last_packet`](martlet_upf_datapath::Datapath::last_packet).
    pub fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant> {
        self.forwarder.last_packet(seid, urr)
    }

    /// See [`Datapath::last_activity`](martlet_upf_datapath::Datapath::last_activity).
    pub fn last_activity(&self, seid: u64) -> Option<Instant> {
        self.forwarder.last_activity(seid)
    }

    /// See [`Datapath::buffered`](martlet_upf_datapath::Datapath::buffered).
    pub fn buffered(&self, seid: u64) -> Buffered {
        self.forwarder.buffered_of(seid)
    }

    /// See [`Datapath::advertise`](martlet_upf_datapath::Datapath::advertise).
    pub fn advertise(&self, seid: u64) {
        self.forwarder.advertise_unsolicited(seid);
    }

    /// See [`Datapath::traffic`](martlet_upf_datapath::Datapath::traffic).
    pub fn traffic(&self, seid: u64) -> Traffic {
        self.forwarder.traffic(&[seid]).pop().unwrap_or_default()
    }

    /// See [`Datapath::pdr_traffic`](martlet_upf_datapath::Datapath::pdr_traffic).
    pub fn pdr_traffic(&self, seid: u64) -> Vec<PdrTraffic> {
        self.forwarder.pdr_traffic(seid)
    }

    /// See [`Datapath::shape`](martlet_upf_datapath::Datapath::shape).
    pub fn shape(&self, shaping: &Shaping) {
        self.forwarder.shape(shaping);
    }

    /// See [`Datapath::class_bytes`](martlet_upf_datapath::Datapath::class_bytes).
    pub fn class_bytes(&self) -> [u64; CLASSES] {
        self.forwarder.shaper.bytes.each_ref().map(|bytes| bytes.get())
    }
}
