//! The `switch` datapath's configuration.
use super::{DatapathChoice, UpfConfig};
use crate::N6Mode;
use martlet_config::Finding;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The `switch` datapath: a native one, and a programmable switch in front of it to which sessions
/// are offloaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchConfig {
    /// The native UPF: `kernel` or `xdp`.
    pub native: DatapathChoice,
    /// Where the switch serves P4Runtime.
    pub address: SocketAddr,
    /// Number of the device in P4Runtime.
    pub device: u64,
    /// Name of the network namespace of the switch, as `ip netns` has it. Left out, that of the
    /// process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// The switch process that the UPF starts. Left out, one runs already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<SwitchRun>,
    /// File of the token that the switch requires from its controllers. A switch on another machine
    /// needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// The engine of the switch that the UPF starts.
    pub engine: SwitchEngine,
    /// Which sessions the switch carries.
    pub policy: OffloadPolicy,
    /// Data networks whose sessions are offloaded, with policy `dnn`.
    pub dnns: Vec<String>,
    /// Sessions to offload, with policy `rule`: those that match one of these.
    pub rules: Vec<OffloadRule>,
    /// Sessions that it carries at a time.
    pub sessions: usize,
    /// Interval in milliseconds at which the sessions' rates are measured.
    pub sample_ms: u64,
    /// Kilobits per second above which a session is hot.
    pub hot_kbps: u64,
    /// Kilobits in a second below which a session on the switch is cold.
    pub cold_kbps: u64,
    /// Milliseconds for which a session must be hot before it is offloaded.
    pub hot_ms: u64,
    /// Milliseconds for which a session must be cold before it is moved back.
    pub cold_ms: u64,
    /// Minimum time in milliseconds that a moved session stays where it is.
    pub stay_ms: u64,
    /// If the table is full, a session replaces another one whose rate is lower by this factor.
    pub displace: u64,
    /// Milliseconds without a packet of a session after which the native UPF has none of it left,
    /// while the session moves.
    pub settle_ms: u64,
    /// The native UPF handles sessions whose remaining volume quota is below this number of
    /// kilobytes or ten seconds' worth, and enforces the quota to the byte. The switch has no
    /// quotas: its sessions' usage is polled.
    pub quota_margin_kb: u64,
    /// The router towards the data network. Left out, that of the default route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_next_hop: Option<Ipv4Addr>,
    /// The same of IPv6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_next_hop_v6: Option<Ipv6Addr>,
}

/// The switch process and its interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchRun {
    /// The program. Default: `martlet-switch` beside this program, or in PATH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// Interface towards gNBs. `xdp:IF` and `packet:IF` select how frames are received; the default
    /// is AF_XDP where it works.
    pub access: String,
    /// Interface towards the native UPF, on the wire of N3.
    pub native_n3: String,
    /// Interface towards the data network.
    pub core: String,
    /// Interface towards the native UPF, on the wire of N6.
    pub native_n6: String,
    /// Microseconds for which the switch polls for packets before it sleeps. A large number uses a
    /// whole CPU and keeps latency low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin_us: Option<u64>,
    /// Folder in which the switch stores rules and counters. Without it, they are lost at a
    /// restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PathBuf>,
}

/// The engine of the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SwitchEngine {
    /// DPDK's software switch, in the switch's own process.
    #[default]
    Swx,
    /// The kernel: XDP programs at the ports.
    Xdp,
}

impl SwitchEngine {
    /// The name in the switch process's arguments.
    pub fn name(self) -> &'static str {
        match self {
            SwitchEngine::Swx => "swx",
            SwitchEngine::Xdp => "xdp",
        }
    }
}

/// Which sessions a switch carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OffloadPolicy {
    /// None: rules are managed by hand.
    None,
    /// All that it can.
    All,
    /// Sessions that match a rule.
    Rule,
    /// Sessions of some data networks.
    Dnn,
    /// Sessions that are hot.
    #[default]
    Hot,
}

