//! Opens the datapath: interfaces and links, the programs, and the part in user space.
use super::batching::Batching;
use super::controller::Controller;
use super::forwarder::Opened;
use super::link::{self, Link};
use super::non_ip::{self, NonIpRules};
use super::packet_socket::PacketSocket;
use super::ring::Ring;
use super::thread::Thread;
use super::trace::Tracer;
use super::{Forwarder, INSTANCES, XdpDatapath, XdpError, port_mode, words};
use crate::loader::{Losses, Mode, NatTimes, Program, Programs, Sizes, nat_settings, types};
use martlet_upf_config::{MAX_UPLINK_CPUS, N6Mode, UpfConfig};
use martlet_upf_datapath::perimeter::{Perimeter, Sources};
use martlet_upf_datapath::{EventSender, InterfaceError, OpenError};
use martlet_upf_kernel::gtpu::Gtpu;
use martlet_upf_kernel::network_instances::NetworkInstances;
use martlet_upf_kernel::non_ip::{NonIpSessions, Shared};
use martlet_upf_kernel::{nat as kernel_nat, perimeter};
use nix::net::if_::if_nametoindex;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// An interface for programs: name, index, and mode; `None` for native with generic as the
/// fallback.
type Port = (String, u32, Option<Mode>);

fn failed(error: XdpError) -> OpenError {
    OpenError::Programs(error.into())
}

/// Opens the datapath in the network namespace of the calling thread.
pub(super) fn open(
    config: &UpfConfig,
    events: EventSender,
    failure: mpsc::Sender<String>,
    bench: u32,
) -> Result<XdpDatapath, OpenError> {
    let gtpu = Arc::new(Gtpu::open(&config.n3, config.xdp.socket_buffer)?);
    let with_mode = |(name, ifindex): (String, u32)| {
        let mode = port_mode::of_port(&name, ifindex, config.xdp.mode);
        (name, ifindex, mode)
    };
    let ports: Vec<Port> = ports(config)?.into_iter().map(with_mode).collect();
    let mut link = Link::open(config)?;
    let translation = translation(config);
    // Where programs translate, the kernel does not.
    let nat = if translation.addresses > 0 { None } else { kernel_nat::open(config)? };
    let network_instances = NetworkInstances::open(config)?;
    let (perimeter, addresses) = perimeter::follow(config)?;

    let cpus = uplink_cpus(config);
    let settings = settings(config, &ports, &link, translation, &perimeter, &cpus);
    let sizes = sizes(config, &translation, bench);
    let programs = Programs::load(settings, &sizes).map_err(failed)?;
    let controller = attach(config, &programs, &link, &ports)?;
    let modes = allow_redirection(&programs, &controller, &ports)?;
    let cpus = spread_uplink(&programs, cpus, &modes).map_err(failed)?;
    let mut interfaces = interfaces(config, &link, &ports);
    let losses = Losses::count(interfaces.keys().copied()).and_then(|mut losses| {
        if !cpus.is_empty() {
            losses.count_queues(programs.uplink_map()?)?;
        }
        Ok(losses)
    });
    interfaces.insert(0, UPLINK_CPUS.into());
    let losses = losses.inspect_err(|error| {
        tracing::warn!(%error, "losses of interfaces behind XDP are not counted");
    });
    let burst = config.xdp.error_indications_per_second;
    for which in 0..programs.answers.entries() as u32 {
        programs.answers.write(which, response_bucket(burst));
    }
    let ring = open_ring(config, &programs, &link, &ports)?;
    let tracer = Tracer::open(&programs).map_err(failed)?;

    let frames = Arc::new(PacketSocket::open()?);
    let restored_by = Instant::now() + Duration::from_secs(config.n3.restoration_s);
    let batching = Batching::new(ports.iter().map(|(name, ifindex, _)| (name.as_str(), *ifindex)));
    let n6 = (config.n6.mode != N6Mode::None)
        .then(|| (config.n3.netns.clone(), link.outer, u32::from(config.n6.mtu)));
    let mut ends = vec![link.inner];
    ends.extend(link.network_instances.iter().map(|(_, inner)| *inner));
    let to_network = n6.is_some().then(|| non_ip::to_network(frames.clone(), ends));
    let opened = Opened {
        programs,
        ring,
        tracer,
        nat: translation,
        events: events.clone(),
        gtpu: gtpu.clone(),
        frames,
        inner: link.inner,
        n6,
        left: std::mem::take(&mut link.left),
        perimeter: perimeter.clone(),
        suppress_errors_until: Some(restored_by),
    };
    let forwarder = Arc::new(Forwarder::new(config, opened));
    forwarder.write_perimeter();
    martlet_upf_datapath::metrics::show(&forwarder.counters);
    let of_programs = Arc::downgrade(&forwarder);
    let elsewhere = move |address: IpAddr| of_programs.upgrade()?.ue_to_ue_of(address);
    let shared =
        Shared { gtpu: &gtpu, counters: &forwarder.counters, events, perimeter: &perimeter };
    let elsewhere = Box::new(elsewhere);
    let non_ip = NonIpSessions::open(config, shared, to_network, elsewhere, failure.clone())?;
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
        _network_instances: network_instances,
        _addresses: addresses,
        batching,
        ports: modes,
        losses: losses.ok(),
        interfaces,
        uplink_cpus: cpus,
    })
}

