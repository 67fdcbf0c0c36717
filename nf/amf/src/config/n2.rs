//! N2: addresses, SCTP parameters, and which gNBs are admitted.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::time::Duration;

/// N2 addresses, SCTP parameters and admission of gNBs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N2Config {
    /// Local addresses. Several make the association multi-homed, with the kernel's SCTP.
    pub bind: Vec<IpAddr>,
    /// SCTP port.
    pub port: u16,
    /// SCTP implementation.
    pub stack: SctpStackConfig,
    /// Outbound SCTP streams to request: one for non-UE signalling, the others shared by the UEs.
    pub streams: u16,
    /// SCTP heartbeat interval, milliseconds. A gNB that misses four in a row is lost.
    pub heartbeat_ms: u32,
    /// Reject NGAP messages with information elements in another order than TS 38.413, 9.2, has,
    /// and other deviations of gNBs. Each PAGING is on stream 0 then.
    pub strict: bool,
    /// Admitted gNBs. Empty admits all.
    pub allow: Vec<AllowConfig>,
    /// Time for NG SETUP REQUEST after the association is set up, milliseconds.
    pub setup_timeout_ms: u32,
    /// Associations without NG setup from one address. Beyond it, the oldest of them is aborted.
    pub max_pending_per_address: usize,
    /// Time for a gNB to answer the probe after another association claimed its identity,
    /// milliseconds.
    pub probe_timeout_ms: u32,
    /// Milliseconds after the end of its lease on UE contexts after which an AMF of a set tells its
    /// gNBs to use another one, and closes their associations. 0: never.
    pub cut_off_ms: u32,
    /// Which gNBs may take over a UE by a path switch (Xn handover).
    pub xn_neighbours: XnNeighbours,
    /// Neighbours of gNBs, in both directions.
    pub neighbours: Vec<NeighboursConfig>,
}

/// Admitted gNBs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowConfig {
    /// An address, or a prefix such as `10.0.0.0/24`.
    pub from: String,
    /// Identities that gNBs of these addresses may have, such as `00101-000001`. Empty allows all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gnbs: Vec<String>,
}

/// The neighbours of a gNB.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeighboursConfig {
    /// Identity of the gNB, such as `00101-000001`.
    pub gnb: String,
    /// Identities of its neighbours.
    pub of: Vec<String>,
}

/// Which gNBs may take over a UE by a path switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XnNeighbours {
    /// Every gNB.
    Any,
    /// Those that share a tracking area with the UE's gNB, and those in `neighbours`.
    #[default]
    SameTac,
    /// Only those in `neighbours`.
    List,
}

/// SCTP implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SctpStackConfig {
    /// The kernel's if present, else the one in user space.
    #[default]
    Auto,
    /// The kernel's.
    Kernel,
    /// The one in user space.
    Usrsctp,
}

impl Default for N2Config {
    fn default() -> Self {
        N2Config {
            bind: vec![IpAddr::from([127, 0, 0, 5])],
            port: 38412,
            stack: SctpStackConfig::Auto,
            streams: 16,
            heartbeat_ms: 5000,
            strict: false,
            allow: Vec::new(),
            setup_timeout_ms: 5000,
            max_pending_per_address: 8,
            probe_timeout_ms: 2000,
            cut_off_ms: 3000,
            xn_neighbours: XnNeighbours::SameTac,
            neighbours: Vec::new(),
        }
    }
}

/// An address prefix; `None` if the text is not one.
fn prefix(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Ok(max), str::parse).ok()?;
    (length <= max).then_some((address, length))
}

/// Whether the prefix contains the address.
fn contains((prefix, length): (IpAddr, u8), address: IpAddr) -> bool {
    let (bits, prefix, address) = match (prefix, address.to_canonical()) {
        (IpAddr::V4(prefix), IpAddr::V4(address)) => {
            (32, u128::from(prefix.to_bits()), u128::from(address.to_bits()))
        }
        (IpAddr::V6(prefix), IpAddr::V6(address)) => (128, prefix.to_bits(), address.to_bits()),
        _ => return false,
    };
    length == 0 || (prefix ^ address) >> (bits - u32::from(length)) == 0
}

impl AllowConfig {
    fn admits(&self, address: IpAddr) -> bool {
        prefix(&self.from).is_some_and(|prefix| contains(prefix, address))
    }
}

impl N2Config {
    /// Whether a gNB may connect from this address.
    pub(crate) fn admits_address(&self, address: IpAddr) -> bool {
        self.allow.is_empty() || self.allow.iter().any(|allow| allow.admits(address))
    }

    /// Whether a gNB with this address may have this identity.
    pub(crate) fn admits(&self, address: IpAddr, id: &str) -> bool {
        let has_id = |allow: &AllowConfig| allow.gnbs.is_empty() || is_in(&allow.gnbs, id);
        self.allow.is_empty()
            || self.allow.iter().any(|allow| allow.admits(address) && has_id(allow))
    }

    /// Whether two gNBs are configured as neighbours.
    pub(crate) fn are_neighbours(&self, one: &str, other: &str) -> bool {
        self.neighbours.iter().any(|entry| {
            entry.gnb.eq_ignore_ascii_case(one) && is_in(&entry.of, other)
                || entry.gnb.eq_ignore_ascii_case(other) && is_in(&entry.of, one)
        })
    }

