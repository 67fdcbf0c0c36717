//! The UPF's configuration.
use crate::rules::RuleLimits;
use crate::telemetry::TelemetryConfig;
use crate::thermal::BoardSection;
use martlet_board::GovernorConfig;
use martlet_config::Finding;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

mod check;
mod switch;

pub(crate) use switch::network;
pub use switch::{OffloadPolicy, OffloadRule, SwitchConfig, SwitchEngine, SwitchRun};

/// Everything that the UPF reads: section `upf`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpfConfig {
    /// Towards the SMF.
    pub n4: N4Config,
    /// Towards gNBs and other UPFs.
    pub n3: N3Config,
    /// Towards the data network.
    pub n6: N6Config,
    /// Data networks with the addresses of their UEs, which N6 routes.
    pub dnns: Vec<DnnConfig>,
    /// Most rules of one session.
    pub rules: RuleLimits,
    /// What carries the packets.
    pub datapath: DatapathChoice,
    /// Bounds of the `kernel` datapath.
    pub kernel: KernelLimits,
    /// The `xdp` datapath.
    pub xdp: XdpConfig,
    /// What is told of packets.
    pub telemetry: TelemetryConfig,
    /// The board that it runs on.
    pub board: BoardSection,
    /// The thermal governor.
    pub governor: GovernorConfig,
    /// The `switch` datapath.
    pub switch: SwitchConfig,
}

/// What carries the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatapathChoice {
    /// A socket and a TUN device: runs everywhere.
    #[default]
    Kernel,
    /// Programs in the kernel, before it makes packets of its own.
    Xdp,
    /// A programmable switch, with one of the others behind it.
    Switch,
}

/// N4: PFCP with the SMF.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N4Config {
    /// Where PFCP is served, over UDP.
    pub address: SocketAddr,
    /// Node ID: an address or a host name. Left out, it is the IP of `address`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
    /// Port of the SMF to which requests go; 8805 but in a lab.
    pub peer_port: u16,
    /// T1: milliseconds after which a request is sent again.
    pub t1_ms: u64,
    /// N1: how often a request is sent in all.
    pub n1: u8,
    /// Seconds between heartbeats to an SMF; 0 sends none.
    pub heartbeat_s: u64,
    /// Seconds for which the sessions of an SMF are kept that does not answer heartbeats.
    pub retention_s: u64,
    /// SMFs with an association at a time.
    pub associations: usize,
    /// Sessions at a time.
    pub sessions: usize,
    /// Requests under way and answers kept for repetition at a time.
    pub transactions: usize,
    /// Applications with packet flow descriptions at a time.
    pub applications: usize,
    /// Flow descriptions of one application.
    pub flows_per_application: usize,
    /// Name servers whose answers to UEs are believed: they tell which addresses an application has that PFDs describe by
    /// domain names. Without any, such PFDs are refused: whoever may send answers decides what an application is.
    pub name_servers: Vec<IpAddr>,
    /// Addresses of one application that are known by its names, and flows beside them.
    pub addresses_per_application: usize,
    /// Seconds for which an address holds at least, however soon its answer ends: flows go on for longer than that.
    pub names_hold_s: u64,
    /// Per cent of load from which on SMFs are asked for fewer sessions; at 100 they are asked for none.
    pub overload_percent: u8,
    /// Seconds for which that is asked.
    pub overload_s: u64,
    /// Seconds that the UPF waits at its end for SMFs to move their sessions away; 0 waits for nobody.
    pub release_s: u64,
}

impl Default for N4Config {
    fn default() -> Self {
        N4Config {
            address: SocketAddr::from(([127, 0, 0, 8], martlet_pfcp::PORT)),
            node_id: None,
            peer_port: martlet_pfcp::PORT,
            t1_ms: 1000,
            n1: 3,
            heartbeat_s: 10,
            retention_s: 60,
            associations: 16,
            sessions: 65_536,
            transactions: 10_000,
            applications: 256,
            flows_per_application: 64,
            name_servers: Vec::new(),
            addresses_per_application: 64,
            names_hold_s: 300,
            overload_percent: 90,
            overload_s: 10,
            release_s: 0,
        }
    }
}

