//! The SMF's section of the configuration.
use crate::packet_filter::PacketFilter;
use martlet_config::Finding;
use martlet_context_store::ContextStoreConfig;
use martlet_nf::{SetMember, nf_set};
use martlet_sbi_api::common::Snssai;
use martlet_store::{Secret, Subscriber, UpSecurityPolicy};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// A slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceConfig {
    /// Slice or service type.
    pub sst: u8,
    /// Slice differentiator, 24 bits: six hexadecimal digits.
    #[serde(default, with = "differentiator", skip_serializing_if = "Option::is_none")]
    pub sd: Option<u32>,
}

/// A slice differentiator as everywhere in the configuration: six hexadecimal digits.
mod differentiator {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(sd: &Option<u32>, to: S) -> Result<S::Ok, S::Error> {
        match sd {
            Some(sd) => to.serialize_str(&format!("{sd:06x}")),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        match u32::from_str_radix(&text, 16) {
            Ok(sd) if text.len() == 6 => Ok(Some(sd)),
            _ => Err(D::Error::custom(format!(
                "{text:?} is not a slice differentiator: write six hexadecimal digits, such as \
                 \"0000a7\""
            ))),
        }
    }
}

impl SliceConfig {
    /// In the form of the SBI.
    pub fn snssai(&self) -> Snssai {
        Snssai::new(self.sst, self.sd)
    }
}

/// A data network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DnnConfig {
    /// Data network name.
    pub name: String,
    /// IPv4 pool for UEs, such as `10.45.0.0/16`; the first address is the gateway's. Empty for
    /// none.
    pub pool: String,
    /// IPv6 pool such as `fd45::/48`, of which each session gets a /64; the first is the
    /// gateway's. Empty for none.
    pub pool6: String,
    /// DNS servers for UEs, IPv4 and IPv6.
    pub dns: Vec<IpAddr>,
    /// P-CSCF addresses for UEs (IMS).
    pub pcscf: Vec<IpAddr>,
    /// MTU for UEs, in bytes: 576 at least (RFC 791), and 1280 with `pool6` (RFC 8200).
    pub mtu: u16,
    /// Whether it supports Ethernet sessions.
    pub ethernet: bool,
    /// UDP endpoint for the data of unstructured sessions, such as `[fd99::1]:4000`. The session's
    /// address comes from `pool6`. If absent, unstructured sessions are rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstructured: Option<SocketAddrV6>,
    /// Whether all sessions are always-on (TS 23.501, 5.6.13); otherwise those whose UEs request
    /// it.
    pub always_on: bool,
    /// User plane security policy for subscriptions without one (TS 33.501, 6.6.1): `integrity`
    /// and `ciphering`, each `required`, `preferred` or `not_needed`. If absent, gNBs decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_security: Option<UpSecurityPolicy>,
}

impl Default for DnnConfig {
    fn default() -> Self {
        DnnConfig {
            name: String::new(),
            pool: String::new(),
            pool6: String::new(),
            dns: Vec::new(),
            pcscf: Vec::new(),
            mtu: default_mtu(),
            ethernet: false,
            unstructured: None,
            always_on: false,
            up_security: None,
        }
    }
}

fn default_mtu() -> u16 {
    1400
}

/// Smallest packet that every IPv4 host accepts, in bytes (RFC 791, 3.1).
const MIN_MTU_IPV4: u16 = 576;
/// Smallest MTU of a link with IPv6, in bytes (RFC 8200, 5).
const MIN_MTU_IPV6: u16 = 1280;

impl DnnConfig {
    /// Why UEs cannot use the MTU.
    fn wrong_mtu(&self) -> Option<String> {
        let (min, whose) = match self.pool6.is_empty() {
            true => (MIN_MTU_IPV4, "IPv4 needs"),
            false => (MIN_MTU_IPV6, "IPv6 (pool6) needs"),
        };
        (self.mtu < min)
            .then(|| format!("{} is less than {whose}: write {min} or more, best 1400", self.mtu))
    }
}

/// Why the text of an address pool is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// Not an IPv4 network.
    #[error("{0:?} is not an IPv4 network: write for example 10.45.0.0/16")]
    NotIpv4(String),
    /// Not an IPv6 network.
    #[error("{0:?} is not an IPv6 network: write for example fd45::/48")]
    NotIpv6(String),
    /// A prefix length that leaves too few or too many addresses.
    #[error("{text}: the prefix of a pool has {min} to {max} bits")]
    PrefixLength {
        /// The configured text.
        text: String,
        /// Shortest prefix.
        min: u8,
        /// Longest prefix.
        max: u8,
    },
    /// Bits are set after the prefix.
    #[error("{text}: not a network address: write {network}")]
    HostBits {
        /// The configured text.
        text: String,
        /// The network that contains the address.
        network: String,
    },
}

