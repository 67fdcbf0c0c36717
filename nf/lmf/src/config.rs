//! The LMF's section of the configuration.
use martlet_config::Finding;
use martlet_lcs_channel::Kind;
use martlet_lcs_position::{GeoPoint, PathLoss};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The LMF's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LmfConfig {
    /// Positioning over the user plane.
    pub user_plane: UserPlaneConfig,
    /// Time limit for a UE's answer to an LPP message, milliseconds.
    pub lpp_timeout_ms: u32,
    /// Time limit for a UE to establish its user plane connection, milliseconds. After it the LMF
    /// uses NAS.
    pub connect_timeout_ms: u32,
    /// Time limit for a gNB's answer to an NRPPa message, milliseconds.
    pub nrppa_timeout_ms: u32,
    /// Time that the LMF collects TRP information from all gNBs of an AMF, milliseconds. It asks at
    /// most once a minute.
    pub trp_information_timeout_ms: u32,
    /// E-CID reports of a gNB, 120 ms apart, that are averaged for a UE without LPP. 1: a single
    /// on-demand report.
    pub ecid_reports: u32,
    /// Maximum number of location requests in progress. More are rejected.
    pub max_requests: usize,
    /// Cells of known position.
    pub cells: Vec<CellConfig>,
    /// The path loss model of their signals.
    pub path_loss: PathLoss,
}

/// Positioning over the user plane (TS 24.572).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UserPlaneConfig {
    /// Whether it is offered.
    pub enabled: bool,
    /// The address and port to listen on; with an unspecified address, at `address` alone.
    pub bind: SocketAddr,
    /// The LMF's address as sent to UEs. They have to reach it through N6.
    pub address: IpAddr,
    /// The channels to accept: `auto` (both), `quinn` (QUIC) or `rustls` (TLS over TCP).
    pub channel: String,
    /// MTU of the path to UEs, for QUIC.
    pub mtu: u16,
    /// The LMF's certificate chain, PEM. Left out: self-signed at each start.
    pub certificate: Option<PathBuf>,
    /// The key of `certificate`, PEM.
    pub key: Option<PathBuf>,
    /// File to write the self-signed certificate to, for UEs to trust.
    pub write_certificate: Option<PathBuf>,
    /// Maximum number of channels, bound to a UE or not.
    pub max_connections: usize,
    /// Maximum number of channels from one source address: an IPv4 address, or a /64 prefix. UEs
    /// behind a NAT share an address.
    pub max_connections_per_address: usize,
    /// Bytes of uplink payloads that are buffered per UE until its connection is established.
    pub early_bytes: usize,
    /// Real-time properties of the LMF's process. The start fails if one cannot be set.
    pub realtime: RealtimeConfig,
}

/// Real-time properties. They need root and apply to all network functions of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RealtimeConfig {
    /// SCHED_FIFO with priority 1 for every thread.
    pub fifo: bool,
    /// Lock memory (`mlockall`).
    pub lock_memory: bool,
    /// Set the CPU frequency governor to `performance`, if there is one.
    pub governor: bool,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellConfig {
    /// NR cell identity, nine hexadecimal digits.
    pub nr_cell_id: String,
    /// Physical cell identity, 0 to 1007.
    pub pci: u16,
    /// Position of its antenna.
    #[serde(flatten)]
    pub position: GeoPoint,
    /// Radius of the cell, metres.
    #[serde(default = "default_radius")]
    pub radius_m: f64,
}

fn default_radius() -> f64 {
    1000.0
}

impl CellConfig {
    /// The NR cell identity as a 36-bit number.
    pub fn identity(&self) -> Option<u64> {
        u64::from_str_radix(&self.nr_cell_id, 16)
            .ok()
            .filter(|id| self.nr_cell_id.len() == 9 && id >> 36 == 0)
    }
}

impl Default for LmfConfig {
    fn default() -> Self {
        LmfConfig {
            user_plane: UserPlaneConfig::default(),
            lpp_timeout_ms: 10_000,
            connect_timeout_ms: 10_000,
            nrppa_timeout_ms: 2_000,
            trp_information_timeout_ms: 200,
            ecid_reports: 1,
            max_requests: 1000,
            cells: Vec::new(),
            path_loss: PathLoss::default(),
        }
    }
}

impl Default for UserPlaneConfig {
    fn default() -> Self {
        UserPlaneConfig {
            enabled: true,
            bind: SocketAddr::from(([0, 0, 0, 0], 9127)),
            address: Ipv4Addr::new(10, 45, 0, 1).into(),
            channel: "auto".into(),
            mtu: 1400,
            certificate: None,
            key: None,
            write_certificate: None,
            max_connections: 10_000,
            max_connections_per_address: 1000,
            early_bytes: 262_144,
            realtime: RealtimeConfig::default(),
        }
    }
}

impl UserPlaneConfig {
    /// The kinds of channels to accept: at most one over TCP and one over UDP. None: unknown name.
    pub fn kinds(&self) -> Option<Vec<Kind>> {
        match self.channel.as_str() {
            "auto" => Some(vec![Kind::Rustls, Kind::Quinn]),
            name => Kind::from_name(name).filter(|kind| kind.is_async()).map(|kind| vec![kind]),
        }
    }

