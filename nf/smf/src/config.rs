//! The SMF's section of the configuration.
use martlet_config::Finding;
use martlet_context_store::ContextStoreConfig;
use martlet_sbi_api::common::Snssai;
use martlet_store::UpSecurityPolicy;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};

/// A slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceConfig {
    /// Slice or service type.
    pub sst: u8,
    /// Slice differentiator, 24 bits.
    #[serde(default)]
    pub sd: Option<u32>,
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
    /// IPv4 addresses for UEs, such as `10.45.0.0/16`, of which the first one is the gateway's;
    /// empty for none.
    pub pool: String,
    /// IPv6 network such as `fd45::/48`, of which each session gets 64 bits and the gateway the
    /// first; empty for none.
    pub pool6: String,
    /// DNS servers that UEs are told, IPv4 and IPv6.
    pub dns: Vec<IpAddr>,
    /// Proxies for the IP multimedia subsystem that UEs are told.
    pub pcscf: Vec<IpAddr>,
    /// MTU that UEs are told.
    pub mtu: u16,
    /// Whether it takes Ethernet sessions.
    pub ethernet: bool,
    /// Where the data of unstructured sessions go, over UDP, such as `[fd99::1]:4000`; the session
    /// is known there by an address of `pool6`. Left out, there are no such sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstructured: Option<SocketAddrV6>,
    /// Whether sessions are always on, whatever UEs ask for (TS 23.501, 5.6.13); else those are
    /// whose UEs ask for it.
    pub always_on: bool,
    /// Protection of the user plane between UEs and gNBs for subscribers whose subscription says
    /// nothing of it (TS 33.501, 6.6.1): `integrity` and `ciphering`, each `required`,
    /// `preferred` or `not_needed`. Left out, gNBs do as they like.
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

/// A UPF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpfConfig {
    /// Its N4 address.
    pub n4: SocketAddr,
    /// Data networks that it leads to; all where empty.
    #[serde(default)]
    pub dnns: Vec<String>,
    /// Slices that it serves; all where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceConfig>,
    /// Tracking areas that it serves before others do; where empty, all alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tacs: Vec<u32>,
    /// Tracking areas whose gNBs reach it (its service area); where empty, all do. A session whose
    /// UE leaves it keeps it as its anchor, behind a UPF that reaches the UE's gNB (TS 23.502,
    /// 4.9.1).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_area: Vec<u32>,
}

impl UpfConfig {
    /// One that leads everywhere.
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

/// How many sessions a slice, or a data network in it, may have at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitConfig {
    /// Slice or service type.
    pub sst: u8,
    /// Slice differentiator, 24 bits.
    #[serde(default)]
    pub sd: Option<u32>,
    /// The data network; empty for the slice as a whole.
    #[serde(default)]
    pub dnn: String,
    /// Sessions at a time.
    pub max_sessions: usize,
}

impl LimitConfig {
    /// Whether sessions of that slice and data network count.
    pub fn is_of(&self, slice: Snssai, dnn: &str) -> bool {
        Snssai::new(self.sst, self.sd) == slice
            && (self.dnn.is_empty() || self.dnn.eq_ignore_ascii_case(dnn))
    }
}

/// A UPF between gNBs and the anchors of sessions, with an exit of its own (uplink classifier; TS
/// 23.501, 5.6.4.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BranchingConfig {
    /// Data network of the sessions that go through it.
    pub dnn: String,
    /// Tracking areas of their UEs; all where empty.
    #[serde(default)]
    pub tacs: Vec<u32>,
    /// N4 address of the UPF, which is among `upfs`.
    pub via: SocketAddr,
    /// What leaves there, each an `IPFilterRule` for the downlink, such as `permit out ip from
    /// 10.98.0.0/16 to assigned`.
    pub local: Vec<String>,
}

/// The SMF's end of N4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N4Config {
    /// Address.
    pub bind: IpAddr,
    /// UDP port.
    pub port: u16,
    /// Milliseconds after which a request is repeated.
    pub t1_ms: u32,
    /// How often a request is sent in all.
    pub n1: u8,
    /// Seconds between heartbeats.
    pub heartbeat_s: u32,
}