/// The conditions on a session; omitted ones always match.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OffloadRule {
    /// The network of the UE, as `10.45.1.0/24`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ue: Option<String>,
    /// The network of the gNB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnb: Option<String>,
    /// The QoS flow, or one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qfi: Option<u8>,
}

impl Default for SwitchConfig {
    fn default() -> Self {
        SwitchConfig {
            native: DatapathChoice::Kernel,
            address: SocketAddr::from(([127, 0, 0, 1], 9559)),
            device: 1,
            netns: None,
            run: None,
            token_file: None,
            engine: SwitchEngine::Swx,
            policy: OffloadPolicy::Hot,
            dnns: Vec::new(),
            rules: Vec::new(),
            sessions: 65_536,
            sample_ms: 50,
            hot_kbps: 10_000,
            cold_kbps: 1_000,
            hot_ms: 150,
            cold_ms: 5_000,
            stay_ms: 1_000,
            displace: 2,
            settle_ms: 10,
            quota_margin_kb: 65_536,
            core_next_hop: None,
            core_next_hop_v6: None,
        }
    }
}

impl SwitchConfig {
    /// Interval between samples of the session counters.
    pub fn sample(&self) -> Duration {
        Duration::from_millis(self.sample_ms)
    }
}

/// A network of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffloadNetwork {
    first: IpAddr,
    prefix: u32,
}

impl OffloadNetwork {
    /// Whether an address is in it.
    pub fn has(&self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                (first.to_bits() ^ address.to_bits()).checked_shr(32 - self.prefix).unwrap_or(0)
                    == 0
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                (first.to_bits() ^ address.to_bits()).checked_shr(128 - self.prefix).unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }
}

/// Parses `10.45.1.0/24` or `fd70::/64`, or a single address; host bits must be 0.
pub fn network(text: &str) -> Option<OffloadNetwork> {
    let (address, prefix) =
        text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let first: IpAddr = address.parse().ok()?;
    let bits = if first.is_ipv4() { 32 } else { 128 };
    let prefix =
        prefix.map_or(Some(bits), |prefix| prefix.parse().ok().filter(|prefix| *prefix <= bits))?;
    let behind = match first {
        IpAddr::V4(first) => {
            u128::from(first.to_bits()) & !u128::MAX.checked_shl(32 - prefix).unwrap_or(0)
        }
        IpAddr::V6(first) => first.to_bits() & !u128::MAX.checked_shl(128 - prefix).unwrap_or(0),
    };
    (behind == 0).then_some(OffloadNetwork { first, prefix })
}

/// Number of sessions that always fit the tables of the switch.
const MAX_SESSIONS: usize = 131_072;

