//! The LMF's section of the configuration.
use martlet_config::Finding;
use martlet_lcs_channel::Kind;
use martlet_lcs_position::{GeoPoint, PathLoss};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// What the LMF takes on, where UEs reach it, and what it knows of the radio network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LmfConfig {
    /// Positioning over the user plane.
    pub user_plane: UserPlaneConfig,
    /// Milliseconds that a UE may take to answer an LPP message.
    pub lpp_ms: u32,
    /// Milliseconds that a UE may take to bring up its user plane connection, before it is asked
    /// over NAS.
    pub connect_ms: u32,
    /// Milliseconds that a gNB may take to answer an NRPPa message.
    pub nrppa_ms: u32,
    /// Milliseconds within which all gNBs tell where they send and receive; asked once a minute at
    /// the most.
    pub gnbs_ms: u32,
    /// Reports of a gNB, 120 ms apart, that are averaged for a UE that cannot be asked itself; 1:
    /// it is asked once.
    pub ecid_reports: u32,
    /// Requests under way at a time; more are refused until some end.
    pub max_requests: usize,
    /// Cells whose places are known.
    pub cells: Vec<CellConfig>,
    /// How their signals fade.
    pub path_loss: PathLoss,
}

/// Positioning over the user plane (TS 24.572).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UserPlaneConfig {
    /// Whether there is any.
    pub enabled: bool,
    /// Where UEs' connections are taken.
    pub bind: SocketAddr,
    /// The address that UEs are told; it has to be one that they reach through N6.
    pub address: IpAddr,
    /// How UEs' connections are protected: `auto` is QUIC, and TLS over TCP beside it for UEs that
    /// have no QUIC, each by the library that was measured to be the fastest; `quinn`,
    /// `rustls` or another name is that alone.
    pub channel: String,
    /// Octets of the largest IP packet of the path to UEs, for QUIC.
    pub mtu: u16,
    /// The certificate chain of the LMF, PEM, with its key; left out, one is made at every start.
    pub certificate: Option<PathBuf>,
    /// The key, PEM.
    pub key: Option<PathBuf>,
    /// Where the certificate that was made at the start is written, for UEs to know the LMF by.
    pub write_certificate: Option<PathBuf>,
    /// Connections at a time, with those that have not said yet whose they are.
    pub max_connections: usize,
    /// Octets of a UE's messages that are kept while its connection is not complete.
    pub early_octets: usize,
    /// Real-time properties of the process that the LMF is in; the start fails where one is not in
    /// force.
    pub realtime: RealtimeConfig,
}

/// Real-time properties. They need the rights of root, and hold for all functions of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RealtimeConfig {
    /// SCHED_FIFO with priority 1, for every thread.
    pub fifo: bool,
    /// Memory stays in memory.
    pub lock_memory: bool,
    /// The processors' governor is `performance`, where there is one.
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
    /// Where its antenna is.
    #[serde(flatten)]
    pub position: GeoPoint,
    /// Metres within which its UEs are.
    #[serde(default = "default_radius")]
    pub radius_m: f64,
}

fn default_radius() -> f64 {
    1000.0
}

impl CellConfig {
    /// The identity as a number of 36 bits.
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
            lpp_ms: 10_000,
            connect_ms: 10_000,
            nrppa_ms: 2_000,
            gnbs_ms: 200,
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
            early_octets: 262_144,
            realtime: RealtimeConfig::default(),
        }
    }
}

impl UserPlaneConfig {
    /// The kinds of channels that are taken, at most one over TCP and one over UDP; none where the
    /// name is none of this build.
    pub fn kinds(&self) -> Option<Vec<Kind>> {
        match self.channel.as_str() {
            "auto" => Some(vec![Kind::Rustls, Kind::Quinn]),
            name => Kind::from_name(name).filter(|kind| kind.is_async()).map(|kind| vec![kind]),
        }
    }

    /// Why it is these, for the log.
    pub(crate) fn why(&self) -> &'static str {
        match self.channel.as_str() {
            "auto" => {
                "auto: quinn is the fastest where there is a radio, rustls where there is none; \
                 the UE takes what it has"
            }
            _ => "lmf.user_plane.channel",
        }
    }
}

impl LmfConfig {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (name, value) in [
            ("lpp_ms", self.lpp_ms),
            ("connect_ms", self.connect_ms),
            ("nrppa_ms", self.nrppa_ms),
            ("gnbs_ms", self.gnbs_ms),
        ] {
            if value == 0 {
                findings.push(Finding::new(name, "0 lets nobody answer: write 10000"));
            }
        }
        if !(1..=64).contains(&self.ecid_reports) {
            findings.push(Finding::new("ecid_reports", "1 to 64 reports are averaged: write 1"));
        }
        if self.max_requests == 0 {
            findings.push(Finding::new("max_requests", "0 answers nobody: write 1000"));
        }
        let user_plane = &self.user_plane;
        if user_plane.mtu < 1280 {
            findings.push(Finding::new(
                "user_plane.mtu",
                "QUIC needs packets of 1280 octets: write 1400",
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
                "a certificate and its key go together: write both, or none",
            ));
        }
        if user_plane.address.is_unspecified() {
            findings.push(Finding::new(
                "user_plane.address",
                "UEs are told this address: write one that they can reach",
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
            if !cell.position.is_valid() {
                findings.push(Finding::new(
                    at("lat"),
                    "latitude is -90 to 90, longitude -180 to 180 degrees",
                ));
            }
        }
        if self.path_loss.exponent.is_nan() || self.path_loss.exponent < 1.0 {
            findings.push(Finding::new(
                "path_loss.exponent",
                "signals fade with 2 in free space: write 2 to 4",
            ));
        }
        findings
    }
}
