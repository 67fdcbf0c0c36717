//! The writer of the programs' tables, and the part of the datapath in user space.
//!
//! | module | content |
//! | --- | --- |
//! | `compile`, `filters` | a session as structs of the programs |
//! | `apply`, `lookup`, `state`, `usage` | sessions in the tables, and their counters |
//! | `allocation`, `rule_slots`, `slots`, `lazy_box` | allocation of table entries |
//! | `nat` | expiry of NAT flows |
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

use crate::loader::{
    Losses, Mode, NatTimes, Program, Programs, Sizes, WrittenPerimeter, nat_settings, types,
};
pub use crate::loader::{Verdict, XdpError};
use batching::Batching;
use capture::Captures;
use controller::Controller;
use link::Link;
use martlet_board::governor::CLASSES;
use martlet_pfcp::ie::UpFunctionFeatures;
use martlet_upf_config::{N6Mode, UeToUeOfNetworks, UpfConfig, XdpConfig};
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::early::EarlyPackets;
use martlet_upf_datapath::fair_share::FairShare;
use martlet_upf_datapath::perimeter::{Perimeter, Sources};
use martlet_upf_datapath::telemetry::{
    CaptureRequest, CaptureStatus, InterfaceLoss, PdrTraffic, TableUsage, TraceBatch, TraceRequest,
    Traffic,
};
use martlet_upf_datapath::{
    Buffered, Change, CommandError, Datapath, DatapathError, EventSender, OpenError, Shaping,
    Signals, TeidFilter, Usage,
};
use martlet_upf_kernel::gtpu::Gtpu;
use martlet_upf_kernel::network_instances::NetworkInstances;
use martlet_upf_kernel::non_ip::NonIpSessions;
use martlet_upf_kernel::{nat as kernel_nat, netns, perimeter};
use martlet_upf_rules::SessionKind;
use nix::net::if_::if_nametoindex;
use non_ip::NonIpRules;
use packet_socket::PacketSocket;
use ring::Ring;
use state::State;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use thread::Thread;
use tokio::sync::mpsc;
use trace::Tracer;

/// Its name in configuration, status and metrics.
const NAME: &str = "xdp";

/// As `bpf/structs.h` has it.
const INSTANCES: usize = martlet_upf_config::MAX_NETWORK_INSTANCES + 1;

