//! The UPF datapath `kernel`: GTP-U over UDP sockets, N6 over a TUN device, and threads between
//! them.
//!
//! | module | content |
//! | --- | --- |
//! | `forwarder`, `entry` | sessions by TEID and address |
//! | `n3`, `packets` | processing of datagrams and packets |
//! | [`perimeter`] | what UEs may not reach, with the addresses of the machine |
//! | `bucket`, `correlation`, `packet_rate` | bit rates, those that sessions share, packet rates |
//! | `limiter`, `shape` | rate limit of error messages, thermal shaping |
//! | `fragments`, `redirect`, `redirected_flows` | ports of fragments; redirection |
//! | `detected_flows` | connections of applications that PFDs describe by URLs |
//! | [`gtpu`], `sockets`, [`batch`], [`threads`] | sockets, TUN device and their threads |
//! | `outgoing`, `offload` | batches and superframes of what is sent |
//! | `ethernet`, `lan`, `unstructured` | Ethernet sessions with TAP devices; unstructured sessions |
//! | [`non_ip`], [`handed_over`] | sessions that another datapath does not carry, or no longer |
//! | [`netns`], `tun`, [`netlink`], [`n6`], [`nat`], [`network_instances`] | setup of N6 |
pub mod batch;
#[cfg(any(test, feature = "testing"))]
pub mod bench;
mod bucket;
mod correlation;
mod detected_flows;
mod egress;
mod entry;
mod ethernet;
mod forwarder;
mod fragments;
pub mod frame;
pub mod gtpu;
pub mod handed_over;
mod lan;
pub mod limiter;
mod lock;
mod n3;
pub mod n6;
pub mod nat;
pub mod netlink;
pub mod netns;
pub mod network_instances;
pub mod non_ip;
mod offload;
mod outgoing;
mod packet_rate;
mod packets;
pub mod perimeter;
mod redirect;
mod redirected_flows;
pub mod router;
mod shape;
pub mod sockets;
pub mod threads;
mod tun;
mod unstructured;

#[cfg(test)]
mod tests;

use egress::Egress;
use forwarder::Forwarder;
use martlet_board::governor::CLASSES;
use martlet_pfcp::ie::UpFunctionFeatures;
use martlet_upf_config::UpfConfig;
use martlet_upf_datapath::OpenError;
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::perimeter::Perimeter;
use martlet_upf_datapath::telemetry::{PdrTraffic, TableUsage, Traffic};
use martlet_upf_datapath::{
    Buffered, Change, Datapath, DatapathError, EventSender, Shaping, Signals, Usage,
};
use nat::Nat;
use network_instances::NetworkInstances;
use perimeter::Watcher;
use sockets::Sockets;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threads::Threads;
use tokio::sync::mpsc;

/// Its name in configuration, status and metrics.
const NAME: &str = "kernel";

/// The datapath of sockets and a TUN device.
pub struct KernelDatapath {
    carrier: Carrier<Sockets>,
    // The fields are dropped in this order: no packet is read any more when the NAT is removed.
    _threads: Threads,
    _nat: Option<Nat>,
    _network_instances: NetworkInstances,
    _addresses: Watcher,
}

impl KernelDatapath {
    /// Opens the sockets and devices and starts forwarding. Blocks until done.
    pub fn open(config: &UpfConfig) -> Result<(KernelDatapath, Signals), OpenError> {
        let (events, receive_events): (EventSender, _) = mpsc::channel(config.kernel.events);
        let (failure, failures) = mpsc::channel(4);
        let device = n6::open(config)?;
        let nat = nat::open(config)?;
        let instance_devices = n6::open_instance_devices(config)?;
        let network_instances = NetworkInstances::open(config)?;
        let lans = lan::open(config)?;
        let sockets = Sockets::open(config, device, instance_devices)?;
        let (perimeter, addresses) = perimeter::follow(config)?;
        let restored_by = Instant::now() + Duration::from_secs(config.n3.restoration_s);
        let forwarder = Forwarder::new(sockets, config.kernel.clone(), events)
            .suppress_errors_until(restored_by)
            .with(lans);
        let forwarder = forwarder
            .lowest(config.governor.lowest.clone())
            .network_instances(config.n6.network_instance_names())
            .ending_at(&config.n3)
            .between_ues(config.ue_to_ue())
            .within(perimeter);
        let forwarder = Arc::new(forwarder);
        martlet_upf_datapath::metrics::show(&forwarder.counters);
        let threads = Threads::start(&forwarder, failure)?;
        let datapath = KernelDatapath {
            carrier: Carrier(forwarder),
            _threads: threads,
            _nat: nat,
            _network_instances: network_instances,
            _addresses: addresses,
        };
        Ok((datapath, Signals { events: receive_events, failures }))
    }
}