/// The queues of CPUs among the interfaces that lose packets.
const UPLINK_CPUS: &str = "uplink_cpus";

/// The CPUs that process G-PDUs: the first online ones, as many as configured. None: the CPU that
/// receives a packet processes it.
fn uplink_cpus(config: &UpfConfig) -> Vec<u32> {
    let wanted = match config.xdp.uplink_cpus {
        0 => MAX_UPLINK_CPUS,
        cpus => MAX_UPLINK_CPUS.min(cpus as usize),
    };
    if wanted < 2 {
        return Vec::new();
    }
    // The affinity of this thread may be a CPU that functions share.
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let mut cpus = cpu_list(online.trim());
    cpus.truncate(wanted);
    if cpus.len() < 2 {
        tracing::info!(online = online.trim(), "uplink packets have one CPU: no other is online");
        cpus.clear();
    }
    cpus
}

/// The numbers of a list of CPUs in the kernel's form, as `0-3,6`.
fn cpu_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Gives G-PDUs to CPUs, and returns these. All interfaces must be in native mode: of a batch of
/// frames of generic mode, kernels such as Linux 6.2 run the program of a queue only until it
/// redirects the first one, and leave the others to the network stack.
fn spread_uplink(
    programs: &Programs,
    cpus: Vec<u32>,
    modes: &[(String, Mode)],
) -> Result<Vec<u32>, XdpError> {
    if cpus.is_empty() {
        return Ok(cpus);
    }
    if let Some((interface, _)) = modes.iter().find(|(_, mode)| *mode == Mode::Generic) {
        tracing::warn!(
            interface,
            remedy = "use an interface with native XDP, or upf.xdp.uplink_cpus: 1",
            "uplink packets are processed by the CPU that receives them: XDP in generic mode"
        );
        return Ok(Vec::new());
    }
    programs.spread_uplink(&cpus)?;
    tracing::info!(?cpus, "uplink packets are processed by several CPUs");
    Ok(cpus)
}

/// The settings of the programs, which are constant while they run.
fn settings(
    config: &UpfConfig,
    ports: &[Port],
    link: &Link,
    translation: types::nat_settings,
    perimeter: &Perimeter,
    cpus: &[u32],
) -> types::settings {
    let (n3_ip4, n3_ip6) = config.n3.addresses();
    // In generic mode, frames may have checksums that their sender left to the interface.
    let generic = |(name, _, mode): &Port| *mode == Some(Mode::Generic) || name == "lo";
    let direct = config.xdp.direct
        && (matches!(config.n6.mode, N6Mode::Routing) || translation.addresses > 0);
    let (mut instance_outer, mut instance_inner) = ([0; INSTANCES], [0; INSTANCES]);
    for (n, (outer, inner)) in (1..).zip(&link.network_instances) {
        (instance_outer[n], instance_inner[n]) = (*outer, *inner);
    }
    let mut uplink_cpu = [0; MAX_UPLINK_CPUS];
    uplink_cpu[..cpus.len()].copy_from_slice(cpus);
    types::settings {
        uplink_cpu,
        uplink_cpus: cpus.len() as u32,
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
        transmit: u32::from(ports.iter().all(|(name, ..)| martlet_interface::is_hardware(name))),
        require_qfi: u32::from(config.n3.require_qfi),
        names_peers: u32::from(perimeter.names_peers() && perimeter.source_check() != Sources::Any),
        nat: translation,
        ..Default::default()
    }
}

