//! The NRF's section of the configuration.
use martlet_config::Finding;
use martlet_context_store::ContextStoreConfig;
use serde::{Deserialize, Serialize};

/// The NRF's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NrfConfig {
    /// Maximum number of registered NF instances.
    pub max_instances: usize,
    /// Maximum number of subscriptions to status changes.
    pub max_subscriptions: usize,
    /// Maximum number of subscriptions whose notifications go to the same host.
    pub max_subscriptions_per_consumer: usize,
    /// Longest heartbeat interval that an NF instance may request, seconds.
    pub max_heartbeat_s: u32,
    /// Validity of a discovery result at the consumer, seconds.
    pub validity_s: u32,
    /// Seconds after which a subscription expires unless renewed.
    pub subscription_s: u32,
    /// File of the key that signs access tokens (PEM, ECDSA P-256 for ES256 or RSA for RS512).
    /// Left out: no tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_key: Option<String>,
    /// Validity of an access token, seconds.
    pub token_s: u32,
    /// Where registrations and subscriptions outlive a restart.
    pub context_store: ContextStoreConfig,
    /// Deviations from TS 29.510 that network functions of other vendors need.
    pub interop: Interop,
}

/// Deviations from TS 29.510. free5GC's network functions need the first two, and with access
/// tokens the third.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Interop {
    /// Discovery results carry the absolute API root of each service in `apiPrefix`.
    pub absolute_prefixes: bool,
    /// An instance that registers without a heartbeat interval need not send heartbeats.
    pub no_heartbeats: bool,
    /// The answer to a registration carries `oauth2: true` in `customInfo` if the NRF issues access
    /// tokens.
    pub oauth2_in_custom_info: bool,
}

impl Default for NrfConfig {
    fn default() -> Self {
        NrfConfig {
            max_instances: 1024,
            max_subscriptions: 4096,
            max_subscriptions_per_consumer: 256,
            max_heartbeat_s: 60,
            validity_s: 60,
            subscription_s: 86_400,
            token_key: None,
            token_s: 3600,
            context_store: ContextStoreConfig::default(),
            interop: Interop::default(),
        }
    }
}

impl NrfConfig {
    /// Checks the values.
    pub fn check(&self) -> Vec<Finding> {
        let numbers = [
            ("max_instances", self.max_instances as u64, "1024"),
            ("max_subscriptions", self.max_subscriptions as u64, "4096"),
            ("max_subscriptions_per_consumer", self.max_subscriptions_per_consumer as u64, "256"),
            ("max_heartbeat_s", self.max_heartbeat_s.into(), "60"),
            ("validity_s", self.validity_s.into(), "60"),
            ("subscription_s", self.subscription_s.into(), "86400"),
        ];
        let zero = numbers.iter().filter(|(_, value, _)| *value == 0);
        zero.map(|(name, _, usual)| {
            Finding::new(*name, format!("the NRF cannot work with 0: write {usual}"))
        })
        .collect()
    }
}
