//! UPFs, uplink classifiers, and the N4 endpoint.
use super::{SliceConfig, SmfConfig};
use crate::packet_filter::PacketFilter;
use martlet_config::Finding;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

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
    /// How it reads the names of data networks in rules.
    #[serde(default, skip_serializing_if = "NetworkInstanceEncoding::is_text")]
    pub network_instances: NetworkInstanceEncoding,
    /// Whether flow descriptions name their protocol (`udp`) in place of its number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protocol_names: bool,
    /// Its address on N3 and N9, for F-TEIDs that the SMF allocates. A UPF that does not allocate
    /// F-TEIDs (without the feature FTUP) needs it, unless its association response has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n3_address: Option<IpAddr>,
    /// The SMF allocates the F-TEIDs although the UPF announces that it does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allocate_fteids: bool,
}

/// The encoding of a network instance (TS 29.244, 8.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkInstanceEncoding {
    /// The name of the data network.
    #[default]
    Text,
    /// Labels, each after its length, as in a DNN (TS 23.003, 9.1).
    Labels,
}

impl NetworkInstanceEncoding {
    fn is_text(&self) -> bool {
        *self == NetworkInstanceEncoding::Text
    }
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
            network_instances: NetworkInstanceEncoding::Text,
            protocol_names: false,
            n3_address: None,
            allocate_fteids: false,
        }
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

/// Data networks of UPFs that the SMF does not serve, and addresses that no F-TEID can have.
pub(super) fn check(config: &SmfConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (n, upf) in config.upfs.iter().enumerate() {
        let served = |name: &String| config.dnns.iter().any(|dnn| dnn.name == *name);
        for (m, name) in upf.dnns.iter().enumerate().filter(|(_, name)| !served(name)) {
            findings.push(Finding::new(
                format!("upfs[{n}].dnns[{m}]"),
                format!("{name} is not among smf.dnns: add it there"),
            ));
        }
        if let Some(address) = upf.n3_address.filter(|ip| ip.is_unspecified() || ip.is_multicast())
        {
            findings.push(Finding::new(
                format!("upfs[{n}].n3_address"),
                format!("gNBs cannot send to {address}: write the UPF's address on N3"),
            ));
        }
    }
    findings
}

/// Uplink classifiers whose UPF, data network, tracking areas or filters are invalid.
pub(super) fn check_branching(config: &SmfConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut wrong = |path: String, message: String| findings.push(Finding::new(path, message));
    for (n, branching) in config.branching.iter().enumerate() {
        if let Some(m) = branching.tacs.iter().position(|tac| *tac > 0xff_ffff) {
            wrong(
                format!("branching[{n}].tacs[{m}]"),
                "a tracking area code has 24 bits: write 0 to 16777215".into(),
            );
        }
        if !config.upfs.iter().any(|upf| upf.n4 == branching.via) {
            wrong(
                format!("branching[{n}].via"),
                format!("{} is not among smf.upfs: add it there", branching.via),
            );
        }
        if !config.dnns.iter().any(|dnn| dnn.name == branching.dnn) {
            let name = &branching.dnn;
            wrong(
                format!("branching[{n}].dnn"),
                format!("{name} is not among smf.dnns: add it there"),
            );
        }
        let filter =
            |text: &String| PacketFilter { description: text.clone(), ..Default::default() };
        if let Some(why) = branching.local.iter().find_map(|text| filter(text).components().err()) {
            wrong(format!("branching[{n}].local"), why.to_string());
        }
        if branching.local.is_empty() {
            wrong(format!("branching[{n}].local"), "empty: write a filter".into());
        }
    }
    findings
}