/// The datapath but for the threads that serve it.
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
    /// Network instances of exits.
    network_instances: Vec<Vec<u8>>,
    /// Translation of addresses by the programs.
    nat: types::nat_settings,
    /// GTP-U that is not for the programs.
    gtpu: Arc<Gtpu>,
    /// Frames of ours.
    frames: Arc<PacketSocket>,
    /// The programs' end of the link with the kernel.
    inner: u32,
    /// The network namespace and the kernel's end of the link, if there is a data network.
    n6: Option<(Option<String>, u32)>,
    /// The datapath of sessions that the programs do not forward.
    non_ip: OnceLock<Arc<NonIpSessions>>,
    /// What UEs do not reach and who is a peer, and what the programs know of it.
    perimeter: Arc<Perimeter>,
    written: Mutex<WrittenPerimeter>,
    /// Packets that wait for a path switch.
    early: Mutex<EarlyPackets>,
    /// How buffered packets are shared out among sessions.
    share: FairShare,
    /// What happens to packets between UEs.
    ue_to_ue: UeToUeOfNetworks,
    /// Error Indications per second to one peer.
    responses_per_peer: u32,
    /// Packets without a QFI match no PDR that has QFIs.
    require_qfi: bool,
    /// Until then, tunnels that are not known may be those of sessions that are still to be
    /// restored.
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
    _exits: NetworkInstances,
    _addresses: perimeter::Watcher,
    batching: Batching,
    /// Interfaces with programs.
    ports: Vec<(String, Mode)>,
    losses: Option<Losses>,
    /// All interfaces that programs send to, by index.
    interfaces: HashMap<u32, String>,
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
            Self::open_here(config, events, failure, bench)
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

    fn open_here(
        config: &UpfConfig,
        events: EventSender,
        failure: mpsc::Sender<String>,
        bench: u32,
    ) -> Result<Self, OpenError> {
        let gtpu = Arc::new(Gtpu::open(&config.n3, config.xdp.socket_buffer)?);
        let (n3_ip4, n3_ip6) = config.n3.addresses();
        let ports = ports(config)?;
        let with_mode = |(name, ifindex): (String, u32)| {
            let mode = port_mode::of_port(&name, ifindex, config.xdp.mode);
            (name, ifindex, mode)
        };
        let ports: Vec<_> = ports.into_iter().map(with_mode).collect();
        let link = Link::open(config)?;
        let translation = translation(config);
        // Where programs translate, the kernel does not.
        let nat = if translation.addresses > 0 { None } else { kernel_nat::open(config)? };
        // In generic mode, frames may have checksums that their sender left to the interface.
        let generic = |(name, _, mode): &(String, u32, Option<Mode>)| {
            *mode == Some(Mode::Generic) || name == "lo"
        };
        let direct = config.xdp.direct
            && (matches!(config.n6.mode, N6Mode::Routing) || translation.addresses > 0);
        let network_instances = NetworkInstances::open(config)?;
        let (perimeter, addresses) = perimeter::follow(config)?;
        let (mut instance_outer, mut instance_inner) = ([0; INSTANCES], [0; INSTANCES]);
        for (n, (outer, inner)) in (1..).zip(&link.network_instances) {
            (instance_outer[n], instance_inner[n]) = (*outer, *inner);
        }
        let settings = types::settings {
            instance_outer,
            instance_inner,
            n3_ip4: n3_ip4.map_or(0, |ip| u32::from_ne_bytes(ip.octets())),
            n3_ip6: n3_ip6.map_or([0; 4], words),
            has_ip6: n3_ip6.is_some().into(),
            has_n6: u32::from(config.n6.mode != N6Mode::None),
            direct: u32::from(direct),
            outer_ifindex: link.outer,
            inner_ifindex: link.inner,
            local_switching: u32::from(config.xdp.local_switching)
                | u32::from(config.ue_to_ue().any()) << 1,
            n6_mtu: u32::from(config.n6.mtu),
            bounce: u32::from(ports.iter().any(generic)),
            transmit: u32::from(
                ports.iter().all(|(name, ..)| martlet_interface::is_hardware(name)),
            ),
            require_qfi: u32::from(config.n3.require_qfi),
            names_peers: u32::from(
                perimeter.names_peers() && perimeter.source_check() != Sources::Any,
            ),
            nat: translation,
            ..Default::default()
        };
        let sizes = Sizes {
            sessions: config.xdp.sessions,
            rules: config.xdp.rules,
            filters: config.xdp.filters,
            ring: config.xdp.ring,
            nat_flows: if translation.addresses > 0 { config.xdp.nat.flows } else { 0 },
            bench,
            sample: config.telemetry.sample,
        };
        let text = |error: XdpError| OpenError::Programs(error.to_string());
        let programs = Programs::load(settings, &sizes).map_err(text)?;
        let (outer, inner) = link::names(config);
        let mut ends =
            vec![(Program::Outer, outer, link.outer), (Program::Inner, inner, link.inner)];
        for (n, (outer, inner)) in (1..).zip(&link.network_instances) {
            let names = link::network_instance_names(config, n);
            ends.extend([(Program::Outer, names.0, *outer), (Program::Inner, names.1, *inner)]);
        }
        let named = ends.iter().map(|(_, name, ifindex)| (*ifindex, name.clone()));
        let known = ports.iter().map(|(name, ifindex, _)| (*ifindex, name.clone()));
        let interfaces: HashMap<u32, String> = named.chain(known).collect();
        let restoration = Duration::from_secs(config.n3.restoration_s);
        let controller =
            Controller::attach(&programs, ends, &ports, config.xdp.pin.as_deref(), restoration);
        let controller = controller.map_err(text)?;
        let mut modes = Vec::new();
        for (ifindex, mode) in controller.modes() {
            if mode == Mode::Native {
                programs.allow_port(ifindex).map_err(text)?;
            }
            let name =
                ports.iter().find(|(_, known, _)| *known == ifindex).map(|(name, ..)| name.clone());
            modes.push((name.unwrap_or_default(), mode));
        }
        let losses = Losses::count(interfaces.keys().copied());
        let losses = losses.inspect_err(|error| {
            tracing::warn!(%error, "losses of interfaces behind XDP are not counted");
        });
        let burst = config.xdp.error_indications_per_second;
        programs.buckets.write(0, response_bucket(burst));
        let mut ring = Ring::open(&programs).map_err(text)?;
        let inner_end = (link::names(config).1, link.inner);
        let named = |(name, ifindex, _): &(String, u32, Option<Mode>)| (name.clone(), *ifindex);
        let live: Vec<(String, u32)> = ports.iter().map(named).chain([inner_end]).collect();
        ring.open_sockets(&programs, &live, config.xdp.sockets);
        let tracer = trace::Tracer::open(&programs).map_err(text)?;
        let frames = Arc::new(PacketSocket::open()?);
        let restored_by = Instant::now() + Duration::from_secs(config.n3.restoration_s);
        let limits = config.xdp.clone();
        let lowest = config.governor.lowest.clone();
        let network_instance_names = config.n6.network_instance_names();
        let batching =
            Batching::new(ports.iter().map(|(name, ifindex, _)| (name.as_str(), *ifindex)));
        let inner = link.inner;
        let n6 = (config.n6.mode != N6Mode::None).then(|| (config.n3.netns.clone(), link.outer));
        let mut ends = vec![inner];
        ends.extend(link.network_instances.iter().map(|(_, inner)| *inner));
        let to_network = n6.is_some().then(|| non_ip::to_network(frames.clone(), ends));
        let forwarder = Forwarder::new(
            programs,
            ring,
            tracer,
            limits,
            lowest,
            network_instance_names,
            translation,
            events.clone(),
            gtpu.clone(),
            frames,
            inner,
            n6,
            Some(restored_by),
            perimeter.clone(),
            &config.n3,
            config.ue_to_ue(),
        );
        let forwarder = Arc::new(forwarder);
        forwarder.write_perimeter();
        martlet_upf_datapath::metrics::show(&forwarder.counters);
        let non_ip = NonIpSessions::open(
            config,
            &gtpu,
            to_network,
            &forwarder.counters,
            events,
            failure.clone(),
            &perimeter,
        )?;
        let frames = Arc::new(Mutex::new(NonIpRules::open(&forwarder, non_ip)?));
        let thread = Thread::start(&forwarder, &controller, &frames, failure)?;
        Ok(XdpDatapath {
            captures: Mutex::default(),
            forwarder,
            frames,
            _thread: thread,
            controller,
            _nat: nat,
            _link: link,
            _exits: network_instances,
            _addresses: addresses,
            batching,
            ports: modes,
            losses: losses.ok(),
            interfaces,
        })
    }
}

