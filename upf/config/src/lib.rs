//! The UPF's configuration.
use martlet_board::GovernorConfig;
use martlet_config::Finding;
use martlet_upf_rules::RuleLimits;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

mod board;
mod check;
mod perimeter;
mod pool;
mod predefined;
mod switch;
mod telemetry;
mod xdp;

pub use board::{BoardSection, SimulatedConfig};
pub use perimeter::{AllowedService, Network, NetworkError, ServiceProtocol};
pub use pool::{Pool, PoolError, pool6};
pub use predefined::PredefinedRuleConfig;
pub use switch::network;
pub use switch::{OffloadPolicy, OffloadRule, SwitchConfig, SwitchEngine, SwitchRun};
pub use telemetry::TelemetryConfig;
pub use xdp::{MAX_UPLINK_CPUS, XdpConfig, XdpMode, XdpNatConfig};

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
    /// Maximum number of rules of one session.
    pub rules: RuleLimits,
    /// The datapath.
    pub datapath: DatapathChoice,
    /// Bounds of the `kernel` datapath.
    pub kernel: KernelLimits,
    /// The `xdp` datapath.
    pub xdp: XdpConfig,
    /// Telemetry.
    pub telemetry: TelemetryConfig,
    /// The board that it runs on.
    pub board: BoardSection,
    /// The thermal governor.
    pub governor: GovernorConfig,
    /// The `switch` datapath.
    pub switch: SwitchConfig,
    /// Rules that SMFs activate by name (TS 29.244, 5.19).
    pub predefined_rules: Vec<PredefinedRuleConfig>,
}

/// The datapath.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatapathChoice {
    /// A socket and a TUN device: runs everywhere.
    #[default]
    Kernel,
    /// XDP programs.
    Xdp,
    /// A programmable switch in front of one of the other datapaths.
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
    /// SMFs: addresses, or networks, from which associations are accepted. Left empty, those of
    /// this machine's loopback interface; `martlet` takes the address of `smf.n4.bind`.
    pub allow: Vec<Network>,
    /// Port of the SMF to which requests go, and from which one on the loopback sends; 8805 except
    /// in a lab.
    pub peer_port: u16,
    /// T1: milliseconds until a request is retransmitted.
    pub t1_ms: u64,
    /// N1: transmissions of a request in total.
    pub n1: u8,
    /// Seconds between heartbeats to an SMF; 0 sends none.
    pub heartbeat_s: u64,
    /// Seconds for which sessions of an unreachable SMF are retained.
    pub retention_s: u64,
    /// SMFs with an association at a time.
    pub associations: usize,
    /// Sessions at a time.
    pub sessions: usize,
    /// Pending requests and cached responses at a time.
    pub transactions: usize,
    /// Applications with packet flow descriptions at a time.
    pub applications: usize,
    /// Flow descriptions of one application.
    pub flows_per_application: usize,
    /// Trusted DNS servers. Applications that PFDs describe by domain names get their addresses
    /// from these servers' responses to UEs. Without any, such PFDs are rejected: an untrusted
    /// server could decide what an application is.
    pub name_servers: Vec<IpAddr>,
    /// Learned addresses of one application, in addition to its flow descriptions.
    pub addresses_per_application: usize,
    /// Minimum lifetime of a learned address in seconds, whatever the TTL, since flows may outlive
    /// it.
    pub dns_min_hold_s: u64,
    /// Load in per cent from which SMFs are requested to send fewer new sessions; at 100 none.
    pub overload_percent: u8,
    /// Validity of that request in seconds.
    pub overload_s: u64,
    /// Seconds that a stopping UPF waits for SMFs to move their sessions; 0: it does not wait.
    pub graceful_release_s: u64,
    /// Refuse deviations of SMFs that are tolerated otherwise.
    pub strict: bool,
    /// Seconds without packets after which traffic has stopped, for URRs that report starts and
    /// stops and have no Inactivity Detection Time.
    pub traffic_stop_s: u64,
}

