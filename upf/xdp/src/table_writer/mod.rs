//! The writer of the programs' tables, and the part of the datapath in user space.
//!
//! | module | content |
//! | --- | --- |
//! | `compile`, `filters` | a session as structs of the programs |
//! | `apply`, `lookup`, `state`, `usage` | sessions in the tables, and their counters |
//! | `allocation`, `rule_slots`, `slots`, `lazy_box` | allocation of table entries |
//! | `nat` | expiry of NAT flows |
//! | `open` | opens the datapath: interfaces, programs, and threads |
//! | `ring`, `waiting` | events of the programs, and buffered packets |
//! | `socket`, `thread` | GTP-U signalling, unknown tunnels, reassembled packets |
//! | `router` | Router Advertisements |
//! | `non_ip` | sessions that user space carries |
//! | `shape`, `batching` | thermal shaping and interrupt mitigation |
//! | `trace`, `capture` | traced packets; captures of N6 |
//! | `controller` | life cycle of the programs: attach, pin, take over, replace |
//! | `link`, `packet_socket` | the veth pair between kernel and programs |
//!
//! Programs leave to the kernel, through a veth pair: neighbour resolution, NAT without public
//! addresses of their own, fragmentation and ICMP replies.
mod allocation;
mod allowance;
mod apply;
mod batching;
mod capture;
mod compile;
mod controller;
#[cfg(test)]
pub(crate) mod differential;
mod filters;
mod forwarder;
mod lazy_box;
mod link;
mod lookup;
mod nat;
mod non_ip;
mod open;
mod packet_socket;
mod port_mode;
mod ring;
mod router;
mod rule_slots;
mod senders;
mod shape;
mod slots;
mod socket;
mod state;
mod thread;
mod trace;
mod unsupported;
mod usage;
mod waiting;

use crate::loader::{Losses, Mode, Program, Programs, WrittenPerimeter, types};
pub use crate::loader::{Verdict, XdpError};
use batching::Batching;
use capture::Captures;
use controller::Controller;
use link::{Left, Link};
use martlet_board::governor::CLASSES;
use martlet_pfcp::ie::UpFunctionFeatures;
use martlet_upf_config::{UeToUeOfNetworks, UpfConfig, XdpConfig};
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::early::EarlyPackets;
use martlet_upf_datapath::fair_share::FairShare;
use martlet_upf_datapath::perimeter::Perimeter;
use martlet_upf_datapath::telemetry::{
    CaptureRequest, CaptureStatus, InterfaceLoss, PdrTraffic, TableUsage, TraceBatch, TraceRequest,
    Traffic,
};
use martlet_upf_datapath::{
    Buffered, Change, CommandError, Datapath, DatapathError, EventSender, OpenError, PdrError,
    Shaping, Signals, TeidFilter, Usage,
};
use martlet_upf_kernel::gtpu::Gtpu;
use martlet_upf_kernel::network_instances::NetworkInstances;
use martlet_upf_kernel::non_ip::NonIpSessions;
use martlet_upf_kernel::{nat as kernel_nat, netns, perimeter};
use martlet_upf_rules::SessionKind;
use non_ip::NonIpRules;
use packet_socket::PacketSocket;
use ring::Ring;
use state::State;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use thread::Thread;
use tokio::sync::mpsc;
use trace::Tracer;

/// Its name in configuration, status and metrics.
const NAME: &str = "xdp";

/// As `bpf/structs.h` has it.
const INSTANCES: usize = martlet_upf_config::MAX_NETWORK_INSTANCES + 1;