/// N3 and N9: GTP-U.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N3Config {
    /// Where GTP-U is served, over UDP; the IP is put into F-TEIDs. The port is 2152 but in a lab.
    pub address: SocketAddr,
    /// Where GTP-U is served over IPv6 beside that: F-TEIDs then have both addresses. Without it N3 and N9 have the IP version
    /// of `address` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address6: Option<Ipv6Addr>,
    /// Name of the network namespace of the socket, as `ip netns` has it. Left out, that of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// Seconds after the start in which packets of unknown tunnels are dropped without an Error Indication: SMFs restore
    /// the sessions of before then (TS 23.527, 4.3.2). Longer than their heartbeats are apart.
    pub restoration_s: u64,
}

impl N3Config {
    /// The addresses of N3: of IPv4, and of IPv6.
    pub fn addresses(&self) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
        match self.address.ip() {
            IpAddr::V4(ip) => (Some(ip), self.address6),
            IpAddr::V6(ip) => (None, Some(ip)),
        }
    }
}

impl Default for N3Config {
    fn default() -> Self {
        N3Config {
            address: SocketAddr::from(([127, 0, 0, 8], martlet_gtpu::PORT)),
            address6: None,
            netns: None,
            restoration_s: 20,
        }
    }
}

/// Exits of N6; as `bpf/structs.h` has it.
pub(crate) const MOST_EXITS: usize = 7;

/// How N6 reaches the data network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum N6Mode {
    /// The machine routes between the interface and its others; the data network has a route back.
    Routing,
    /// As routing, and addresses of UEs are translated to those of the machine on their way out.
    Nat,
    /// The interface is made, and nothing passed on: UEs reach the machine itself.
    Local,
    /// No interface is made: UEs reach each other, and other packets are dropped.
    None,
}

/// N6: a TUN device, or nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N6Config {
    /// Name of the TUN device; it is made at start and gone at the end.
    pub interface: String,
    /// How the data network is reached.
    pub mode: N6Mode,
    /// Largest packet in octets. With 1400 a packet fits into its tunnel over a link of 1500.
    pub mtu: u16,
    /// IPv6 networks of UEs, as `fd45::/48`. The first address of each becomes the TUN device's. They are routed, not
    /// translated.
    pub pools6: Vec<String>,
    /// Name of the network namespace of the device, as `ip netns` has it. Left out, that of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// Data networks of Ethernet sessions, each with a TAP device. In others UEs reach each other alone.
    pub ethernet: Vec<EthernetConfig>,
    /// Ways to data networks beside the common one, which the kernel's routes are: packets take one by the network instance
    /// of their FAR.
    pub exits: Vec<ExitConfig>,
}

/// A data network of Ethernet sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EthernetConfig {
    /// Its name; equal to the network instance of PDRs.
    pub dnn: String,
    /// Name of the TAP device; it is made at start and gone at the end. Make it a port of a bridge to go further.
    pub interface: String,
}

/// A way to a data network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExitConfig {
    /// The network instance of FARs (TS 29.244, 8.2.4) whose packets take it.
    pub network_instance: String,
    /// The interface that they leave by; with the datapath `xdp` one of `xdp.interfaces`, or they go through the kernel.
    pub interface: String,
    /// The router there. Left out, hosts are on the link itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Ipv4Addr>,
}

impl N6Config {
    /// The network instances of the exits, in their order.
    pub(crate) fn exit_names(&self) -> Vec<Vec<u8>> {
        self.exits.iter().map(|exit| martlet_pfcp::ie::NetworkInstance::new(&exit.network_instance).0).collect()
    }
}

impl Default for N6Config {
    fn default() -> Self {
        N6Config {
            interface: "martlet-n6".into(),
            mode: N6Mode::Nat,
            mtu: 1400,
            pools6: vec!["fd45::/48".into()],
            netns: None,
            ethernet: Vec::new(),
            exits: Vec::new(),
        }
    }
}

/// A data network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnnConfig {
    /// Its name; equal to the network instance of PDRs.
    pub name: String,
    /// Addresses of UEs, as `10.45.0.0/16`. The first of them becomes that of the TUN device.
    pub pools: Vec<String>,
    /// SMFs may have the UPF give UEs addresses of these pools, and IPv6 prefixes of `n6.pools6` (TS 29.244, 5.21). They
    /// give none of them by themselves then.
    #[serde(default)]
    pub allocate: bool,
}