impl Default for N4Config {
    fn default() -> Self {
        N4Config {
            bind: Ipv4Addr::new(127, 0, 0, 7).into(),
            port: 8805,
            t1_ms: 500,
            n1: 3,
            heartbeat_s: 10,
        }
    }
}

/// Whether usage is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChargingMode {
    /// No CHF is asked.
    #[default]
    None,
    /// The CHF is told what was used.
    Offline,
    /// The CHF is also asked before something is used.
    Online,
}

/// What becomes of sessions whose CHF does not answer (TS 32.290, 5.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// They go on, and are not charged.
    #[default]
    Continue,
    /// They are refused, or end.
    Refuse,
}

/// Charging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChargingConfig {
    /// Whether.
    pub mode: ChargingMode,
    /// Without a CHF.
    pub on_failure: OnFailure,
    /// Rating group of all traffic.
    pub rating_group: u32,
}

impl Default for ChargingConfig {
    fn default() -> Self {
        ChargingConfig {
            mode: ChargingMode::None,
            on_failure: OnFailure::Continue,
            rating_group: 1,
        }
    }
}

/// The set of which an SMF is (TS 23.501, 5.22). Its members store their sessions in one
/// `context_store.database`, and have pools and N4 addresses of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetConfig {
    /// Identity of the set: letters and digits.
    pub id: String,
    /// Number of this one among its members, 0 to 127.
    pub member: u8,
    /// MCC and MNC without a separator, such as `00101`.
    #[serde(default = "usual_plmn")]
    pub plmn: String,
    /// Priority of this one among those that the NRF names, the lowest first.
    #[serde(default)]
    pub priority: u16,
    /// Milliseconds between looks at the other members: two without an answer, and their sessions
    /// are taken over.
    #[serde(default = "watch_ms")]
    pub watch_ms: u32,
}

fn usual_plmn() -> String {
    "00101".into()
}

fn watch_ms() -> u32 {
    1000
}

impl SetConfig {
    /// NF set identity (TS 23.003, 28.12).
    pub fn name(&self) -> String {
        let (mcc, mnc) = self.plmn.split_at(self.plmn.len().min(3));
        format!("set{}.smfset.5gc.mnc{mnc:0>3}.mcc{mcc}", self.id)
    }

    fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.id.is_empty()
            || self.id.len() > 32
            || !self.id.chars().all(|c| c.is_ascii_alphanumeric())
        {
            findings
                .push(Finding::new("id", "the identity of a set has 1 to 32 letters and digits"));
        }
        if self.member > 127 {
            findings.push(Finding::new("member", "a member has a number from 0 to 127"));
        }
        if !matches!(self.plmn.len(), 5 | 6) || !self.plmn.chars().all(|c| c.is_ascii_digit()) {
            findings.push(Finding::new(
                "plmn",
                "write MCC and MNC in five or six digits, such as \"00101\"",
            ));
        }
        findings
    }
}