/// The datapath without the threads that serve it.
struct Forwarder {
    programs: Programs,
    state: Mutex<State>,
    ring: Mutex<Ring>,
    tracer: Mutex<Tracer>,
    counters: Arc<Counters>,
    seen: Mutex<ReadCounters>,
    events: EventSender,
    limits: XdpConfig,
    /// QFIs that are shaped first.
    lowest: Vec<u8>,
    shaping: Mutex<Shaping>,
    /// Names of the network instances of N6, in order.
    network_instances: Vec<Vec<u8>>,
    /// Translation of addresses by the programs.
    nat: types::nat_settings,
    /// GTP-U that is not for the programs.
    gtpu: Arc<Gtpu>,
    /// Frames of ours.
    frames: Arc<PacketSocket>,
    /// The programs' end of the link with the kernel.
    inner: u32,
    /// The network namespace, the kernel's end of the link, and the MTU of packets to UEs, if there
    /// is a data network.
    n6: Option<(Option<String>, u32, u32)>,
    /// What an earlier process left on the link with the kernel; locked after the state.
    left: Mutex<Left>,
    /// The datapath of sessions that the programs do not forward.
    non_ip: OnceLock<Arc<NonIpSessions>>,
    /// The perimeter, and the part of it that the programs' tables have.
    perimeter: Arc<Perimeter>,
    written: Mutex<WrittenPerimeter>,
    /// Packets that wait for a path switch.
    early: Mutex<EarlyPackets>,
    /// The shares of sessions in the buffer.
    share: FairShare,
    /// Limits that were reached while the queue of events was full: session, URR, and whether it is
    /// a quota.
    unreported: Mutex<Vec<(u64, u32, bool)>>,
    /// What happens to packets between UEs.
    ue_to_ue: UeToUeOfNetworks,
    /// Error Indications per second to one peer.
    responses_per_peer: u32,
    /// Packets without a QFI match no PDR that has QFIs.
    require_qfi: bool,
    /// Until this time, unknown tunnels may belong to sessions that are not restored yet.
    suppress_errors_until: Option<Instant>,
}

/// The programs' counters at the last time that they were added to ours.
#[derive(Default)]
struct ReadCounters {
    stats: types::stats,
    lane: types::lane,
    totals: [[u64; 2]; 2],
    unmarked: HashMap<IpAddr, u64>,
}

/// No code panics while it holds one of these locks; should it, the state is still consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The datapath of programs in the kernel.
pub struct XdpDatapath {
    /// Dropped first: it holds the forwarder.
    captures: Mutex<Captures>,
    forwarder: Arc<Forwarder>,
    frames: Arc<Mutex<NonIpRules>>,
    // In the order of shutdown: first the thread of the programs, then the programs themselves.
    _thread: Thread,
    controller: Arc<Controller>,
    _nat: Option<kernel_nat::Nat>,
    _link: Link,
    _network_instances: NetworkInstances,
    _addresses: perimeter::Watcher,
    batching: Batching,
    /// Interfaces with programs.
    ports: Vec<(String, Mode)>,
    losses: Option<Losses>,
    /// All interfaces that programs send to, by index, and at 0 the queues of CPUs.
    interfaces: HashMap<u32, String>,
    /// CPUs that process G-PDUs; none: the CPU that receives a packet processes it.
    uplink_cpus: Vec<u32>,
}

impl XdpDatapath {
    /// Loads and attaches the programs. Blocks until done.
    pub fn open(config: &UpfConfig) -> Result<(XdpDatapath, Signals), OpenError> {
        Self::open_to_measure(config, 0)
    }

    /// The same with the benchmark programs for `bench` sessions.
    pub fn open_to_measure(
        config: &UpfConfig,
        bench: u32,
    ) -> Result<(XdpDatapath, Signals), OpenError> {
        let (events, receive_events): (EventSender, _) = mpsc::channel(config.xdp.events);
        let (failure, failures) = mpsc::channel(4);
        let opened = netns::within(config.n3.netns.as_deref(), || {
            open::open(config, events, failure, bench)
        })?;
        Ok((opened, Signals { events: receive_events, failures }))
    }

    /// Runs the program of an interface on a frame and returns the verdict and the resulting frame.
    /// The packet is counted, but not sent.
    ///
    /// # Errors
    /// The kernel cannot run them, as for a frame larger than a page.
    pub fn try_frame(&self, ifindex: u32, frame: &[u8]) -> Result<(Verdict, Vec<u8>), XdpError> {
        let mut out = Vec::new();
        let verdict = self.forwarder.programs.run(Program::Port, ifindex, frame, &mut out)?;
        Ok((verdict, out))
    }

    /// Reloads the programs with their maps and replaces them atomically. With `sample`, one of
    /// `sample` packets is timed.
    ///
    /// # Errors
    /// If the kernel rejects them, the previous ones remain.
    pub fn renew(&self, sample: Option<u32>) -> Result<(), XdpError> {
        let programs = &self.forwarder.programs;
        programs.renew(|_, sizes| sizes.sample = sample.unwrap_or(sizes.sample))?;
        self.controller.replace(programs)?;
        if !self.uplink_cpus.is_empty() {
            programs.spread_uplink(&self.uplink_cpus)?;
        }
        tracing::info!(?sample, "XDP programs replaced");
        Ok(())
    }

