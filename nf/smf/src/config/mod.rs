//! The SMF's section of the configuration.
use martlet_config::Finding;
use martlet_context_store::ContextStoreConfig;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

mod address_pools;
mod charging;
mod data_networks;
mod set;
mod slices;
mod upfs;
pub use address_pools::PoolError;
pub(crate) use address_pools::{
    Ipv4Network, Ipv6Network, parse_ipv4, parse_ipv6, range_of_ipv4, range_of_ipv6,
};
pub use charging::{ChargingConfig, ChargingMode, OnFailure};
pub use data_networks::DnnConfig;
pub use set::SetConfig;
pub use slices::{LimitConfig, SliceConfig};
pub use upfs::{BranchingConfig, N4Config, NetworkInstanceEncoding, UpfConfig};

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
    /// N1 session management.
    pub n1: N1Config,
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

/// How UEs that deviate from the specifications are treated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct N1Config {
    /// Refuse deviations of UEs that are tolerated otherwise.
    pub strict: bool,
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
            n1: N1Config::default(),
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

    /// The pools that static addresses have to be in. Empty for a member of a set: an address may
    /// be in a pool of another member.
    pub fn address_pools(&self) -> Vec<martlet_store::AddressPool> {
        match self.set {
            Some(_) => Vec::new(),
            None => self.dnns.iter().map(DnnConfig::address_pool).collect(),
        }
    }

    /// Checks the values.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = self.check_lists();
        findings.extend(data_networks::check(self));
        findings.extend(upfs::check(self));
        let set = self.set.iter().flat_map(|set| set.member().check());
        findings.extend(set.map(|finding| finding.within("set")));
        findings.extend(slices::check_limits(self));
        findings.extend(upfs::check_branching(self));
        findings.extend(self.check_numbers());
        findings
    }

    /// Lists without which there is no session.
    fn check_lists(&self) -> Vec<Finding> {
        let lists = [
            ("slices", self.slices.is_empty(), "{ sst: 1 }"),
            ("dnns", self.dnns.is_empty(), "{ name: internet, pool: 10.45.0.0/16 }"),
            ("upfs", self.upfs.is_empty(), "{ n4: 127.0.0.8:8805 }"),
        ];
        let finding = |(name, _, example)| {
            let text = format!("empty: write one at least, such as {name}: [{example}]");
            Finding::new(name, text)
        };
        lists.into_iter().filter(|(_, is_empty, _)| *is_empty).map(finding).collect()
    }

    /// Numbers that must not be 0.
    fn check_numbers(&self) -> Vec<Finding> {
        let numbers = [
            ("max_sessions", self.max_sessions),
            ("session_queue", self.session_queue),
            ("n4.n1", self.n4.n1.into()),
        ];
        let finding =
            |(name, _)| Finding::new(name, "0 allows no session: write a positive number");
        numbers.into_iter().filter(|(_, value)| *value == 0).map(finding).collect()
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
            n3_address: Some(Ipv4Addr::UNSPECIFIED.into()),
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
        let wrong = [
            "dnns[0].pool",
            "dnns[1].name",
            "upfs[0].dnns[0]",
            "upfs[0].n3_address",
            "branching[0].tacs[1]",
        ];
        assert_eq!(paths, wrong);
    }
}
