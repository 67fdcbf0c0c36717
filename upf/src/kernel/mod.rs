//! The `kernel` datapath: GTP-U over a UDP socket, N6 over a TUN device, threads of its own between
//! them.
//!
//! | file | what it is |
//! | --- | --- |
//! | `forwarder`, `entry` | sessions by tunnel and address |
//! | `n3`, `packets` | what becomes of a datagram, and of a packet |
//! | `bucket`, `limiter`, `shape` | bit rates, how often complaints are sent, and what the thermal governor asks for |
//! | `sockets`, `batch`, `threads` | the socket and the device, and who reads from them |
//! | `lan`, `unstructured` | frames between sessions and TAP devices; octets in datagrams |
//! | `beside` | the sessions of frames, for a datapath that carries packets of IP alone |
//! | `netns`, `tun`, `netlink`, `n6`, `nat` | how they are made |
pub(crate) mod batch;
#[cfg(test)]
pub(crate) mod bench;
pub(crate) mod beside;
mod bucket;
mod entry;
pub(crate) mod exits;
mod forwarder;
pub(crate) mod frame;
mod lan;
pub(crate) mod limiter;
mod n3;
pub(crate) mod n6;
pub(crate) mod nat;
pub(crate) mod netlink;
pub(crate) mod netns;
mod outlet;
mod packets;
pub(crate) mod router;
mod shape;
pub(crate) mod sockets;
pub(crate) mod threads;
mod tun;
mod unstructured;

#[cfg(test)]
mod tests;

use crate::config::UpfConfig;
use crate::counters::Counters;
use crate::datapath::{
    Buffered, Change, Datapath, DatapathError, Event, EventSender, Shaping, Usage,
};
use crate::telemetry::{Fill, Traffic};
use exits::Exits;
use forwarder::Forwarder;
use martlet_board::governor::CLASSES;
use martlet_pfcp::ie::UpFunctionFeatures;
use nat::Nat;
use outlet::Outlet;
use sockets::Sockets;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threads::Threads;
use tokio::sync::mpsc;

/// The datapath of sockets and a TUN device.
pub struct KernelDatapath {
    forwarder: Arc<Forwarder<Sockets>>,
    // In the order in which they end: no packet is read any more when the translation goes.
    _threads: Threads,
    _nat: Option<Nat>,
    _exits: Exits,
}

/// What comes from a datapath by itself.
pub struct Signals {
    /// Events for N4.
    pub events: mpsc::Receiver<Event>,
    /// Why the datapath can go on no longer.
    pub failures: mpsc::Receiver<String>,
}

impl KernelDatapath {
    /// Makes the socket and the device, if there is to be one, and starts to carry packets. Blocks
    /// for as long as that takes. The error says what a person can do.
    pub fn open(config: &UpfConfig) -> Result<(KernelDatapath, Signals), String> {
        let (events, receive_events): (EventSender, _) = mpsc::channel(config.kernel.events);
        let (failure, failures) = mpsc::channel(4);
        let device = n6::open(config)?;
        let nat = nat::open(config)?;
        let ways = n6::open_exits(config)?;
        let exits = Exits::open(config)?;
        let lans = lan::open(config)?;
        let sockets = Sockets::open(config, device, ways)?;
        let restored_by = Instant::now() + Duration::from_secs(config.n3.restoration_s);
        let forwarder = Forwarder::new(sockets, config.kernel.clone(), events)
            .quiet_until(restored_by)
            .with(lans);
        let forwarder = forwarder
            .lowest(config.governor.lowest.clone())
            .exits(config.n6.exit_names())
            .ending_at(&config.n3);
        let forwarder = Arc::new(forwarder);
        crate::metrics::show(&forwarder.counters);
        let threads = Threads::start(&forwarder, failure)?;
        let datapath = KernelDatapath { forwarder, _threads: threads, _nat: nat, _exits: exits };
        Ok((datapath, Signals { events: receive_events, failures }))
    }
}

impl<O: Outlet> Datapath for Arc<Forwarder<O>> {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn features(&self) -> UpFunctionFeatures {
        UpFunctionFeatures::EMPU
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        Forwarder::apply(self, change)
    }

    fn remove(&mut self, seid: u64) -> Vec<Usage> {
        Forwarder::remove(self, seid)
    }

    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        Forwarder::take_usage(self, seid, urrs)
    }

    fn forwarded(&self, seid: u64) -> [u64; 2] {
        Forwarder::forwarded(self, seid)
    }

    fn last_activity(&self, seid: u64) -> Option<Instant> {
        Forwarder::last_activity(self, seid)
    }

    fn buffered(&self, seid: u64) -> Buffered {
        self.buffered_of(seid)
    }

    fn events(&self) -> EventSender {
        self.events.clone()
    }

    fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        Forwarder::traffic(self, seids)
    }

    fn shape(&mut self, shaping: &Shaping) {
        Forwarder::shape(self, shaping);
    }

    fn class_octets(&self) -> [u64; CLASSES] {
        self.shaper.octets.each_ref().map(|octets| octets.get())
    }

    fn tables(&self) -> Vec<Fill> {
        Forwarder::tables(self)
    }
}

impl Datapath for KernelDatapath {
    fn name(&self) -> &'static str {
        self.forwarder.name()
    }

    fn features(&self) -> UpFunctionFeatures {
        self.forwarder.features()
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        Datapath::apply(&mut self.forwarder, change)
    }

    fn remove(&mut self, seid: u64) -> Vec<Usage> {
        Datapath::remove(&mut self.forwarder, seid)
    }

    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        Datapath::take_usage(&mut self.forwarder, seid, urrs)
    }

    fn forwarded(&self, seid: u64) -> [u64; 2] {
        Datapath::forwarded(&self.forwarder, seid)
    }

    fn last_activity(&self, seid: u64) -> Option<Instant> {
        Datapath::last_activity(&self.forwarder, seid)
    }

    fn buffered(&self, seid: u64) -> Buffered {
        self.forwarder.buffered(seid)
    }

    fn events(&self) -> EventSender {
        Datapath::events(&self.forwarder)
    }

    fn counters(&self) -> Arc<Counters> {
        Datapath::counters(&self.forwarder)
    }

    fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        Datapath::traffic(&self.forwarder, seids)
    }

    fn shape(&mut self, shaping: &Shaping) {
        Datapath::shape(&mut self.forwarder, shaping);
    }

    fn class_octets(&self) -> [u64; CLASSES] {
        self.forwarder.class_octets()
    }

    fn tables(&self) -> Vec<Fill> {
        Datapath::tables(&self.forwarder)
    }
}
