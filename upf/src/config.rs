//! The UPF's configuration.
use crate::rules::RuleLimits;
use martlet_config::Finding;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

mod check;

/// Everything that the UPF reads: section `upf`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpfConfig {
    /// Towards the SMF.
    pub n4: N4Config,
    /// Towards gNBs and other UPFs.
    pub n3: N3Config,
    /// Towards the data network.
    pub n6: N6Config,
    /// What is bounded, and where.
    pub limits: Limits,
    /// Largest packet of a UE in octets. With 1400 a packet fits into its tunnel over a link of 1500.
    pub mtu: u16,
}

impl Default for UpfConfig {
    fn default() -> Self {
        UpfConfig {
            n4: N4Config::default(),
            n3: N3Config::default(),
            n6: N6Config::default(),
            limits: Limits::default(),
            mtu: 1400,
        }
    }
}

/// N4: PFCP with the SMF.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N4Config {
    /// Address at which PFCP is served; it is put into F-SEIDs.
    pub bind: IpAddr,
    /// UDP port; 8805 but in a lab.
    pub port: u16,
    /// Node ID: an address or a host name. Left out, it is `bind`.
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
    /// Requests under way and answers kept for repetition at a time.
    pub transactions: usize,
}

impl Default for N4Config {
    fn default() -> Self {
        N4Config {
            bind: IpAddr::from([127, 0, 0, 8]),
            port: martlet_pfcp::PORT,
            node_id: None,
            peer_port: martlet_pfcp::PORT,
            t1_ms: 1000,
            n1: 3,
            heartbeat_s: 10,
            retention_s: 60,
            associations: 16,
            transactions: 10_000,
        }
    }
}

impl N4Config {
    /// Where PFCP is served.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.bind, self.port)
    }
}

/// N3 and N9: GTP-U.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N3Config {
    /// Address at which GTP-U is served; it is put into F-TEIDs.
    pub bind: Ipv4Addr,
    /// UDP port; 2152 but in a lab. Packets go to this port of gNBs too.
    pub port: u16,
}

impl Default for N3Config {
    fn default() -> Self {
        N3Config { bind: Ipv4Addr::new(127, 0, 0, 8), port: martlet_gtpu::PORT }
    }
}

/// How N6 reaches the data network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum N6Mode {
    /// The machine routes between the interface and its others; the data network has a route back.
    Routing,
    /// As routing, and addresses of UEs are translated to those of the machine on their way out.
    Nat,
    /// There is no interface: packets for the data network are dropped and counted.
    None,
}

/// N6: a TUN device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N6Config {
    /// Name of the TUN device; it is made at start and gone at the end.
    pub interface: String,
    /// How the data network is reached.
    pub mode: N6Mode,
    /// Addresses of UEs.
    pub pools: Vec<PoolConfig>,
}

impl Default for N6Config {
    fn default() -> Self {
        let pool = PoolConfig { dnn: "internet".into(), cidr: "10.45.0.0/16".into(), gateway: None };
        N6Config { interface: "martlet-n6".into(), mode: N6Mode::Nat, pools: vec![pool] }
    }
}

/// Addresses of the UEs of a data network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    /// Name of the data network.
    pub dnn: String,
    /// The addresses, as `10.45.0.0/16`.
    pub cidr: String,
    /// Address of the TUN device in the pool. Left out, it is the first of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Ipv4Addr>,
}

/// What is bounded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Sessions at a time.
    pub max_sessions: usize,
    /// Rules of one kind in one session: PDRs, FARs, QERs and URRs.
    pub max_rules_per_session: usize,
    /// Packets that wait for one UE; a BAR may suggest fewer.
    pub buffer_packets_per_session: usize,
    /// Packets that wait for all UEs.
    pub buffer_packets: usize,
    /// Error Indications and extension header notifications sent in a second.
    pub complaints_per_second: u32,
    /// Milliseconds of its maximum bit rate that a flow may send at once.
    pub mbr_burst_ms: u64,
    /// Events of the datapath that wait for N4.
    pub events: usize,
    /// Octets of the buffers of the N3 socket.
    pub socket_buffer: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_sessions: 20_000,
            max_rules_per_session: 64,
            buffer_packets_per_session: 64,
            buffer_packets: 10_000,
            complaints_per_second: 100,
            mbr_burst_ms: 100,
            events: 4096,
            socket_buffer: 4 << 20,
        }
    }
}

impl Limits {
    pub(crate) fn mbr_burst(&self) -> Duration {
        Duration::from_millis(self.mbr_burst_ms)
    }

    pub(crate) fn rules(&self) -> RuleLimits {
        let most = self.max_rules_per_session;
        RuleLimits { pdrs: most, fars: most, qers: most, urrs: most, ..RuleLimits::default() }
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

    /// The first host of the pool.
    pub fn first(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() | 1)
    }

    /// Whether an address is one of the pool.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        (self.network.to_bits() ^ address.to_bits()) >> (32 - u32::from(self.prefix)) == 0
    }
}

impl PoolConfig {
    /// The pool, and the address of the TUN device in it.
    pub fn read(&self) -> Result<(Pool, Ipv4Addr), String> {
        let pool = Pool::parse(&self.cidr)?;
        let gateway = self.gateway.unwrap_or(pool.first());
        match pool.contains(gateway) && gateway != pool.network {
            true => Ok((pool, gateway)),
            false => Err(format!("the gateway {gateway} is no host of {}: write {}", self.cidr, pool.first())),
        }
    }
}

impl UpfConfig {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        check::check(self)
    }
}
