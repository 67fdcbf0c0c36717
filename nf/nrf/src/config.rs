//! The NRF's section of the configuration.
use martlet_config::Finding;
use serde::{Deserialize, Serialize};

/// Limits and times of the NRF.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NrfConfig {
    /// Network functions registered at a time.
    pub max_instances: usize,
    /// Subscriptions to status changes at a time.
    pub max_subscriptions: usize,
    /// Longest interval of heartbeats that a function may ask for, in seconds.
    pub max_heartbeat_s: u32,
    /// Seconds for which a consumer may keep the answer of a discovery.
    pub validity_s: u32,
    /// Seconds after which a subscription ends that is not renewed.
    pub subscription_s: u32,
    /// File of the key that signs access tokens (PEM, ECDSA with P-256); left out, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_key: Option<String>,
    /// Seconds for which an access token is good.
    pub token_s: u32,
    /// What is granted to functions of other makers that do not keep to TS 29.510.
    pub lenient: Lenience,
}

/// What functions are granted that TS 29.510 does not give them. Those of free5GC need both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lenience {
    /// Those that discover get the whole root of a service as its `apiPrefix`: they look nowhere
    /// else for it.
    pub absolute_prefixes: bool,
    /// Instances that propose no interval of heartbeats when they register stay although they send
    /// none.
    pub no_heartbeats: bool,
}

impl Default for NrfConfig {
    fn default() -> Self {
        NrfConfig {
            max_instances: 1024,
            max_subscriptions: 4096,
            max_heartbeat_s: 60,
            validity_s: 60,
            subscription_s: 86_400,
            token_key: None,
            token_s: 3600,
            lenient: Lenience::default(),
        }
    }
}

impl NrfConfig {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let numbers = [
            ("max_instances", self.max_instances as u64, "1024"),
            ("max_subscriptions", self.max_subscriptions as u64, "4096"),
            ("max_heartbeat_s", self.max_heartbeat_s.into(), "60"),
            ("validity_s", self.validity_s.into(), "60"),
            ("subscription_s", self.subscription_s.into(), "86400"),
        ];
        let zero = numbers.iter().filter(|(_, value, _)| *value == 0);
        zero.map(|(name, _, usual)| {
            Finding::new(*name, format!("0 lets nothing work: write {usual}"))
        })
        .collect()
    }
}