    pub(crate) fn setup_timeout(&self) -> Duration {
        Duration::from_millis(self.setup_timeout_ms.into())
    }

    pub(crate) fn probe_timeout(&self) -> Duration {
        Duration::from_millis(self.probe_timeout_ms.into())
    }

    pub(crate) fn cut_off(&self) -> Option<Duration> {
        (self.cut_off_ms > 0).then(|| Duration::from_millis(self.cut_off_ms.into()))
    }

    pub(super) fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |path: String, message: &str| findings.push(Finding::new(path, message));
        if self.bind.is_empty() {
            add("bind".into(), "empty; write an address of this machine");
        }
        if self.streams < 2 {
            add("streams".into(), "N2 needs two streams at least (TS 38.412, 7)");
        }
        if !(10..=3_600_000).contains(&self.heartbeat_ms) {
            add("heartbeat_ms".into(), "write 10 to 3600000, best 5000");
        }
        for (n, allow) in self.allow.iter().enumerate() {
            if prefix(&allow.from).is_none() {
                add(
                    format!("allow[{n}].from"),
                    "not an address or prefix; write for example \"10.0.0.0/24\"",
                );
            }
            for (m, _) in allow.gnbs.iter().enumerate().filter(|(_, id)| !is_identity(id)) {
                add(format!("allow[{n}].gnbs[{m}]"), IDENTITY);
            }
        }
        for (n, entry) in self.neighbours.iter().enumerate() {
            if !is_identity(&entry.gnb) {
                add(format!("neighbours[{n}].gnb"), IDENTITY);
            }
            for (m, _) in entry.of.iter().enumerate().filter(|(_, id)| !is_identity(id)) {
                add(format!("neighbours[{n}].of[{m}]"), IDENTITY);
            }
        }
        if self.xn_neighbours == XnNeighbours::List && self.neighbours.is_empty() {
            add("xn_neighbours".into(), "`list` without `neighbours` rejects every Xn handover");
        }
        let nonzero = [
            ("setup_timeout_ms", self.setup_timeout_ms as usize),
            ("max_pending_per_address", self.max_pending_per_address),
            ("probe_timeout_ms", self.probe_timeout_ms as usize),
        ];
        for (name, _) in nonzero.iter().filter(|(_, value)| *value == 0) {
            add((*name).into(), "must not be 0; remove the key for the default");
        }
        findings
    }
}

const IDENTITY: &str = "not a gNB identity; `martlet status` shows them, such as \"00101-000001\"";

fn is_in(list: &[String], id: &str) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(id))
}

/// MCC and MNC, `-`, and 22 to 32 bits in hexadecimal digits.
fn is_identity(text: &str) -> bool {
    text.split_once('-').is_some_and(|(plmn, id)| {
        (5..=6).contains(&plmn.len())
            && plmn.bytes().all(|byte| byte.is_ascii_digit())
            && (6..=8).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowing(from: &str, gnbs: &[&str]) -> N2Config {
        let gnbs = gnbs.iter().map(ToString::to_string).collect();
        N2Config { allow: vec![AllowConfig { from: from.into(), gnbs }], ..Default::default() }
    }

    #[test]
    fn gnbs_are_admitted_by_address_and_identity() {
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(N2Config::default().admits(at("192.0.2.1"), "00101-000001"));
        let config = allowing("10.1.0.0/16", &["00101-00000a"]);
        assert!(
            config.admits_address(at("10.1.255.255")) && !config.admits_address(at("10.2.0.0"))
        );
        assert!(config.admits_address(at("::ffff:10.1.2.3")));
        assert!(config.admits(at("10.1.2.3"), "00101-00000A"));
        assert!(!config.admits(at("10.1.2.3"), "00101-00000b"));
        assert!(!config.admits(at("10.2.2.3"), "00101-00000a"));
        assert!(allowing("2001:db8::1", &[]).admits(at("2001:db8::1"), "00101-00000b"));
        assert!(!allowing("2001:db8::1", &[]).admits_address(at("2001:db8::2")));
        assert!(allowing("0.0.0.0/0", &[]).admits_address(at("203.0.113.9")));
        assert!(allowing("::/0", &[]).admits_address(at("2001:db8::2")));
        for wrong in ["10.0.0.0/33", "10.0.0", "", "10.0.0.0/", "::/129", "10.0.0.0/-1"] {
            let config = allowing(wrong, &["00101"]);
            let paths: Vec<_> = config.check().into_iter().map(|found| found.path).collect();
            assert_eq!(paths, ["allow[0].from", "allow[0].gnbs[0]"], "{wrong}");
            assert!(!config.admits_address(at("10.0.0.1")), "{wrong}");
        }
    }

    #[test]
    fn neighbours_are_mutual() {
        let entry =
            NeighboursConfig { gnb: "00101-000001".into(), of: vec!["00101-000002".into()] };
        let config = N2Config { neighbours: vec![entry], ..Default::default() };
        assert!(config.are_neighbours("00101-000001", "00101-000002"));
        assert!(config.are_neighbours("00101-000002", "00101-000001"));
        assert!(!config.are_neighbours("00101-000001", "00101-000003"));
        assert_eq!(config.check(), []);
    }
}
