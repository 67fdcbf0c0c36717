//! The endpoint for people and their tools.
use crate::history::HistoryConfig;
use martlet_config::Finding;
use martlet_nf::traces::TracesConfig;
use serde::Deserialize;
use std::net::SocketAddr;

/// The network functions, in the order in which they start: each finds those that it needs
/// registered before it.
pub const FUNCTIONS: [&str; 11] =
    ["nrf", "udr", "udm", "ausf", "pcf", "nssf", "upf", "smf", "lmf", "amf", "chf"];

/// The endpoint for people and their tools.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OamSection {
    /// Address; with one process for each function, theirs have the ports after it.
    pub bind: SocketAddr,
    /// What each UE did.
    pub history: HistoryConfig,
    /// Spans of what functions do, for a collector.
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

    /// The address of a function that runs alone.
    pub fn of(&self, name: &str) -> SocketAddr {
        let offset = FUNCTIONS.iter().position(|n| *n == name).map_or(0, |n| n as u16 + 1);
        SocketAddr::new(self.bind.ip(), self.bind.port().saturating_add(offset))
    }
}
