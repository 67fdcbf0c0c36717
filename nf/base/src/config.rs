//! The configuration that all network functions share.
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A network function's SBI configuration, from the section `sbi`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommonConfig {
    /// Address of its services.
    pub bind: SocketAddr,
    /// `host:port` for other network functions, if it differs from `bind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise: Option<String>,
    /// API root of the NRF.
    pub nrf: String,
    /// API roots of further NRFs. A function registers with each, and asks another one when one
    /// does not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_nrfs: Vec<String>,
    /// `nfInstanceId`. Left out: random at each start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Time limit of a service call including retries, milliseconds.
    #[serde(default = "default_timeout")]
    pub timeout_ms: u32,
    /// Heartbeat interval to request from the NRF, seconds.
    #[serde(default = "default_heartbeat")]
    pub heartbeat_s: u16,
    /// Whether its services and the NRF's use `https`.
    #[serde(default)]
    pub https: bool,
    /// File of the key or certificate that verifies the NRF's access tokens (PEM). With it, tokens
    /// are required and sent (TS 33.501, 13.4.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_key: Option<String>,
    /// Whether the NRF issues each token for one service of one instance, as other vendors' do: a
    /// token request names the instance, and no scope of an operation is required.
    #[serde(default)]
    pub service_tokens: bool,
    /// Hosts (`host` or `host:port`) that notifications may go to beside registered functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callbacks_allow: Vec<String>,
    /// Refuse deviations of other network functions that are tolerated otherwise.
    #[serde(default)]
    pub strict: bool,
}

fn default_timeout() -> u32 {
    5000
}

fn default_heartbeat() -> u16 {
    10
}

impl CommonConfig {
    /// The defaults for a function and its NRF at these addresses.
    pub fn at(bind: SocketAddr, nrf: SocketAddr) -> Self {
        CommonConfig {
            bind,
            advertise: None,
            nrf: format!("http://{nrf}"),
            further_nrfs: Vec::new(),
            instance_id: None,
            timeout_ms: default_timeout(),
            heartbeat_s: default_heartbeat(),
            https: false,
            token_key: None,
            service_tokens: false,
            callbacks_allow: Vec::new(),
            strict: false,
        }
    }

    /// The same with TLS.
    pub fn over_tls(mut self) -> Self {
        self.https = true;
        for nrf in std::iter::once(&mut self.nrf).chain(&mut self.further_nrfs) {
            *nrf = nrf.replacen("http://", "https://", 1);
        }
        self
    }

    /// The authority of its API root.
    pub fn authority(&self) -> String {
        self.advertise.clone().unwrap_or_else(|| self.bind.to_string())
    }
}
