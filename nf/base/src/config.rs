//! The part of the configuration that all network functions share.
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Where a network function is and how it calls others: its section `sbi`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommonConfig {
    /// Address of its services.
    pub bind: SocketAddr,
    /// `host:port` under which others reach it, where it differs from `bind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise: Option<String>,
    /// API root of the NRF.
    pub nrf: String,
    /// `nfInstanceId`; made anew at each start where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Milliseconds that a call to another function may take, retries included.
    #[serde(default = "default_timeout")]
    pub timeout_ms: u32,
    /// Seconds between heartbeats that are asked of the NRF.
    #[serde(default = "default_heartbeat")]
    pub heartbeat_s: u16,
    /// Whether its services are `https`, and so the NRF's.
    #[serde(default)]
    pub https: bool,
    /// File of the key with which the NRF's access tokens are checked (PEM). With it, tokens are
    /// asked for, and asked of others (TS 33.501, 13.4.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_key: Option<String>,
}

fn default_timeout() -> u32 {
    5000
}

fn default_heartbeat() -> u16 {
    10
}

impl CommonConfig {
    /// Defaults for a function at an address with its NRF at another.
    pub fn at(bind: SocketAddr, nrf: SocketAddr) -> Self {
        CommonConfig {
            bind,
            advertise: None,
            nrf: format!("http://{nrf}"),
            instance_id: None,
            timeout_ms: default_timeout(),
            heartbeat_s: default_heartbeat(),
            https: false,
            token_key: None,
        }
    }

    /// The same with TLS.
    pub fn over_tls(mut self) -> Self {
        self.https = true;
        self.nrf = self.nrf.replacen("http://", "https://", 1);
        self
    }

    /// The authority of its API root.
    pub fn authority(&self) -> String {
        self.advertise.clone().unwrap_or_else(|| self.bind.to_string())
    }
}