/// Network address and prefix length of an IPv4 pool.
pub(crate) type Ipv4Network = (Ipv4Addr, u8);
/// Network address and prefix length of an IPv6 pool.
pub(crate) type Ipv6Network = (Ipv6Addr, u8);

fn check_prefix(text: &str, length: u8, min: u8, max: u8) -> Result<(), PoolError> {
    match (min..=max).contains(&length) {
        true => Ok(()),
        false => Err(PoolError::PrefixLength { text: text.into(), min, max }),
    }
}

/// Reads an IPv4 pool such as `10.45.0.0/16`.
pub(crate) fn parse_ipv4(text: &str) -> Result<Ipv4Network, PoolError> {
    let parts = text.split_once('/').and_then(|(address, length)| {
        Some((address.parse::<Ipv4Addr>().ok()?, length.parse::<u8>().ok()?))
    });
    let (address, length) = parts.ok_or_else(|| PoolError::NotIpv4(text.into()))?;
    check_prefix(text, length, 8, 30)?;
    let network = Ipv4Addr::from(u32::from(address) & (u32::MAX << (32 - length)));
    if network != address {
        let network = format!("{network}/{length}");
        return Err(PoolError::HostBits { text: text.into(), network });
    }
    Ok((address, length))
}

/// Reads an IPv6 pool such as `fd45::/48`. Each session gets a /64 of it.
pub(crate) fn parse_ipv6(text: &str) -> Result<Ipv6Network, PoolError> {
    let parts = text.split_once('/').and_then(|(address, length)| {
        Some((address.parse::<Ipv6Addr>().ok()?, length.parse::<u8>().ok()?))
    });
    let (address, length) = parts.ok_or_else(|| PoolError::NotIpv6(text.into()))?;
    check_prefix(text, length, 32, 62)?;
    let network = Ipv6Addr::from(u128::from(address) & (u128::MAX << (128 - length)));
    if network != address {
        let network = format!("{network}/{length}");
        return Err(PoolError::HostBits { text: text.into(), network });
    }
    Ok((address, length))
}

/// Whether a subscription can have a data network of this name.
fn is_subscribable(dnn: &str) -> bool {
    Subscriber::new("imsi-001010000000001", Secret([0; 16]), Secret([0; 16]), dnn).check().is_ok()
}

/// A UPF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpfConfig {
    /// N4 address.
    pub n4: SocketAddr,
    /// Data networks that it serves; all if empty.
    #[serde(default)]
    pub dnns: Vec<String>,
    /// Slices that it serves; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceConfig>,
    /// Tracking areas for which it is preferred; no preference if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tacs: Vec<u32>,
    /// Service area: tracking areas whose gNBs reach it; all if empty. A session whose UE leaves
    /// it keeps the UPF as its anchor, behind an intermediate UPF (TS 23.502, 4.9.1).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_area: Vec<u32>,
}

impl UpfConfig {
    /// A UPF that serves every data network, slice and tracking area.
    pub fn at(n4: SocketAddr) -> Self {
        UpfConfig {
            n4,
            dnns: Vec::new(),
            slices: Vec::new(),
            tacs: Vec::new(),
            service_area: Vec::new(),
        }
    }
}

/// Limit for the number of sessions of a slice, or of a data network in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitConfig {
    /// Slice or service type.
    pub sst: u8,
    /// Slice differentiator, 24 bits: six hexadecimal digits.
    #[serde(default, with = "differentiator", skip_serializing_if = "Option::is_none")]
    pub sd: Option<u32>,
    /// The data network; empty for the whole slice.
    #[serde(default)]
    pub dnn: String,
    /// Maximum number of sessions.
    pub max_sessions: usize,
}

impl LimitConfig {
    /// Whether the limit counts sessions of that slice and data network.
    pub fn applies_to(&self, slice: Snssai, dnn: &str) -> bool {
        Snssai::new(self.sst, self.sd) == slice
            && (self.dnn.is_empty() || self.dnn.eq_ignore_ascii_case(dnn))
    }
}

/// An uplink classifier: a UPF before the anchor with its own access to the data network (TS
/// 23.501, 5.6.4.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BranchingConfig {
    /// Data network of the sessions that go through it.
    pub dnn: String,
    /// Tracking areas of their UEs; all if empty.
    #[serde(default)]
    pub tacs: Vec<u32>,
    /// N4 address of the UPF, which is among `upfs`.
    pub via: SocketAddr,
    /// Traffic that leaves at the classifier: downlink `IPFilterRule`s such as `permit out ip from
    /// 10.98.0.0/16 to assigned`.
    pub local: Vec<String>,
}