/// Bounds of the `kernel` datapath.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelLimits {
    /// Sessions at a time.
    pub sessions: usize,
    /// Packets that wait for one UE; a BAR may suggest fewer.
    pub buffer_packets_per_session: usize,
    /// Packets that wait for all UEs.
    pub buffer_packets: usize,
    /// Error Indications and extension header notifications sent in a second.
    pub complaints_per_second: u32,
    /// Milliseconds of its maximum bit rate that a flow may send at once.
    pub mbr_burst_ms: u64,
    /// Packets between two UEs go from one to the other; else they leave over N6 and come back.
    pub local_switching: bool,
    /// Link addresses that one Ethernet session may have.
    pub link_addresses: usize,
    /// Events that wait for N4.
    pub events: usize,
    /// Octets of the sockets' buffers.
    pub socket_buffer: usize,
}

impl Default for KernelLimits {
    fn default() -> Self {
        KernelLimits {
            sessions: 65_536,
            buffer_packets_per_session: 256,
            buffer_packets: 65_536,
            complaints_per_second: 100,
            mbr_burst_ms: 100,
            local_switching: true,
            link_addresses: 64,
            events: 4096,
            socket_buffer: 4 << 20,
        }
    }
}

impl KernelLimits {
    pub(crate) fn mbr_burst(&self) -> Duration {
        Duration::from_millis(self.mbr_burst_ms)
    }
}

/// How programs are attached to interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum XdpMode {
    /// Native where the driver has it, else generic.
    #[default]
    Auto,
    /// In the driver, or not at all.
    Native,
    /// Behind the driver.
    Generic,
}

/// The `xdp` datapath.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XdpConfig {
    /// Interfaces towards gNBs and, for packets that do not need the kernel on their way, data networks. Left out: the
    /// one that has the address of N3.
    pub interfaces: Vec<String>,
    /// How programs are attached.
    pub mode: XdpMode,
    /// A folder of the BPF file system, as `/sys/fs/bpf/martlet`, in which attached programs are kept. When the process is
    /// killed they go on with the sessions of then, and the next process takes them over once its SMF has restored these.
    /// Left out, programs end with the process, however it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<PathBuf>,
    /// Packets leave for data networks directly over one of the interfaces, by the kernel's routes. Otherwise, and
    /// where it has to find the way, to translate addresses or to answer, the kernel forwards them.
    pub direct: bool,
    /// Sessions at a time.
    pub sessions: u32,
    /// PDRs of all sessions at a time; as many may have a bit rate.
    pub rules: u32,
    /// SDF filters of all sessions at a time.
    pub filters: u32,
    /// Packets under way from each receive queue to the buffer over AF_XDP; a power of two, each with 2 KiB of memory. What
    /// finds no room there comes by the ring; with 0 all do.
    pub sockets: u32,
    /// Octets of the ring in which packets to be buffered come from the programs; a power of two.
    pub ring: u32,
    /// Packets that wait for one UE; a BAR may suggest fewer.
    pub buffer_packets_per_session: usize,
    /// Packets that wait for all UEs.
    pub buffer_packets: usize,
    /// Error Indications and extension header notifications sent in a second.
    pub complaints_per_second: u32,
    /// Milliseconds of its maximum bit rate that a flow may send at once.
    pub mbr_burst_ms: u64,
    /// Packets between two UEs go from one to the other; else they leave over N6 and come back.
    pub local_switching: bool,
    /// Events that wait for N4.
    pub events: usize,
    /// Octets of the socket's buffers.
    pub socket_buffer: usize,
    /// Translation of addresses by the programs.
    pub nat: XdpNatConfig,
}

/// Translation of the IPv4 addresses of UEs by the programs, with `n6.mode: nat`. Without addresses the kernel translates,
/// to those of its interfaces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XdpNatConfig {
    /// Public addresses, at most 8. A UE always has the same one. Those that the machine does not have yet it gets.
    pub addresses: Vec<Ipv4Addr>,
    /// The first port that UEs get. Where the machine has the address for itself too, its own sockets must not use these.
    pub first_port: u16,
    /// The last port that UEs get.
    pub last_port: u16,
    /// Flows at a time.
    pub flows: u32,
    /// Flows of one UE at a time.
    pub flows_per_ue: u32,
    /// What any host sends to the public port of a UE reaches the UE; otherwise only those that it has sent to do.
    pub full_cone: bool,
    /// Seconds for which a TCP connection lives without a packet (RFC 5382, REQ-5).
    pub tcp_established_s: u32,
    /// The same while it is being made or closed.
    pub tcp_transitory_s: u32,
    /// The same for UDP (RFC 4787, REQ-5).
    pub udp_s: u32,
    /// The same for UDP that nobody has answered.
    pub udp_unanswered_s: u32,
    /// The same for ICMP queries (RFC 5508, REQ-2).
    pub icmp_s: u32,
    /// The same for other protocols, of which a UE has one flow with each host.
    pub other_s: u32,
}