/// How the programs translate addresses; not at all where the configuration names none to translate
/// to.
fn translation(config: &UpfConfig) -> types::nat_settings {
    let nat = &config.xdp.nat;
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let times = NatTimes {
        tcp: seconds(nat.tcp_established_s),
        tcp_transitory: seconds(nat.tcp_transitory_s),
        udp: seconds(nat.udp_s),
        udp_unanswered: seconds(nat.udp_unanswered_s),
        icmp: seconds(nat.icmp_s),
        other: seconds(nat.other_s),
    };
    let addresses: &[Ipv4Addr] = if config.n6.mode == N6Mode::Nat { &nat.addresses } else { &[] };
    types::nat_settings {
        flows: nat.flows,
        flows_per_ue: nat.flows_per_ue,
        full_cone: u32::from(nat.full_cone),
        ..nat_settings(addresses, (nat.first_port, nat.last_port), times, rand::random())
    }
}

/// The interfaces to which programs are attached, by name and index.
fn ports(config: &UpfConfig) -> Result<Vec<(String, u32)>, OpenError> {
    let mut names = config.xdp.interfaces.clone();
    if names.is_empty() {
        let (ip4, ip6) = config.n3.addresses();
        for ip in ip4.map(IpAddr::V4).into_iter().chain(ip6.map(IpAddr::V6)) {
            let name = interface_of(ip)?;
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let index = |name: String| match if_nametoindex(name.as_str()) {
        Ok(index) => Ok((name, index)),
        Err(_) => Err(OpenError::Interface(format!(
            "there is no interface {name}: change upf.xdp.interfaces"
        ))),
    };
    names.into_iter().map(index).collect()
}

/// The interface that has an address.
fn interface_of(address: IpAddr) -> Result<String, OpenError> {
    if address.is_loopback() {
        return Ok("lo".into());
    }
    let all = nix::ifaddrs::getifaddrs().map_err(|error| {
        OpenError::Interface(format!("the interfaces cannot be listed: {error}"))
    })?;
    let has = |interface: &nix::ifaddrs::InterfaceAddress| {
        let found = interface.address.as_ref()?;
        let ip = found.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        let ip = ip.or(found.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))?;
        (ip == address).then(|| interface.interface_name.clone())
    };
    all.filter_map(|interface| has(&interface)).next().ok_or_else(|| {
        OpenError::Interface(format!(
            "no interface has the address {address} of upf.n3.address: change it, or set \
             upf.xdp.interfaces"
        ))
    })
}

/// An address as the programs have it.
pub(super) fn words(address: Ipv6Addr) -> [u32; 4] {
    let bytes = address.octets();
    std::array::from_fn(|n| {
        u32::from_ne_bytes([bytes[4 * n], bytes[4 * n + 1], bytes[4 * n + 2], bytes[4 * n + 3]])
    })
}

/// A bucket of packets of equal cost, with a rate per second.
fn response_bucket(per_second: u32) -> types::bucket {
    const SECOND: u64 = 16_000_000_000;
    let each = SECOND / u64::from(per_second.max(1));
    types::bucket {
        full_at: 0,
        burst: if per_second == 0 { 0 } else { SECOND },
        per_byte: each,
        unused: 0,
    }
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
            let why = "has a tunnel or address of another session".into();
            return Err(DatapathError::Pdr { pdr, why });
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
        XdpDatapath::renew(self, sample).map_err(|error| CommandError::Failed(error.to_string()))
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
        serde_json::json!({"interfaces": interfaces, "tables": self.forwarder.fill(), "lost": lost})
    }
}