/// The N4 endpoint of the SMF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N4Config {
    /// Address.
    pub bind: IpAddr,
    /// UDP port.
    pub port: u16,
    /// T1: milliseconds until a request is retransmitted (TS 29.244, 6.4).
    pub t1_ms: u32,
    /// N1: transmissions of a request in total.
    pub n1: u8,
    /// Seconds between heartbeats.
    pub heartbeat_s: u32,
    /// Sessions per second that return to a UPF that is associated again after a failure. With 0
    /// they stay at the UPF that took them over.
    pub return_per_s: u32,
}

impl Default for N4Config {
    fn default() -> Self {
        N4Config {
            bind: Ipv4Addr::new(127, 0, 0, 7).into(),
            port: 8805,
            t1_ms: 500,
            n1: 3,
            heartbeat_s: 10,
            return_per_s: 100,
        }
    }
}

/// Charging mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChargingMode {
    /// No charging.
    #[default]
    None,
    /// Usage is reported to the CHF.
    Offline,
    /// The CHF also grants quota before usage.
    Online,
}

/// Handling of sessions when the CHF fails (TS 32.290, 5.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// They continue without charging.
    #[default]
    Continue,
    /// They are rejected or released.
    Refuse,
}

/// Charging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChargingConfig {
    /// Charging mode.
    pub mode: ChargingMode,
    /// Failure handling.
    pub on_failure: OnFailure,
    /// Rating group of traffic without its own charging rule.
    pub rating_group: u32,
    /// Bytes of quota that are requested at a time; 0 leaves the amount to the CHF.
    pub requested_bytes: u64,
}

impl Default for ChargingConfig {
    fn default() -> Self {
        ChargingConfig {
            mode: ChargingMode::None,
            on_failure: OnFailure::Continue,
            rating_group: 1,
            requested_bytes: 0,
        }
    }
}

/// The SMF set of this SMF (TS 23.501, 5.22). Its members share one `context_store.database`. Each
/// has its own pools and N4 address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetConfig {
    /// Identity of the set: letters and digits.
    pub id: String,
    /// Number of this SMF in the set, 0 to 127.
    pub member: u8,
    /// MCC and MNC without a separator, such as `00101`.
    #[serde(default = "nf_set::default_plmn")]
    pub plmn: String,
    /// Priority of this SMF in the NRF; the lowest value is preferred.
    #[serde(default)]
    pub priority: u16,
    /// Milliseconds between health checks of the other members. After two failed checks their
    /// sessions are taken over.
    #[serde(default = "default_health_check_ms")]
    pub health_check_ms: u32,
}

fn default_health_check_ms() -> u32 {
    1000
}

impl SetConfig {
    /// This SMF in its set.
    pub fn member(&self) -> SetMember<'_> {
        SetMember { nf: "smf", id: &self.id, member: self.member, plmn: &self.plmn }
    }
}

/// The section `smf` of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmfConfig {
    /// Slices served.
    pub slices: Vec<SliceConfig>,
    /// Data networks.
    pub dnns: Vec<DnnConfig>,
    /// UPFs, the preferred first.
    pub upfs: Vec<UpfConfig>,
    /// Uplink classifiers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branching: Vec<BranchingConfig>,
    /// N4.
    pub n4: N4Config,
    /// Charging.
    pub charging: ChargingConfig,
    /// The store that lets sessions outlive this process.
    pub context_store: ContextStoreConfig,
    /// The SMF set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<SetConfig>,
    /// Maximum number of sessions.
    pub max_sessions: usize,
    /// Further limits for slices and data networks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitConfig>,
    /// Back-off time of a UE that was rejected because of a limit (T3396, T3584, T3585), in
    /// seconds; 0 for none.
    pub back_off_s: u32,
    /// Queued events per session.
    pub session_queue: usize,
    /// SSC mode 3: seconds until the old session is released after a relocation.
    pub ssc3_s: u32,
    /// T3591: milliseconds until a modification command is retransmitted (TS 24.501, 10.3).
    pub t3591_ms: u32,
    /// T3592: milliseconds until a release command is retransmitted (TS 24.501, 10.3).
    pub t3592_ms: u32,
    /// Seconds without events after which the SMF checks that an AMF serves the UE, and the UPF
    /// that the SMF has the session. 0 for never.
    pub audit_s: u32,
}