impl Default for XdpNatConfig {
    fn default() -> Self {
        XdpNatConfig {
            addresses: Vec::new(),
            first_port: 1024,
            last_port: 32_767,
            flows: 131_072,
            flows_per_ue: 1024,
            full_cone: false,
            tcp_established_s: 7440,
            tcp_transitory_s: 240,
            udp_s: 300,
            udp_unanswered_s: 120,
            icmp_s: 60,
            other_s: 600,
        }
    }
}

impl Default for XdpConfig {
    fn default() -> Self {
        XdpConfig {
            interfaces: Vec::new(),
            mode: XdpMode::Auto,
            pin: None,
            direct: true,
            sessions: 65_536,
            rules: 196_608,
            filters: 65_536,
            sockets: 512,
            ring: 2 << 20,
            buffer_packets_per_session: 256,
            buffer_packets: 65_536,
            complaints_per_second: 100,
            mbr_burst_ms: 100,
            local_switching: true,
            events: 4096,
            socket_buffer: 1 << 20,
            nat: XdpNatConfig::default(),
        }
    }
}

impl XdpConfig {
    pub(crate) fn mbr_burst(&self) -> Duration {
        Duration::from_millis(self.mbr_burst_ms)
    }
}

/// A pool of UE addresses, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Its first address, whose host bits are 0.
    pub network: Ipv4Addr,
    /// Length of the prefix.
    pub prefix: u8,
}

impl Pool {
    /// Reads `10.45.0.0/16`.
    pub fn parse(text: &str) -> Result<Pool, String> {
        let wrong = || format!("{text:?} is no pool of addresses: write one like 10.45.0.0/16");
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let (address, prefix) =
            (address.parse::<IpAddr>().map_err(|_| wrong())?, prefix.parse::<u8>().map_err(|_| wrong())?);
        let IpAddr::V4(network) = address else {
            return Err("pools are of IPv4 for now: write one like 10.45.0.0/16".into());
        };
        if !(8..=30).contains(&prefix) {
            return Err(format!("the prefix length {prefix} is not within 8 to 30"));
        }
        let mask = u32::MAX << (32 - u32::from(prefix));
        if network.to_bits() & !mask != 0 {
            let proper = Ipv4Addr::from_bits(network.to_bits() & mask);
            return Err(format!("{network} has bits behind its prefix: write {proper}/{prefix}"));
        }
        Ok(Pool { network, prefix })
    }

    /// The first host of the pool, which the TUN device has.
    pub fn gateway(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() | 1)
    }
}

/// The first host of an IPv6 network, and the length of its prefix.
pub(crate) fn pool6(text: &str) -> Option<(Ipv6Addr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let (address, prefix): (Ipv6Addr, u8) = (address.parse().ok()?, prefix.parse().ok()?);
    let within = (32..=64).contains(&prefix) && address.to_bits() & (u128::MAX >> prefix) == 0;
    within.then(|| (Ipv6Addr::from_bits(address.to_bits() | 1), prefix))
}

impl UpfConfig {
    /// Pools of all data networks; those of the default data network where none is configured.
    pub fn pools(&self) -> Vec<Pool> {
        let configured = self.dnns.iter().flat_map(|dnn| &dnn.pools).filter_map(|text| Pool::parse(text).ok());
        let pools: Vec<Pool> = configured.collect();
        match self.dnns.is_empty() {
            true => vec![Pool { network: Ipv4Addr::new(10, 45, 0, 0), prefix: 16 }],
            false => pools,
        }
    }

    /// IPv6 networks of UEs: the address of the TUN device, and the length of the prefix.
    pub fn pools6(&self) -> Vec<(Ipv6Addr, u8)> {
        self.n6.pools6.iter().filter_map(|text| pool6(text)).collect()
    }

    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        check::check(self)
    }
}