/// A forwarder as a datapath.
#[derive(Clone)]
pub(crate) struct Carrier<O>(pub Arc<Forwarder<O>>);

impl<O: Egress> Datapath for Carrier<O> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn features(&self) -> UpFunctionFeatures {
        UpFunctionFeatures::EMPU | UpFunctionFeatures::TREU
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        self.0.apply(change)
    }

    fn remove(&mut self, seid: u64) -> Vec<Usage> {
        self.0.remove(seid)
    }

    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        self.0.take_usage(seid, urrs)
    }

    fn forwarded(&self, seid: u64) -> [u64; 2] {
        self.0.forwarded(seid)
    }

    fn last_activity(&self, seid: u64) -> Option<Instant> {
        self.0.last_activity(seid)
    }

    fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant> {
        self.0.last_packet(seid, urr)
    }

    fn buffered(&self, seid: u64) -> Buffered {
        self.0.buffered_of(seid)
    }

    fn advertise(&mut self, seid: u64) {
        self.0.advertise_unsolicited(seid);
    }

    fn events(&self) -> EventSender {
        self.0.events.clone()
    }

    fn set_peers(&mut self, changes: &[(IpAddr, bool)]) {
        self.0.perimeter.set_peers(changes);
    }

    fn perimeter(&self) -> Option<Arc<Perimeter>> {
        Some(self.0.perimeter.clone())
    }

    fn counters(&self) -> Arc<Counters> {
        self.0.expire_early(Instant::now());
        self.0.counters.clone()
    }

    fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        self.0.traffic(seids)
    }

    fn pdr_traffic(&self, seid: u64) -> Vec<PdrTraffic> {
        self.0.pdr_traffic(seid)
    }

    fn shape(&mut self, shaping: &Shaping) {
        self.0.shape(shaping);
    }

    fn class_bytes(&self) -> [u64; CLASSES] {
        self.0.shaper.bytes.each_ref().map(|bytes| bytes.get())
    }

    fn tables(&self) -> Vec<TableUsage> {
        self.0.tables()
    }
}

impl Datapath for KernelDatapath {
    fn name(&self) -> &'static str {
        self.carrier.name()
    }

    fn features(&self) -> UpFunctionFeatures {
        self.carrier.features()
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        Datapath::apply(&mut self.carrier, change)
    }

    fn remove(&mut self, seid: u64) -> Vec<Usage> {
        Datapath::remove(&mut self.carrier, seid)
    }

    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        Datapath::take_usage(&mut self.carrier, seid, urrs)
    }

    fn forwarded(&self, seid: u64) -> [u64; 2] {
        Datapath::forwarded(&self.carrier, seid)
    }

    fn last_activity(&self, seid: u64) -> Option<Instant> {
        Datapath::last_activity(&self.carrier, seid)
    }

    fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant> {
        self.carrier.last_packet(seid, urr)
    }

    fn buffered(&self, seid: u64) -> Buffered {
        self.carrier.buffered(seid)
    }

    fn advertise(&mut self, seid: u64) {
        Datapath::advertise(&mut self.carrier, seid);
    }

    fn events(&self) -> EventSender {
        Datapath::events(&self.carrier)
    }

    fn set_peers(&mut self, changes: &[(IpAddr, bool)]) {
        Datapath::set_peers(&mut self.carrier, changes);
    }

    fn perimeter(&self) -> Option<Arc<Perimeter>> {
        Datapath::perimeter(&self.carrier)
    }

    fn counters(&self) -> Arc<Counters> {
        Datapath::counters(&self.carrier)
    }

    fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        Datapath::traffic(&self.carrier, seids)
    }

    fn pdr_traffic(&self, seid: u64) -> Vec<PdrTraffic> {
        Datapath::pdr_traffic(&self.carrier, seid)
    }

    fn shape(&mut self, shaping: &Shaping) {
        Datapath::shape(&mut self.carrier, shaping);
    }

    fn class_bytes(&self) -> [u64; CLASSES] {
        self.carrier.class_bytes()
    }

    fn tables(&self) -> Vec<TableUsage> {
        Datapath::tables(&self.carrier)
    }
}
