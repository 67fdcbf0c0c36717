//! Operation and maintenance (OAM): the endpoint for status and metrics, the UE history, and
//! traces.
use super::FabricSection;
use crate::ue_history::HistoryConfig;
use martlet_config::Finding;
use martlet_nf::oam::OamEndpoint;
use martlet_nf::traces::TracesConfig;
use martlet_oam::ApiConfig;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The network functions in start order. Each one starts after those that it depends on.
pub const FUNCTIONS: [&str; 11] =
    ["nrf", "udr", "udm", "ausf", "pcf", "nssf", "upf", "smf", "lmf", "amf", "chf"];

/// The name of the function that serves the API. It has no SBI, and no function depends on it.
pub const API_FUNCTION: &str = "oam";

/// The names of all processes of a split core.
pub const PROCESSES: [&str; 12] =
    ["nrf", "udr", "udm", "ausf", "pcf", "nssf", "upf", "smf", "lmf", "amf", "chf", API_FUNCTION];

/// Endpoints of further UPFs.
const MAX_UPFS: usize = 64;

/// Section `oam`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OamSection {
    /// Socket of the endpoint. Default: `oam.sock` beside `fabric.socket`. With one process for
    /// each function, theirs are `oam-amf.sock` and so on.
    pub socket: Option<PathBuf>,
    /// User IDs that may use the socket, besides root and the user of the core.
    pub users: Vec<u32>,
    /// Address of the endpoint over TCP. Default: none. With one process for each function, theirs
    /// have the following ports.
    pub listen: Option<SocketAddr>,
    /// File of the token for requests over TCP. Default: `oam.token` beside the socket.
    pub token_file: Option<PathBuf>,
    /// Host names in requests over TCP, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The UE history.
    pub history: HistoryConfig,
    /// Export of OpenTelemetry spans.
    pub traces: TracesConfig,
    /// The northbound API and the console: the function `oam`.
    pub api: ApiConfig,
    /// OAM endpoints of UPFs of this core's SMF that run with configurations of their own, so that
    /// the overview has their figures: the path of a socket, or an address, which needs the token
    /// of `token_file`.
    pub upfs: Vec<String>,
    /// The watchdog of a core in one process.
    pub watchdog: WatchdogSection,
}

/// The watchdog of a core in one process.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WatchdogSection {
    /// The process ends when a function has blocked its thread for this long. 0: no watchdog.
    pub limit_ms: u32,
}

impl Default for WatchdogSection {
    fn default() -> Self {
        // Before the service manager's own watchdog, which has no name for the function.
        WatchdogSection { limit_ms: 8000 }
    }
}

impl OamSection {
    pub(super) fn check(&self, fabric: &FabricSection) -> Vec<Finding> {
        let mut findings: Vec<_> = self
            .traces
            .check()
            .into_iter()
            .map(|(name, wrong)| Finding::new(name, wrong).within("traces"))
            .collect();
        let wrong =
            |error: martlet_oam::ConfigError| Finding::new(error.key, error.message).within("api");
        findings.extend(self.api.check().into_iter().map(wrong));
        if self.upfs.len() > MAX_UPFS {
            findings.push(Finding::new("upfs", format!("at most {MAX_UPFS} endpoints are read")));
        }
        // Maximum length of sun_path, unix(7).
        let is_too_long =
            |name: &&str| self.endpoint(fabric, Some(name)).socket.as_os_str().len() > 107;
        if FUNCTIONS.iter().any(is_too_long) {
            findings.push(Finding::new(
                "socket",
                "the path of a socket has at most 107 bytes, with the name of a function: write a \
                 shorter one",
            ));
        }
        findings
    }

    /// The socket of the API: `api.sock` beside `oam.sock`. Cores whose `oam.socket` differs in the
    /// same folder have different ones: `other-api.sock` beside `other.sock`.
    pub fn api_socket(&self, fabric: &FabricSection) -> PathBuf {
        let beside = || {
            let core = self.endpoint(fabric, None).socket;
            let name = match core.file_stem().and_then(|stem| stem.to_str()) {
                Some("oam") | None => "api.sock".to_string(),
                Some(other) => format!("{other}-api.sock"),
            };
            core.with_file_name(name)
        };
        self.api.socket.clone().unwrap_or_else(beside)
    }

    /// The endpoint of the core, or of a function in a process of its own.
    pub fn endpoint(&self, fabric: &FabricSection, function: Option<&str>) -> OamEndpoint {
        let core =
            self.socket.clone().unwrap_or_else(|| fabric.socket().with_file_name("oam.sock"));
        let token_file =
            self.token_file.clone().unwrap_or_else(|| core.with_file_name("oam.token"));
        let socket = match function {
            Some(name) => {
                let stem = core.file_stem().and_then(|stem| stem.to_str()).unwrap_or("oam");
                core.with_file_name(format!("{stem}-{name}.sock"))
            }
            None => core,
        };
        OamEndpoint {
            socket,
            users: self.users.clone(),
            listen: self.listen.map(|address| port_of(address, function)),
            token_file,
            hosts: self.hosts.clone(),
        }
    }
}

/// The TCP address of the core, or of a function in a process of its own.
fn port_of(core: SocketAddr, function: Option<&str>) -> SocketAddr {
    let position = PROCESSES.iter().position(|name| Some(*name) == function);
    let offset = position.map_or(0, |n| n as u16 + 1);
    SocketAddr::new(core.ip(), core.port().saturating_add(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processes_are_those_of_the_functions_and_the_api() {
        assert_eq!(PROCESSES[..FUNCTIONS.len()], FUNCTIONS);
        assert_eq!(PROCESSES[FUNCTIONS.len()..], [API_FUNCTION]);
    }

    #[test]
    fn functions_have_sockets_and_ports_of_their_own() {
        let section = OamSection {
            socket: Some("/run/x/core.sock".into()),
            listen: "127.0.0.1:9090".parse().ok(),
            ..OamSection::default()
        };
        let fabric = FabricSection::default();
        let core = section.endpoint(&fabric, None);
        assert_eq!(core.socket, PathBuf::from("/run/x/core.sock"));
        assert_eq!(core.token_file, PathBuf::from("/run/x/oam.token"));
        let udr = section.endpoint(&fabric, Some("udr"));
        assert_eq!(udr.socket, PathBuf::from("/run/x/core-udr.sock"));
        assert_eq!(udr.listen.map(|address| address.port()), Some(9092));
        assert_eq!(udr.token_file, core.token_file);
        let api = section.endpoint(&fabric, Some(API_FUNCTION));
        assert_eq!(api.listen.map(|address| address.port()), Some(9102));
        assert_eq!(section.api_socket(&fabric), PathBuf::from("/run/x/core-api.sock"));
        let fabric = FabricSection { socket: Some("/run/y/f.sock".into()), ..fabric };
        let api = OamSection::default().api_socket(&fabric);
        assert_eq!(api, PathBuf::from("/run/y/api.sock"));
        let default = OamSection::default().endpoint(&fabric, None);
        assert_eq!((default.socket, default.listen), ("/run/y/oam.sock".into(), None));
    }
}