    /// The address of the listener for UEs.
    pub fn listener(&self) -> SocketAddr {
        let ip = if self.bind.ip().is_unspecified() { self.address } else { self.bind.ip() };
        SocketAddr::new(ip, self.bind.port())
    }

    /// Why these kinds were selected, for the log.
    pub(crate) fn channel_reason(&self) -> &'static str {
        match self.channel.as_str() {
            "auto" => "auto: quinn is faster over a radio link, rustls without one; the UE chooses",
            _ => "lmf.user_plane.channel",
        }
    }
}

impl LmfConfig {
    /// Checks the values.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (name, value) in [
            ("lpp_timeout_ms", self.lpp_timeout_ms),
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("nrppa_timeout_ms", self.nrppa_timeout_ms),
            ("trp_information_timeout_ms", self.trp_information_timeout_ms),
        ] {
            if value == 0 {
                findings.push(Finding::new(name, "with 0 no peer can answer in time: write 10000"));
            }
        }
        if !(1..=64).contains(&self.ecid_reports) {
            findings
                .push(Finding::new("ecid_reports", "the number of reports is 1 to 64: write 1"));
        }
        if self.max_requests == 0 {
            findings
                .push(Finding::new("max_requests", "with 0 every request is rejected: write 1000"));
        }
        let user_plane = &self.user_plane;
        if user_plane.mtu < 1280 {
            findings.push(Finding::new(
                "user_plane.mtu",
                "QUIC needs an MTU of at least 1280: write 1400",
            ));
        }
        if user_plane.max_connections_per_address == 0 {
            findings.push(Finding::new(
                "user_plane.max_connections_per_address",
                "with 0 every UE is rejected: write 1000",
            ));
        }
        if user_plane.kinds().is_none() {
            let kinds: Vec<_> =
                Kind::ALL.iter().filter(|kind| kind.is_async()).map(|kind| kind.name()).collect();
            let text = format!(
                "there is no channel {:?}: write auto, {}",
                user_plane.channel,
                kinds.join(", ")
            );
            findings.push(Finding::new("user_plane.channel", text));
        }
        if user_plane.certificate.is_some() != user_plane.key.is_some() {
            findings.push(Finding::new(
                "user_plane.key",
                "certificate and key belong together: write both or neither",
            ));
        }
        if user_plane.address.is_unspecified() {
            findings.push(Finding::new(
                "user_plane.address",
                "UEs connect to this address: write one that they can reach",
            ));
        }
        for (n, cell) in self.cells.iter().enumerate() {
            let at = |name: &str| format!("cells[{n}].{name}");
            if cell.identity().is_none() {
                findings.push(Finding::new(
                    at("nr_cell_id"),
                    "write nine hexadecimal digits, such as \"000000010\"",
                ));
            }
            if cell.pci > 1007 {
                findings.push(Finding::new(at("pci"), "a physical cell identity is 0 to 1007"));
            }
            if !(0.0..=1_000_000.0).contains(&cell.radius_m) {
                findings.push(Finding::new(
                    at("radius_m"),
                    "the radius of a cell is 0 to 1,000,000 metres: write 1000",
                ));
            }
            if !cell.position.is_valid() {
                findings.push(Finding::new(
                    at("lat"),
                    "latitude is -90 to 90, longitude -180 to 180 degrees",
                ));
            }
        }
        let model = &self.path_loss;
        if !(1.0..=10.0).contains(&model.exponent) {
            findings.push(Finding::new(
                "path_loss.exponent",
                "the path loss exponent is 2 in free space: write 2 to 4",
            ));
        }
        if !(-200.0..=100.0).contains(&model.at_one_metre_dbm) {
            findings.push(Finding::new(
                "path_loss.at_one_metre_dbm",
                "the power at one metre is -200 to 100 dBm: write -43",
            ));
        }
        if !(0.0..=100.0).contains(&model.deviation_db) {
            findings.push(Finding::new(
                "path_loss.deviation_db",
                "the standard deviation is 0 to 100 dB: write 2",
            ));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_give_no_position_are_found() {
        let found = |change: fn(&mut LmfConfig)| {
            let position = GeoPoint { lat: 54.0, lon: 12.0 };
            let nr_cell_id = "000000010".into();
            let mut config = LmfConfig {
                cells: vec![CellConfig { nr_cell_id, pci: 1, position, radius_m: 500.0 }],
                ..Default::default()
            };
            change(&mut config);
            config.check().len()
        };
        assert_eq!(found(|_| {}), 0);
        for change in [
            |config: &mut LmfConfig| config.cells[0].radius_m = -1.0,
            |config: &mut LmfConfig| config.cells[0].radius_m = f64::NAN,
            |config: &mut LmfConfig| config.cells[0].radius_m = f64::INFINITY,
            |config: &mut LmfConfig| config.path_loss.exponent = f64::INFINITY,
            |config: &mut LmfConfig| config.path_loss.at_one_metre_dbm = f64::NAN,
            |config: &mut LmfConfig| config.path_loss.deviation_db = -2.0,
        ] {
            assert_eq!(found(change), 1);
        }
    }
}