impl Default for N4Config {
    fn default() -> Self {
        N4Config {
            address: SocketAddr::from(([127, 0, 0, 8], martlet_pfcp::PORT)),
            node_id: None,
            allow: Vec::new(),
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
            dns_min_hold_s: 300,
            overload_percent: 90,
            overload_s: 10,
            graceful_release_s: 0,
            strict: false,
            traffic_stop_s: 30,
        }
    }
}

/// N3 and N9: GTP-U.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N3Config {
    /// Address of GTP-U over UDP; the IP is used in F-TEIDs. Port 2152 except in a lab.
    pub address: SocketAddr,
    /// IPv6 address of GTP-U in addition: F-TEIDs then have both addresses. Without it N3 and N9
    /// use the IP version of `address`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address6: Option<Ipv6Addr>,
    /// Name of the network namespace of the socket, as `ip netns` has it. Left out, that of the
    /// process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// Seconds after the start in which packets of unknown tunnels are dropped without an Error
    /// Indication, while SMFs restore their sessions (TS 23.527, 4.3.2). Longer than their
    /// heartbeat interval.
    pub restoration_s: u64,
    /// Networks of gNBs and UPFs. Packets of others are dropped, and tunnels to others rejected.
    /// Left empty, peers are those to which some session has a tunnel, and others are accepted only
    /// in tunnels of sessions that have no tunnel to a gNB yet.
    pub allow: Vec<Network>,
    /// The accepted senders of a session's uplink packets.
    pub source_check: SourceCheck,
    /// Error Indications per second to one peer.
    pub error_indications_per_peer: u32,
    /// Uplink G-PDUs without a QFI (TS 38.415) match no PDR that has QFIs. Otherwise they match the
    /// default QoS flow.
    pub require_qfi: bool,
}

/// The accepted senders on N3 of a session's uplink packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceCheck {
    /// The gNB that receives the session's downlink, or did until a moment ago. Packets of other
    /// senders wait half a second for a path switch to them.
    #[default]
    Session,
    /// Any peer: for gNBs that send from an address other than the one at which they receive.
    Peer,
    /// Any sender that knows the TEID.
    Off,
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
            allow: Vec::new(),
            source_check: SourceCheck::Session,
            error_indications_per_peer: 10,
            require_qfi: false,
        }
    }
}

/// Maximum number of network instances of N6; equal to `bpf/structs.h`.
pub const MAX_NETWORK_INSTANCES: usize = 7;

/// How N6 reaches the data network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum N6Mode {
    /// The machine routes between the device and its other interfaces. The data network needs a
    /// route to the UEs.
    Routing,
    /// As routing, with NAT of UE addresses to the machine's.
    Nat,
    /// The interface is created without forwarding: UEs reach the machine only.
    Local,
    /// No interface: UEs reach each other, other packets are dropped.
    None,
}

/// N6: a TUN device, or none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N6Config {
    /// Name of the TUN device, created at the start and removed at the end.
    pub interface: String,
    /// How the data network is reached.
    pub mode: N6Mode,
    /// MTU in bytes. With 1400 an encapsulated packet fits a link of 1500.
    pub mtu: u16,
    /// With `mode: nat` by the kernel: flows that one UE may have at a time; 0: any number. Needs
    /// `nft`.
    pub nat_flows_per_ue: u32,
    /// IPv6 networks of UEs, as `fd45::/48`. The first address of each becomes the TUN device's.
    /// They are routed, not translated.
    pub pools6: Vec<String>,
    /// Name of the network namespace of the device, as `ip netns` has it. Left out, that of the
    /// process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// Data networks of Ethernet sessions, each with a TAP device. In others UEs reach each other
    /// alone.
    pub ethernet: Vec<EthernetConfig>,
    /// Network instances with an interface of their own, selected by the network instance of the
    /// FAR. All other packets follow the kernel's routes.
    pub network_instances: Vec<NetworkInstanceConfig>,
    /// Forwarding policies, which FARs name.
    pub forwarding_policies: Vec<ForwardingPolicyConfig>,
    /// Networks that UEs may not reach, in addition to the addresses of this machine and of the
    /// core: those of N2, N3, N4 and N9, for example.
    pub deny: Vec<Network>,
    /// Exceptions, which UEs may reach.
    pub allow: Vec<AllowedService>,
    /// Addresses of the core that other sections of the configuration name.
    #[serde(skip)]
    pub core: Vec<IpAddr>,
}