/// What the SMF needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmfConfig {
    /// Slices served.
    pub slices: Vec<SliceConfig>,
    /// Data networks.
    pub dnns: Vec<DnnConfig>,
    /// UPFs, the preferred first.
    pub upfs: Vec<UpfConfig>,
    /// UPFs between gNBs and anchors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branching: Vec<BranchingConfig>,
    /// N4.
    pub n4: N4Config,
    /// Charging.
    pub charging: ChargingConfig,
    /// The store that lets sessions outlive this process.
    pub context_store: ContextStoreConfig,
    /// The set of which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<SetConfig>,
    /// Sessions at a time.
    pub max_sessions: usize,
    /// Of these, sessions of slices and of data networks in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitConfig>,
    /// Seconds that a UE waits before it asks again for a session that there is no room for
    /// (T3396, T3584, T3585); 0 lets it try at once.
    pub back_off_s: u32,
    /// Events that wait for one session's task.
    pub session_queue: usize,
    /// Seconds for which a session of SSC mode 3 is beside the one that takes over from it.
    pub ssc3_s: u32,
    /// T3591: a modification command without an answer is sent again (TS 24.501, 10.3), in
    /// milliseconds.
    pub t3591_ms: u32,
    /// T3592: a release command without an answer is sent again (TS 24.501, 10.3), in
    /// milliseconds.
    pub t3592_ms: u32,
    /// Seconds after which a session that nothing was heard of is looked at: its UE may be gone,
    /// or its UPF have it alone. 0 for never.
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
            max_sessions: 60_000,
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
    /// How long nothing may be heard of a session.
    pub fn audit(&self) -> std::time::Duration {
        let seconds = if self.audit_s == 0 { u32::MAX } else { self.audit_s };
        std::time::Duration::from_secs(seconds.into())
    }

    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut wrong = |path: String, message: String| findings.push(Finding::new(path, message));
        for (name, empty) in [
            ("slices", self.slices.is_empty()),
            ("dnns", self.dnns.is_empty()),
            ("upfs", self.upfs.is_empty()),
        ] {
            if empty {
                wrong(name.into(), "one at least is needed".into());
            }
        }
        for (n, dnn) in self.dnns.iter().enumerate() {
            if dnn.name.is_empty() {
                wrong(format!("dnns[{n}].name"), "a data network has a name".into());
            }
            if let Some(error) =
                (!dnn.pool.is_empty()).then(|| crate::addresses::parse(&dnn.pool).err()).flatten()
            {
                wrong(format!("dnns[{n}].pool"), error);
            }
            if let Some(error) = (!dnn.pool6.is_empty())
                .then(|| crate::addresses::parse6(&dnn.pool6).err())
                .flatten()
            {
                wrong(format!("dnns[{n}].pool6"), error);
            }
            if dnn.pool.is_empty() && dnn.pool6.is_empty() && !dnn.ethernet {
                wrong(
                    format!("dnns[{n}].pool"),
                    "a data network needs pool, pool6, both, or ethernet".into(),
                );
            }
            if dnn.unstructured.is_some() && dnn.pool6.is_empty() {
                wrong(
                    format!("dnns[{n}].pool6"),
                    "unstructured sessions are known by addresses of it".into(),
                );
            }
            if self.dnns[..n].iter().any(|other| other.name.eq_ignore_ascii_case(&dnn.name)) {
                wrong(format!("dnns[{n}].name"), format!("{} occurs twice", dnn.name));
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
            self.set.iter().flat_map(SetConfig::check).map(|finding| finding.within("set")),
        );
        let mut wrong = |path: String, message: String| findings.push(Finding::new(path, message));
        for (n, limit) in self.limits.iter().enumerate() {
            if !self.slices.iter().any(|slice| slice.snssai() == Snssai::new(limit.sst, limit.sd)) {
                wrong(format!("limits[{n}].sst"), "it is no slice of smf.slices".into());
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
            let filter = |text: &String| crate::filter::Filter {
                description: text.clone(),
                ..Default::default()
            };
            if let Some(why) =
                branching.local.iter().find_map(|text| filter(text).components().err())
            {
                wrong(format!("branching[{n}].local"), why.into());
            }
            if branching.local.is_empty() {
                wrong(
                    format!("branching[{n}].local"),
                    "nothing would leave there: write a filter".into(),
                );
            }
        }
        for (name, value) in [
            ("max_sessions", self.max_sessions),
            ("session_queue", self.session_queue),
            ("n4.n1", self.n4.n1.into()),
        ] {
            if value == 0 {
                wrong(name.into(), "0 lets no session come up".into());
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_right_and_mistakes_are_told_by_place() {
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
        let config = SmfConfig { dnns: vec![dnn], upfs: vec![upf], ..SmfConfig::default() };
        let paths: Vec<_> = config.check().into_iter().map(|f| f.path).collect();
        assert_eq!(paths, ["dnns[0].pool", "upfs[0].dnns[0]"]);
    }
}
