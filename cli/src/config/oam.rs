//! Operation and maintenance (OAM): the endpoint for status and metrics, the UE history, and
//! traces.
use crate::ue_history::HistoryConfig;
use martlet_config::Finding;
use martlet_nf::traces::TracesConfig;
use serde::Deserialize;
use std::net::SocketAddr;

/// The network functions in start order. Each one starts after those that it depends on.
pub const FUNCTIONS: [&str; 11] =
    ["nrf", "udr", "udm", "ausf", "pcf", "nssf", "upf", "smf", "lmf", "amf", "chf"];

/// Section `oam`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OamSection {
    /// Address of the endpoint. With one process for each function, theirs have the following
    /// ports.
    pub bind: SocketAddr,
    /// The UE history.
    pub history: HistoryConfig,
    /// Export of OpenTelemetry spans.
    pub traces: TracesConfig,
}

impl Default for OamSection {
    fn default() -> Self {
        let bind = SocketAddr::from(([127, 0, 0, 1], 9090));
        OamSection { bind, history: HistoryConfig::default(), traces: TracesConfig::default() }
    }
}

impl OamSection {
    pub(super) fn check(&self) -> Vec<Finding> {
        self.traces
            .check()
            .into_iter()
            .map(|(name, wrong)| Finding::new(name, wrong).within("traces"))
            .collect()
    }

    /// The address of the endpoint of a function in a process of its own.
    pub fn of(&self, name: &str) -> SocketAddr {
        let offset = FUNCTIONS.iter().position(|n| *n == name).map_or(0, |n| n as u16 + 1);
        SocketAddr::new(self.bind.ip(), self.bind.port().saturating_add(offset))
    }
}
