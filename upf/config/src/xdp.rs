//! The `xdp` datapath's configuration.
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// How programs are attached to interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum XdpMode {
    /// Native if the driver supports it, else generic.
    #[default]
    Auto,
    /// In the driver, or not at all.
    Native,
    /// In the network stack, after the driver.
    Generic,
}

/// Maximum of `uplink_cpus`; equal to `bpf/structs.h`.
pub const MAX_UPLINK_CPUS: usize = 32;

/// The `xdp` datapath.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XdpConfig {
    /// Interfaces towards gNBs and, to bypass the kernel, data networks. Default: the one with the
    /// address of N3.
    pub interfaces: Vec<String>,
    /// How programs are attached.
    pub mode: XdpMode,
    /// Directory in the BPF file system, as `/sys/fs/bpf/martlet`, where attached programs are
    /// pinned. After a crash they keep forwarding, and the next process takes them over once its
    /// SMF has restored the sessions. Without it programs end with the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<PathBuf>,
    /// Whether packets to data networks are redirected without the kernel, by its routes. Packets
    /// that need NAT, neighbour resolution or an ICMP reply go through the kernel in any case.
    pub direct: bool,
    /// CPUs that process packets from tunnels, by a hash of the inner flow, at most 32; 0 for all,
    /// 1 for the CPU that receives a packet, which is the same for all packets of a gNB. More than
    /// one needs interfaces in native mode.
    pub uplink_cpus: u32,
    /// Sessions at a time.
    pub sessions: u32,
    /// PDRs of all sessions at a time; as many may have a bit rate.
    pub rules: u32,
    /// SDF filters of all sessions at a time.
    pub filters: u32,
    /// Frames of the AF_XDP socket of each receive queue, for packets to buffer; a power of two, 2
    /// KiB each. Overflow uses the ring; 0: ring only.
    pub sockets: u32,
    /// Size in bytes of the ring for packets to buffer; a power of two.
    pub ring: u32,
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
    /// Limit of events queued for N4.
    pub events: usize,
    /// Bytes of the socket's buffers.
    pub socket_buffer: usize,
    /// Translation of addresses by the programs.
    pub nat: XdpNatConfig,
}

/// Translation of the IPv4 addresses of UEs by the programs, with `n6.mode: nat`. Without addresses
/// the kernel translates, to those of its interfaces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XdpNatConfig {
    /// Public addresses, at most 8. A UE always has the same one. The UPF adds those that the
    /// machine does not have yet.
    pub addresses: Vec<Ipv4Addr>,
    /// The first port that UEs get. Where the machine has the address for itself too, its own
    /// sockets must not use these.
    pub first_port: u16,
    /// The last port that UEs get.
    pub last_port: u16,
    /// Flows at a time.
    pub flows: u32,
    /// Flows of one UE at a time.
    pub flows_per_ue: u32,
    /// Whether packets of any host to the public port of a UE reach it; otherwise only those of
    /// hosts that the port sent to. Hosts begin flows up to half of `flows` and `flows_per_ue`.
    pub full_cone: bool,
    /// Seconds for which a TCP connection lives without a packet (RFC 5382, REQ-5).
    pub tcp_established_s: u32,
    /// As `tcp`, while the connection is being opened or closed.
    pub tcp_transitory_s: u32,
    /// The same for UDP (RFC 4787, REQ-5).
    pub udp_s: u32,
    /// As `udp`, for flows without a response.
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
            uplink_cpus: 1,
            sessions: 65_536,
            rules: 196_608,
            filters: 65_536,
            sockets: 512,
            ring: 2 << 20,
            buffer_packets_per_session: 256,
            buffer_packets: 65_536,
            error_indications_per_second: 100,
            mbr_burst_ms: 100,
            local_switching: true,
            events: 4096,
            socket_buffer: 1 << 20,
            nat: XdpNatConfig::default(),
        }
    }
}

impl XdpConfig {
    /// The burst of a rate as time.
    pub fn mbr_burst(&self) -> Duration {
        Duration::from_millis(self.mbr_burst_ms)
    }
}