    /// The result of the datapath of non-IP sessions, if the session is one.
    fn of_frames<T>(&self, seid: u64, ask: impl FnOnce(&NonIpSessions) -> T) -> Option<T> {
        let frames = lock(&self.frames);
        frames.of(seid).map(ask)
    }

    /// The programs, to measure them.
    pub fn programs(&self) -> &Programs {
        &self.forwarder.programs
    }
}

/// An address as the programs have it.
pub(super) fn words(address: Ipv6Addr) -> [u32; 4] {
    let bytes = address.octets();
    std::array::from_fn(|n| {
        u32::from_ne_bytes([bytes[4 * n], bytes[4 * n + 1], bytes[4 * n + 2], bytes[4 * n + 3]])
    })
}

impl Datapath for XdpDatapath {
    fn name(&self) -> &'static str {
        NAME
    }

    fn features(&self) -> UpFunctionFeatures {
        // Where programs translate addresses, no session is carried in user space.
        match self.forwarder.nat.addresses {
            0 => UpFunctionFeatures::EMPU | UpFunctionFeatures::TREU,
            _ => UpFunctionFeatures::EMPU,
        }
    }

    fn detects_urls(&self) -> bool {
        self.forwarder.nat.addresses == 0
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        self.controller.session_added();
        let session = change.session;
        let mut frames = lock(&self.frames);
        let here = session.kind == SessionKind::Ip
            && !session.is_rare()
            && frames.of(session.seid).is_none();
        if !here {
            return frames.apply(&self.forwarder, change);
        }
        if frames.has_keys_of(session) {
            let pdr = session.pdrs.keys().next().copied().unwrap_or_default();
            return Err(DatapathError::Pdr { pdr, why: PdrError::InUse });
        }
        drop(frames);
        self.forwarder.apply(change)
    }

    fn remove(&mut self, seid: u64) -> Vec<Usage> {
        self.remove_all(&[seid]).pop().unwrap_or_default()
    }

    fn remove_all(&mut self, seids: &[u64]) -> Vec<Vec<Usage>> {
        let of_frames = |seid: &u64| lock(&self.frames).remove(&self.forwarder, *seid);
        let of_frames: Vec<_> = seids.iter().map(of_frames).collect();
        let others: Vec<u64> = seids
            .iter()
            .zip(&of_frames)
            .filter(|(_, own)| own.is_none())
            .map(|(s, _)| *s)
            .collect();
        let mut others = self.forwarder.remove(&others).into_iter();
        of_frames.into_iter().map(|own| own.or_else(|| others.next()).unwrap_or_default()).collect()
    }

    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        self.of_frames(seid, |non_ip| non_ip.take_usage(seid, urrs))
            .unwrap_or_else(|| self.forwarder.take_usage(seid, urrs))
    }

    fn forwarded(&self, seid: u64) -> [u64; 2] {
        self.of_frames(seid, |non_ip| non_ip.forwarded(seid))
            .unwrap_or_else(|| self.forwarder.forwarded(seid))
    }

    fn forwarded_by(&self, seids: &[u64]) -> Vec<[u64; 2]> {
        let frames = lock(&self.frames);
        let mut all = self.forwarder.forwarded_by(seids);
        for (bytes, seid) in all.iter_mut().zip(seids) {
            if let Some(non_ip) = frames.of(*seid) {
                *bytes = non_ip.forwarded(*seid);
            }
        }
        all
    }

    fn last_activity(&self, seid: u64) -> Option<Instant> {
        self.of_frames(seid, |non_ip| non_ip.last_activity(seid))
            .unwrap_or_else(|| self.forwarder.last_activity(seid))
    }

    fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant> {
        self.of_frames(seid, |non_ip| non_ip.last_packet(seid, urr))
            .unwrap_or_else(|| self.forwarder.last_packet(seid, urr))
    }

    fn buffered(&self, seid: u64) -> Buffered {
        self.of_frames(seid, |non_ip| non_ip.buffered(seid))
            .unwrap_or_else(|| self.forwarder.buffered(seid))
    }

    fn advertise(&mut self, seid: u64) {
        if self.of_frames(seid, |non_ip| non_ip.advertise(seid)).is_none() {
            self.forwarder.advertise_unsolicited(seid);
        }
    }

    fn events(&self) -> EventSender {
        self.forwarder.events.clone()
    }

    fn set_peers(&mut self, changes: &[(IpAddr, bool)]) {
        self.forwarder.perimeter.set_peers(changes);
        self.forwarder.write_perimeter();
    }

    fn perimeter(&self) -> Option<Arc<Perimeter>> {
        Some(self.forwarder.perimeter.clone())
    }

    fn counters(&self) -> Arc<Counters> {
        self.forwarder.refresh();
        self.forwarder.counters.clone()
    }

    fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        let mut all = self.forwarder.traffic(seids);
        for (traffic, seid) in all.iter_mut().zip(seids) {
            if let Some(of_frames) = self.of_frames(*seid, |non_ip| non_ip.traffic(*seid)) {
                *traffic = of_frames;
            }
        }
        all
    }

    fn pdr_traffic(&self, seid: u64) -> Vec<PdrTraffic> {
        self.of_frames(seid, |non_ip| non_ip.pdr_traffic(seid))
            .unwrap_or_else(|| self.forwarder.pdr_traffic(seid))
    }

    fn fast_teids(&self) -> Option<TeidFilter> {
        let forwarder = self.forwarder.clone();
        Some(Box::new(move |teid| forwarder.has_cache_slot(teid)))
    }

    fn tables(&self) -> Vec<TableUsage> {
        self.forwarder.tables()
    }

    fn interface_losses(&self) -> Vec<InterfaceLoss> {
        let losses = self.losses.iter().flat_map(Losses::read);
        let named = losses.filter_map(|loss| {
            let interface = self.interfaces.get(&loss.ifindex)?.clone();
            Some(InterfaceLoss { interface, reason: loss.reason, packets: loss.packets })
        });
        named.collect()
    }

    fn trace(&self, request: TraceRequest) -> Result<TraceBatch, CommandError> {
        Ok(self.forwarder.trace(request))
    }

    fn begin_capture(
        &self,
        folder: &Path,
        request: CaptureRequest,
    ) -> Result<CaptureStatus, CommandError> {
        lock(&self.captures).begin(&self.forwarder, folder, request)
    }

    fn capture(&self, end: bool) -> Option<CaptureStatus> {
        lock(&self.captures).status(end)
    }

    fn shape(&mut self, shaping: &Shaping) {
        self.forwarder.shape(shaping);
        lock(&self.frames).all().shape(shaping);
        self.batching.set(shaping.batching);
    }

    fn class_bytes(&self) -> [u64; CLASSES] {
        let mut bytes = self.forwarder.class_bytes();
        let of_frames = lock(&self.frames).all().class_bytes();
        bytes.iter_mut().zip(of_frames).for_each(|(all, more)| *all += more);
        bytes
    }

    fn renew(&self, sample: Option<u32>) -> Result<(), CommandError> {
        XdpDatapath::renew(self, sample).map_err(|error| CommandError::Programs(error.into()))
    }

    fn fullness(&self) -> u8 {
        self.forwarder.fullness()
    }

    fn details(&self) -> serde_json::Value {
        let interfaces: Vec<serde_json::Value> = self
            .ports
            .iter()
            .map(|(name, mode)| serde_json::json!({"name": name, "mode": mode.name()}))
            .collect();
        let lost: Vec<serde_json::Value> = self
            .interface_losses()
            .into_iter()
            .map(|loss| {
                serde_json::json!({"interface": loss.interface, "reason": loss.reason,
                    "packets": loss.packets})
            })
            .collect();
        let mut details = serde_json::json!({
            "interfaces": interfaces, "tables": self.forwarder.fill(), "lost": lost,
        });
        if !self.uplink_cpus.is_empty() {
            let packets = self.forwarder.programs.uplink_packets().unwrap_or_default();
            let of_cpu = |cpu: &u32| {
                let packets = packets.get(*cpu as usize);
                serde_json::json!({"cpu": cpu, "packets": packets})
            };
            details["uplinkCpus"] = self.uplink_cpus.iter().map(of_cpu).collect();
        }
        details
    }
}