/// A data network of Ethernet sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EthernetConfig {
    /// Its name; equal to the network instance of PDRs.
    pub dnn: String,
    /// Name of the TAP device, created at the start and removed at the end. Add it to a bridge to
    /// connect other hosts.
    pub interface: String,
    /// MAC addresses of gateways behind the device, such as `02:00:00:00:00:01`. No UE may send
    /// with them, nor with that of the device itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<String>,
}

/// The bytes of a MAC address of one station, such as `02:00:00:00:00:01`.
pub fn mac_address(text: &str) -> Option<[u8; 6]> {
    let byte = |text: &str| u8::from_str_radix(text, 16).ok().filter(|_| text.len() == 2);
    let bytes: Vec<u8> = text.split(':').map(byte).collect::<Option<_>>()?;
    let address: [u8; 6] = bytes.try_into().ok()?;
    (address[0] & 1 == 0).then_some(address)
}

/// A network instance of N6.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkInstanceConfig {
    /// Network instance of FARs (TS 29.244, 8.2.4).
    pub network_instance: String,
    /// The interface that they leave by; with the datapath `xdp` one of `xdp.interfaces`, or they
    /// go through the kernel.
    pub interface: String,
    /// The router there. Left out, hosts are on the link itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Ipv4Addr>,
}

/// A forwarding policy: traffic leaves by a network instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardingPolicyConfig {
    /// Forwarding Policy Identifier of FARs (TS 29.244, 8.2.23).
    pub name: String,
    /// One of `network_instances`. Left out, the kernel's routes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_instance: Option<String>,
}

impl N6Config {
    /// Names of the network instances, in order.
    pub fn network_instance_names(&self) -> Vec<Vec<u8>> {
        self.network_instances
            .iter()
            .map(|instance| martlet_pfcp::ie::NetworkInstance::new(&instance.network_instance).0)
            .collect()
    }
}

impl Default for N6Config {
    fn default() -> Self {
        N6Config {
            interface: "martlet-n6".into(),
            mode: N6Mode::Nat,
            mtu: 1400,
            nat_flows_per_ue: 1024,
            pools6: vec!["fd45::/48".into()],
            netns: None,
            ethernet: Vec::new(),
            network_instances: Vec::new(),
            forwarding_policies: Vec::new(),
            deny: Vec::new(),
            allow: Vec::new(),
            core: Vec::new(),
        }
    }
}

/// A data network.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnnConfig {
    /// Its name; equal to the network instance of PDRs.
    pub name: String,
    /// Addresses of UEs, as `10.45.0.0/16`. The first of them becomes that of the TUN device.
    #[serde(default)]
    pub pools: Vec<String>,
    /// The UPF may allocate UE addresses of these pools, and IPv6 prefixes of `n6.pools6`, on
    /// request of SMFs (TS 29.244, 5.21). SMFs allocate none of them then.
    #[serde(default)]
    pub allocate: bool,
    /// What happens to packets and frames of its UEs to other UEs, and of others to its UEs.
    #[serde(default)]
    pub ue_to_ue: UeToUe,
}

/// What happens to packets between UEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum UeToUe {
    /// The UPF forwards them itself, unless `local_switching` of the datapath is false.
    #[default]
    Allow,
    /// They leave over N6, where a router or switch returns or drops them.
    Hairpin,
    /// They are dropped.
    Deny,
}

/// The text of a network instance.
fn plain(network: &[u8]) -> Vec<u8> {
    let (mut rest, mut labels) = (network, Vec::new());
    while let Some((length, tail)) = rest.split_first() {
        let Some((label, next)) = tail.split_at_checked(usize::from(*length)) else {
            return network.to_vec();
        };
        labels.push(label);
        rest = next;
    }
    labels.join(&b'.')
}

/// [`UeToUe`] of each data network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UeToUeOfNetworks(Vec<(Vec<u8>, UeToUe)>);