fn sizes(config: &UpfConfig, translation: &types::nat_settings, bench: u32) -> Sizes {
    Sizes {
        sessions: config.xdp.sessions,
        rules: config.xdp.rules,
        filters: config.xdp.filters,
        ring: config.xdp.ring,
        nat_flows: if translation.addresses > 0 { config.xdp.nat.flows } else { 0 },
        bench,
        sample: config.telemetry.sample,
    }
}

/// Attaches the programs to the links with the kernel, and to the interfaces.
fn attach(
    config: &UpfConfig,
    programs: &Programs,
    link: &Link,
    ports: &[Port],
) -> Result<Arc<Controller>, OpenError> {
    let ends = ends(config, link);
    let restoration = Duration::from_secs(config.n3.restoration_s);
    Controller::attach(programs, ends, ports, config.xdp.pin.as_deref(), restoration)
        .map_err(failed)
}

/// The ends of the links with the kernel: program, name and index of each.
fn ends(config: &UpfConfig, link: &Link) -> Vec<(Program, String, u32)> {
    let (outer, inner) = link::names(config);
    let mut ends = vec![(Program::Outer, outer, link.outer), (Program::Inner, inner, link.inner)];
    for (n, (outer, inner)) in (1..).zip(&link.network_instances) {
        let names = link::network_instance_names(config, n);
        ends.extend([(Program::Outer, names.0, *outer), (Program::Inner, names.1, *inner)]);
    }
    ends
}

/// All interfaces that programs send to, by index.
fn interfaces(config: &UpfConfig, link: &Link, ports: &[Port]) -> HashMap<u32, String> {
    let of_links = ends(config, link).into_iter().map(|(_, name, ifindex)| (ifindex, name));
    let known = ports.iter().map(|(name, ifindex, _)| (*ifindex, name.clone()));
    of_links.chain(known).collect()
}

/// Allows redirection to interfaces with programs in native mode. Returns the mode of each
/// interface.
fn allow_redirection(
    programs: &Programs,
    controller: &Controller,
    ports: &[Port],
) -> Result<Vec<(String, Mode)>, OpenError> {
    let mut modes = Vec::new();
    for (ifindex, mode) in controller.modes() {
        if mode == Mode::Native {
            programs.allow_port(ifindex).map_err(failed)?;
        }
        let name =
            ports.iter().find(|(_, known, _)| *known == ifindex).map(|(name, ..)| name.clone());
        modes.push((name.unwrap_or_default(), mode));
    }
    Ok(modes)
}

/// Opens the ring of events, and AF_XDP sockets at the interfaces and the link with the kernel.
fn open_ring(
    config: &UpfConfig,
    programs: &Programs,
    link: &Link,
    ports: &[Port],
) -> Result<Ring, OpenError> {
    let mut ring = Ring::open(programs).map_err(failed)?;
    let inner_end = (link::names(config).1, link.inner);
    let named = |(name, ifindex, _): &Port| (name.clone(), *ifindex);
    let live: Vec<(String, u32)> = ports.iter().map(named).chain([inner_end]).collect();
    ring.open_sockets(programs, &live, config.xdp.sockets);
    Ok(ring)
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
        Err(_) => {
            Err(InterfaceError::Missing { interface: name, key: "upf.xdp.interfaces".into() })
        }
    };
    Ok(names.into_iter().map(index).collect::<Result<_, _>>()?)
}

/// The interface that has an address.
fn interface_of(address: IpAddr) -> Result<String, InterfaceError> {
    if address.is_loopback() {
        return Ok("lo".into());
    }
    let all = nix::ifaddrs::getifaddrs().map_err(|error| InterfaceError::List(error.into()))?;
    let has = |interface: &nix::ifaddrs::InterfaceAddress| {
        let found = interface.address.as_ref()?;
        let ip = found.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        let ip = ip.or(found.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))?;
        (ip == address).then(|| interface.interface_name.clone())
    };
    all.filter_map(|interface| has(&interface)).next().ok_or(InterfaceError::NoAddress(address))
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

#[cfg(test)]
mod tests {
    use super::cpu_list;

    #[test]
    fn lists_of_cpus_are_read_in_the_form_of_the_kernel() {
        assert_eq!(cpu_list("0"), [0]);
        assert_eq!(cpu_list("0-3,6,8-9"), [0, 1, 2, 3, 6, 8, 9]);
        assert_eq!(cpu_list(""), [] as [u32; 0]);
    }
}