impl Default for SmfConfig {
    fn default() -> Self {
        let dns = vec![Ipv4Addr::new(9, 9, 9, 9).into(), Ipv4Addr::new(149, 112, 112, 112).into()];
        let (pool, pool6) = ("10.45.0.0/16".into(), "fd45::/48".into());
        SmfConfig {
            slices: vec![SliceConfig { sst: 1, sd: None }],
            dnns: vec![DnnConfig {
                name: "internet".into(),
                pool,
                pool6,
                dns,
                ..DnnConfig::default()
            }],
            upfs: vec![UpfConfig::at(SocketAddr::from(([127, 0, 0, 8], 8805)))],
            branching: Vec::new(),
            n4: N4Config::default(),
            charging: ChargingConfig::default(),
            context_store: ContextStoreConfig::default(),
            set: None,
            max_sessions: 200_000,
            limits: Vec::new(),
            back_off_s: 30,
            session_queue: 16,
            ssc3_s: 20,
            t3591_ms: 16_000,
            t3592_ms: 16_000,
            audit_s: 3600,
        }
    }
}

impl SmfConfig {
    /// Time without events until a session is audited.
    pub fn audit_interval(&self) -> std::time::Duration {
        let seconds = if self.audit_s == 0 { u32::MAX } else { self.audit_s };
        std::time::Duration::from_secs(seconds.into())
    }

