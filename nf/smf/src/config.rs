//! The SMF's section of the configuration.
use martlet_config::Finding;
use martlet_sbi_api::common::Snssai;
use martlet_store::StateConfig;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

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
    /// IPv4 addresses for UEs, such as `10.45.0.0/16`, of which the first one is the gateway's; empty for none.
    pub pool: String,
    /// IPv6 network such as `fd45::/48`, of which each session gets 64 bits and the gateway the first; empty for none.
    pub pool6: String,
    /// DNS servers that UEs are told, IPv4 and IPv6.
    pub dns: Vec<IpAddr>,
    /// Proxies for the IP multimedia subsystem that UEs are told.
    pub pcscf: Vec<IpAddr>,
    /// MTU that UEs are told.
    pub mtu: u16,
    /// Whether sessions are always on, whatever UEs ask for (TS 23.501, 5.6.13); else those are whose UEs ask for it.
    pub always_on: bool,
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
            always_on: false,
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
        N4Config { bind: Ipv4Addr::new(127, 0, 0, 7).into(), port: 8805, t1_ms: 500, n1: 3, heartbeat_s: 10 }
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
    /// N4.
    pub n4: N4Config,
    /// Where sessions are kept, so that they outlive this process.
    pub state: StateConfig,
    /// Sessions at a time.
    pub max_sessions: usize,
    /// Events that wait for one session's task.
    pub session_queue: usize,
    /// T3591: a modification command without an answer is sent again (TS 24.501, 10.3), in milliseconds.
    pub t3591_ms: u32,
    /// T3592: a release command without an answer is sent again (TS 24.501, 10.3), in milliseconds.
    pub t3592_ms: u32,
    /// Seconds after which a session that nothing was heard of is looked at: its UE may be gone, or its UPF have it alone. 0 for
    /// never.
    pub audit_s: u32,
}

impl Default for SmfConfig {
    fn default() -> Self {
        let dns = vec![Ipv4Addr::new(9, 9, 9, 9).into(), Ipv4Addr::new(149, 112, 112, 112).into()];
        let (pool, pool6) = ("10.45.0.0/16".into(), "fd45::/48".into());
        SmfConfig {
            slices: vec![SliceConfig { sst: 1, sd: None }],
            dnns: vec![DnnConfig { name: "internet".into(), pool, pool6, dns, ..DnnConfig::default() }],
            upfs: vec![UpfConfig { n4: SocketAddr::from(([127, 0, 0, 8], 8805)), dnns: vec![] }],
            n4: N4Config::default(),
            state: StateConfig::default(),
            max_sessions: 60_000,
            session_queue: 16,
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
        for (name, empty) in
            [("slices", self.slices.is_empty()), ("dnns", self.dnns.is_empty()), ("upfs", self.upfs.is_empty())]
        {
            if empty {
                wrong(name.into(), "one at least is needed".into());
            }
        }
        for (n, dnn) in self.dnns.iter().enumerate() {
            if dnn.name.is_empty() {
                wrong(format!("dnns[{n}].name"), "a data network has a name".into());
            }
            if let Some(error) = (!dnn.pool.is_empty()).then(|| crate::addresses::parse(&dnn.pool).err()).flatten() {
                wrong(format!("dnns[{n}].pool"), error);
            }
            if let Some(error) = (!dnn.pool6.is_empty()).then(|| crate::addresses::parse6(&dnn.pool6).err()).flatten() {
                wrong(format!("dnns[{n}].pool6"), error);
            }
            if dnn.pool.is_empty() && dnn.pool6.is_empty() {
                wrong(format!("dnns[{n}].pool"), "a data network needs pool, pool6, or both".into());
            }
            if self.dnns[..n].iter().any(|other| other.name.eq_ignore_ascii_case(&dnn.name)) {
                wrong(format!("dnns[{n}].name"), format!("{} occurs twice", dnn.name));
            }
        }
        for (n, upf) in self.upfs.iter().enumerate() {
            for (m, name) in
                upf.dnns.iter().enumerate().filter(|(_, name)| !self.dnns.iter().any(|dnn| dnn.name == **name))
            {
                wrong(format!("upfs[{n}].dnns[{m}]"), format!("{name} is not among smf.dnns: add it there"));
            }
        }
        for (name, value) in
            [("max_sessions", self.max_sessions), ("session_queue", self.session_queue), ("n4.n1", self.n4.n1.into())]
        {
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
        let dnn = DnnConfig { name: "internet".into(), pool: "10.45.0.0/99".into(), ..DnnConfig::default() };
        let upf = UpfConfig { n4: SocketAddr::from(([127, 0, 0, 8], 8805)), dnns: vec!["ims".into()] };
        let config = SmfConfig { dnns: vec![dnn], upfs: vec![upf], ..SmfConfig::default() };
        let paths: Vec<_> = config.check().into_iter().map(|f| f.path).collect();
        assert_eq!(paths, ["dnns[0].pool", "upfs[0].dnns[0]"]);
    }
}