pub(super) fn check(config: &UpfConfig, findings: &mut Vec<Finding>) {
    let mut find = |path: &str, message: String| {
        findings.push(Finding::new(format!("switch.{path}"), message))
    };
    let switch = &config.switch;
    if switch.native == DatapathChoice::Switch {
        find("native", "the native UPF of a switch is kernel or xdp".into());
    }
    for (path, value, default) in [
        ("sample_ms", switch.sample_ms, 50),
        ("displace", switch.displace, 2),
        ("settle_ms", switch.settle_ms, 10),
        ("sessions", switch.sessions as u64, 65_536),
    ] {
        if value == 0 {
            find(path, format!("0 is not possible: write {default}"));
        }
    }
    if switch.sessions > MAX_SESSIONS {
        find(
            "sessions",
            format!(
                "{} exceeds the switch's tables: write {MAX_SESSIONS} or less",
                switch.sessions
            ),
        );
    }
    // Packets held for more than 250 ms are sent to the native UPF.
    if switch.settle_ms > 50 {
        find(
            "settle_ms",
            format!(
                "{} is longer than packets can be held: write 50 or less, best 10",
                switch.settle_ms
            ),
        );
    }
    if switch.cold_kbps > switch.hot_kbps {
        find(
            "cold_kbps",
            "the cold threshold must be below the hot threshold, or sessions oscillate: write 1000"
                .into(),
        );
    }
    if switch.policy == OffloadPolicy::Dnn && switch.dnns.is_empty() {
        find("dnns", "policy dnn needs names of data networks: write [internet]".into());
    }
    if switch.policy == OffloadPolicy::Rule && switch.rules.is_empty() {
        find("rules", "policy rule needs rules: write [{ue: 10.45.0.0/24}]".into());
    }
    for (n, rule) in switch.rules.iter().enumerate() {
        for (name, text) in [("ue", &rule.ue), ("gnb", &rule.gnb)] {
            if let Some(text) = text.as_deref().filter(|text| network(text).is_none()) {
                find(
                    &format!("rules[{n}].{name}"),
                    format!("{text:?} is no network: write 10.45.0.0/24"),
                );
            }
        }
        if rule.qfi.is_some_and(|qfi| !(1..=63).contains(&qfi)) {
            find(&format!("rules[{n}].qfi"), "a QoS flow is 1 to 63: write 9".into());
        }
    }
    if config.datapath != DatapathChoice::Switch {
        return;
    }
    if config.n6.mode != N6Mode::Routing {
        findings.push(Finding::new(
            "n6.mode",
            "the switch routes and does not translate addresses: write routing, and translate \
             behind it",
        ));
    }
    if config.n3.address.port() != martlet_gtpu::PORT {
        let message = format!("the switch detects GTP-U by its port: write {}", martlet_gtpu::PORT);
        findings.push(Finding::new("n3.address", message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each direction of a session has an entry, a counter and, with a bit rate, a meter.
    #[test]
    fn the_program_has_room_for_the_sessions_that_may_be_asked_for() {
        let info = martlet_p4c_swx::compile(martlet_switch_control::UPF).unwrap().info;
        for name in ["gtp_decap", "gtp_encap", "gtp_encap_v6"] {
            let table = info.tables.iter().find(|table| table.alias == name).unwrap();
            assert!(table.size as usize >= MAX_SESSIONS, "{name}");
        }
        assert!(info.counters[0].size as usize / 2 >= MAX_SESSIONS);
        assert!(info.meters[0].size as usize / 2 >= MAX_SESSIONS);
    }

    #[test]
    fn unsupported_settings_of_a_switch_are_reported() {
        let mut config = UpfConfig { datapath: DatapathChoice::Switch, ..UpfConfig::default() };
        config.n6.mode = N6Mode::Routing;
        assert_eq!(config.check(), []);
        config.n6.mode = N6Mode::Nat;
        config.n3.address = "[::1]:2153".parse().unwrap();
        config.switch.native = DatapathChoice::Switch;
        config.switch.settle_ms = 200;
        config.switch.cold_kbps = config.switch.hot_kbps + 1;
        config.switch.policy = OffloadPolicy::Rule;
        config.switch.rules =
            vec![OffloadRule { ue: Some("10.45.0.1/24".into()), gnb: None, qfi: Some(64) }];
        let paths: Vec<String> = config.check().into_iter().map(|finding| finding.path).collect();
        let of = |name: &str| format!("switch.{name}");
        assert_eq!(
            paths,
            [
                &of("native"),
                &of("settle_ms"),
                &of("cold_kbps"),
                &of("rules[0].ue"),
                &of("rules[0].qfi"),
                "n6.mode",
                "n3.address"
            ]
        );
    }

    #[test]
    fn networks_are_read() {
        let has = |text: &str, address: &str| network(text).unwrap().has(address.parse().unwrap());
        assert!(has("10.45.0.0/16", "10.45.7.7") && !has("10.45.0.0/16", "10.46.0.0"));
        assert!(has("10.45.0.1", "10.45.0.1") && !has("10.45.0.1", "10.45.0.2"));
        assert!(has("0.0.0.0/0", "8.8.8.8") && !has("0.0.0.0/0", "::1"));
        assert!(
            has("fd70::/64", "fd70::7") && !has("fd70::/64", "fd70:1::7") && has("::/0", "::1")
        );
        assert_eq!(
            (network("10.45.0.1/16"), network("x"), network("10.0.0.0/33")),
            (None, None, None)
        );
        assert_eq!((network("fd70::1/64"), network("fd70::/129")), (None, None));
    }
}