impl UeToUeOfNetworks {
    /// The setting of a network instance.
    pub fn of(&self, network: Option<&[u8]>) -> UeToUe {
        // Network instances are text or labels with lengths (TS 23.003, 9.1).
        let is_it = |(name, _): &&(Vec<u8>, UeToUe)| {
            network.is_some_and(|network| plain(network).eq_ignore_ascii_case(&plain(name)))
        };
        let found = self.0.iter().find(is_it);
        found.map_or(UeToUe::Allow, |(_, ue_to_ue)| *ue_to_ue)
    }

    /// Whether packets to other UEs have to be checked: some network does not allow them.
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Bounds of the `kernel` datapath.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelLimits {
    /// Sessions at a time.
    pub sessions: usize,
    /// Limit of buffered packets per UE; a BAR may suggest fewer.
    pub buffer_packets_per_session: usize,
    /// Limit of buffered packets of all UEs.
    pub buffer_packets: usize,
    /// Error Indications and other unsolicited GTP-U messages per second.
    pub error_indications_per_second: u32,
    /// Burst size as milliseconds at the maximum bit rate.
    pub mbr_burst_ms: u64,
    /// Whether packets between two UEs are switched locally; else they leave over N6 and return.
    pub local_switching: bool,
    /// Link addresses that one Ethernet session may have.
    pub link_addresses: usize,
    /// Limit of events queued for N4.
    pub events: usize,
    /// Bytes of the sockets' buffers.
    pub socket_buffer: usize,
    /// Packets that the queue of an N6 device holds. The kernel's default of 500 is full after a
    /// few milliseconds without CPU time.
    pub device_queue: u32,
    /// Superframes on N6 and segmentation on N3.
    pub offload: Offload,
}

/// Whether packets of a flow pass the kernel together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offload {
    /// As far as the kernel takes part. A program that reads frames from a veth receives frames
    /// larger than the MTU.
    Auto,
    /// Each packet alone.
    #[default]
    Off,
}

impl Default for KernelLimits {
    fn default() -> Self {
        KernelLimits {
            sessions: 65_536,
            buffer_packets_per_session: 256,
            buffer_packets: 65_536,
            error_indications_per_second: 100,
            mbr_burst_ms: 100,
            local_switching: true,
            link_addresses: 64,
            events: 4096,
            socket_buffer: 4 << 20,
            device_queue: 4096,
            offload: Offload::Off,
        }
    }
}

impl KernelLimits {
    /// The burst of a rate as time.
    pub fn mbr_burst(&self) -> Duration {
        Duration::from_millis(self.mbr_burst_ms)
    }
}

impl UpfConfig {
    /// Pools of all data networks; those of the default data network where none is configured.
    pub fn pools(&self) -> Vec<Pool> {
        let configured =
            self.dnns.iter().flat_map(|dnn| &dnn.pools).filter_map(|text| Pool::parse(text).ok());
        let pools: Vec<Pool> = configured.collect();
        match self.dnns.iter().all(|dnn| dnn.pools.is_empty()) {
            true => vec![Pool { network: Ipv4Addr::new(10, 45, 0, 0), prefix: 16 }],
            false => pools,
        }
    }

    /// IPv6 networks of UEs: the address of the TUN device, and the length of the prefix.
    pub fn pools6(&self) -> Vec<(Ipv6Addr, u8)> {
        self.n6.pools6.iter().filter_map(|text| pool6(text)).collect()
    }

    /// What happens to packets between UEs, by network.
    pub fn ue_to_ue(&self) -> UeToUeOfNetworks {
        let other = self.dnns.iter().filter(|dnn| dnn.ue_to_ue != UeToUe::Allow);
        let name = |dnn: &DnnConfig| martlet_pfcp::ie::NetworkInstance::new(&dnn.name).0;
        UeToUeOfNetworks(other.map(|dnn| (name(dnn), dnn.ue_to_ue)).collect())
    }

    /// Checks it.
    pub fn check(&self) -> Vec<Finding> {
        check::check(self)
    }
}