    /// Checks the values.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: String, message: String| findings.push(Finding::new(path, message));
        for (name, empty, example) in [
            ("slices", self.slices.is_empty(), "{ sst: 1 }"),
            ("dnns", self.dnns.is_empty(), "{ name: internet, pool: 10.45.0.0/16 }"),
            ("upfs", self.upfs.is_empty(), "{ n4: 127.0.0.8:8805 }"),
        ] {
            if empty {
                let text = format!("empty: write one at least, such as {name}: [{example}]");
                wrong(name.into(), text);
            }
        }
        for (n, dnn) in self.dnns.iter().enumerate() {
            if dnn.name.is_empty() {
                wrong(
                    format!("dnns[{n}].name"),
                    "empty: write the name of the data network".into(),
                );
            }
            if !dnn.name.is_empty() && !is_subscribable(&dnn.name) {
                let name = &dnn.name;
                wrong(
                    format!("dnns[{n}].name"),
                    format!(
                        "{name:?} is not a data network name (TS 23.003, 9.1): write letters, \
                         digits, - and . such as internet"
                    ),
                );
            }
            if let Some(error) =
                (!dnn.pool.is_empty()).then(|| parse_ipv4(&dnn.pool).err()).flatten()
            {
                wrong(format!("dnns[{n}].pool"), error.to_string());
            }
            if let Some(error) =
                (!dnn.pool6.is_empty()).then(|| parse_ipv6(&dnn.pool6).err()).flatten()
            {
                wrong(format!("dnns[{n}].pool6"), error.to_string());
            }
            if dnn.pool.is_empty() && dnn.pool6.is_empty() && !dnn.ethernet {
                wrong(
                    format!("dnns[{n}].pool"),
                    "no addresses: set pool, pool6, or ethernet".into(),
                );
            }
            if dnn.unstructured.is_some() && dnn.pool6.is_empty() {
                wrong(format!("dnns[{n}].pool6"), "unstructured sessions need an IPv6 pool".into());
            }
            if let Some(why) = dnn.wrong_mtu() {
                wrong(format!("dnns[{n}].mtu"), why);
            }
            if self.dnns[..n].iter().any(|other| other.name.eq_ignore_ascii_case(&dnn.name)) {
                let twice = format!("{} occurs twice: give each a name of its own", dnn.name);
                wrong(format!("dnns[{n}].name"), twice);
            }
        }
        for (n, upf) in self.upfs.iter().enumerate() {
            for (m, name) in upf
                .dnns
                .iter()
                .enumerate()
                .filter(|(_, name)| !self.dnns.iter().any(|dnn| dnn.name == **name))
            {
                wrong(
                    format!("upfs[{n}].dnns[{m}]"),
                    format!("{name} is not among smf.dnns: add it there"),
                );
            }
        }
        findings.extend(
            self.set
                .iter()
                .flat_map(|set| set.member().check())
                .map(|finding| finding.within("set")),
        );
        let mut wrong = |path: String, message: String| findings.push(Finding::new(path, message));
        for (n, limit) in self.limits.iter().enumerate() {
            if !self.slices.iter().any(|slice| slice.snssai() == Snssai::new(limit.sst, limit.sd)) {
                wrong(format!("limits[{n}].sst"), "not a slice of smf.slices: add it there".into());
            }
            if !limit.dnn.is_empty()
                && !self.dnns.iter().any(|dnn| dnn.name.eq_ignore_ascii_case(&limit.dnn))
            {
                wrong(
                    format!("limits[{n}].dnn"),
                    format!("{} is not among smf.dnns: add it there", limit.dnn),
                );
            }
        }
        for (n, branching) in self.branching.iter().enumerate() {
            if let Some(m) = branching.tacs.iter().position(|tac| *tac > 0xff_ffff) {
                wrong(
                    format!("branching[{n}].tacs[{m}]"),
                    "a tracking area code has 24 bits: write 0 to 16777215".into(),
                );
            }
            if !self.upfs.iter().any(|upf| upf.n4 == branching.via) {
                wrong(
                    format!("branching[{n}].via"),
                    format!("{} is not among smf.upfs: add it there", branching.via),
                );
            }
            if !self.dnns.iter().any(|dnn| dnn.name == branching.dnn) {
                let name = &branching.dnn;
                wrong(
                    format!("branching[{n}].dnn"),
                    format!("{name} is not among smf.dnns: add it there"),
                );
            }
            let filter =
                |text: &String| PacketFilter { description: text.clone(), ..Default::default() };
            if let Some(why) =
                branching.local.iter().find_map(|text| filter(text).components().err())
            {
                wrong(format!("branching[{n}].local"), why.to_string());
            }
            if branching.local.is_empty() {
                wrong(format!("branching[{n}].local"), "empty: write a filter".into());
            }
        }
        for (name, value) in [
            ("max_sessions", self.max_sessions),
            ("session_queue", self.session_queue),
            ("n4.n1", self.n4.n1.into()),
        ] {
            if value == 0 {
                wrong(name.into(), "0 allows no session: write a positive number".into());
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_invalid_values_are_reported_by_path() {
        assert_eq!(SmfConfig::default().check(), []);
        let dnn = DnnConfig {
            name: "internet".into(),
            pool: "10.45.0.0/99".into(),
            ..DnnConfig::default()
        };
        let upf = UpfConfig {
            dnns: vec!["ims".into()],
            ..UpfConfig::at(SocketAddr::from(([127, 0, 0, 8], 8805)))
        };
        let named = DnnConfig { name: "of fice".into(), ethernet: true, ..DnnConfig::default() };
        let branching = BranchingConfig {
            dnn: "internet".into(),
            tacs: vec![1, 1 << 24],
            via: upf.n4,
            local: vec!["permit out ip from 10.98.0.0/16 to assigned".into()],
        };
        let config = SmfConfig {
            dnns: vec![dnn, named],
            upfs: vec![upf],
            branching: vec![branching],
            ..SmfConfig::default()
        };
        let paths: Vec<_> = config.check().into_iter().map(|f| f.path).collect();
        let wrong = ["dnns[0].pool", "dnns[1].name", "upfs[0].dnns[0]", "branching[0].tacs[1]"];
        assert_eq!(paths, wrong);
    }

    #[test]
    fn the_mtu_is_what_the_ip_versions_of_the_pools_need() {
        let findings = |pool6: &str, mtu: u16| {
            let dnn = DnnConfig {
                name: "internet".into(),
                pool: "10.45.0.0/16".into(),
                pool6: pool6.into(),
                mtu,
                ..DnnConfig::default()
            };
            SmfConfig { dnns: vec![dnn], ..SmfConfig::default() }.check()
        };
        for (pool6, min) in [("", 576), ("fd45::/48", 1280)] {
            assert_eq!(findings(pool6, min), []);
            for wrong in [0, min - 1] {
                let found = findings(pool6, wrong);
                assert_eq!((found.len(), found[0].path.as_str()), (1, "dnns[0].mtu"));
                let remedy = format!("write {min} or more");
                assert!(found[0].message.contains(&remedy), "{}", found[0].message);
            }
        }
    }

    #[test]
    fn pools_are_network_addresses_with_enough_bits() {
        assert!(parse_ipv4("10.45.0.0/16").is_ok() && parse_ipv6("fd45::/48").is_ok());
        for invalid in ["10.45.0.1/16", "10.45.0.0", "10.45.0.0/31", "x/16", "10.0.0.0/7"] {
            assert!(parse_ipv4(invalid).is_err(), "{invalid}");
        }
        for invalid in ["fd45::1/60", "fd45::/64", "fd45::/16", "10.0.0.0/8"] {
            assert!(parse_ipv6(invalid).is_err(), "{invalid}");
        }
    }
}
