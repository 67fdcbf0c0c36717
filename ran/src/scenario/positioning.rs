//! The positioning of a group's UEs.
use super::error::ScenarioError;
use super::value::Span;
use crate::positioning::PositioningConfig;
use crate::radio_environment::{Cell, RadioEnvironment};
use martlet_lcs_channel::{Kind, Trust};
use martlet_lcs_position::{GeoPoint, PathLoss};
use martlet_security::Plmn;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Positioning capabilities, position and radio environment of the UEs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositioningSection {
    /// LPP in NAS.
    #[serde(default = "yes")]
    pub lpp: bool,
    /// Positioning over the user plane; it needs `netns` and `certificate`.
    #[serde(default)]
    pub lcs_upp: bool,
    /// The LMF's port.
    #[serde(default = "port")]
    pub port: u16,
    /// PEM file with the certificate that UEs trust as the LMF's.
    pub certificate: Option<PathBuf>,
    /// The channel: `auto` is QUIC, or TLS over TCP if the LMF has no QUIC; `quinn` is QUIC only,
    /// `rustls` TLS only.
    #[serde(default = "auto")]
    pub channel: String,
    /// Period of QUIC keep-alive probes while a UE waits for an answer, milliseconds; 0: none.
    /// They keep the uplink grant of a UE that measures repeatedly, and cost energy.
    #[serde(default)]
    pub keep_alive_ms: u32,
    /// Largest IP packet to the LMF, for QUIC, bytes.
    #[serde(default = "mtu")]
    pub mtu: u16,
    /// The name or address in the LMF's certificate.
    #[serde(default = "name")]
    pub name: String,
    /// Positions of the UEs, and with `at` their times.
    pub track: Vec<Waypoint>,
    /// The cells that UEs receive.
    pub cells: Vec<CellSection>,
    /// Path loss model, with the deviation of measurements.
    #[serde(default)]
    pub path_loss: PathLoss,
    /// Random seed.
    #[serde(default)]
    pub seed: u64,
    /// Standard deviation of the UEs' GNSS receivers, metres; absent: no receiver.
    pub gnss_deviation_m: Option<f64>,
    /// Whether UEs support multi-RTT. It needs `timing_deviation_m`, and gNBs with `trps`.
    #[serde(default)]
    pub multi_rtt: bool,
    /// Standard deviation of distances measured with positioning reference signals (DL-TDOA),
    /// metres; absent: UEs do not support them.
    pub timing_deviation_m: Option<f64>,
    /// A folder in which each UE writes its true position at each location request, for `martlet
    /// locate --truth`.
    pub truth: Option<PathBuf>,
}

/// A position of the UEs at a time since the start.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Waypoint {
    pub at: Option<Span>,
    pub lat: f64,
    pub lon: f64,
}

/// A cell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSection {
    /// NR cell identity, nine hexadecimal digits.
    pub nr_cell_id: String,
    /// Physical cell identity.
    pub pci: u16,
    #[allow(missing_docs)]
    pub lat: f64,
    #[allow(missing_docs)]
    pub lon: f64,
}

fn yes() -> bool {
    true
}

fn port() -> u16 {
    9127
}

fn auto() -> String {
    "auto".into()
}

fn mtu() -> u16 {
    1400
}

fn name() -> String {
    "10.45.0.1".into()
}

impl PositioningSection {
    /// The channel kinds in the order of attempts; `None` for an unknown name.
    fn channels(&self) -> Option<Vec<Kind>> {
        match self.channel.as_str() {
            "auto" => Some(vec![Kind::Quinn, Kind::Rustls]),
            name => Kind::from_name(name).filter(|kind| kind.is_async()).map(|kind| vec![kind]),
        }
    }

    /// The errors, each with the key that it is about.
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        if self.lcs_upp && self.certificate.is_none() {
            wrong.push((
                "certificate".into(),
                "positioning over the user plane needs the LMF's certificate".into(),
            ));
        }
        if self.channels().is_none() {
            let kinds: Vec<_> =
                Kind::ALL.iter().filter(|kind| kind.is_async()).map(|kind| kind.name()).collect();
            let text =
                format!("unknown channel {:?}: write auto, {}", self.channel, kinds.join(", "));
            wrong.push(("channel".into(), text));
        }
        if self.mtu < 1280 {
            wrong.push((
                "mtu".into(),
                "QUIC needs packets of at least 1280 bytes: write 1400".into(),
            ));
        }
        if self.track.is_empty() {
            wrong.push((
                "track".into(),
                "at least one position is needed: [{lat: 54.09, lon: 12.1}]".into(),
            ));
        }
        for (name, value) in [
            ("gnss_deviation_m", self.gnss_deviation_m),
            ("timing_deviation_m", self.timing_deviation_m),
        ] {
            if value.is_some_and(|metres| !(0.0..=10_000.0).contains(&metres)) {
                wrong.push((name.into(), "a standard deviation is 0 to 10000 metres".into()));
            }
        }
        if self.multi_rtt && self.timing_deviation_m.is_none() {
            wrong
                .push(("timing_deviation_m".into(), "multi-RTT needs a deviation: write 1".into()));
        }
        for (n, cell) in self.cells.iter().enumerate() {
            wrong.extend(cell.wrong().map(|why| (format!("cells[{n}]"), why)));
        }
        wrong
    }

    /// The configuration of a UE in a PLMN.
    pub(super) fn config(
        &self,
        group: &str,
        plmn: Plmn,
    ) -> Result<PositioningConfig, ScenarioError> {
        let roots = match &self.certificate {
            Some(path) => std::fs::read_to_string(path).map_err(|error| {
                ScenarioError::Certificate { group: group.to_owned(), path: path.clone(), error }
            })?,
            None => String::new(),
        };
        let at = |it: &Waypoint| {
            (it.at.map_or(Duration::ZERO, |at| at.0), GeoPoint { lat: it.lat, lon: it.lon })
        };
        let mut track: Vec<_> = self.track.iter().map(at).collect();
        track.sort_by_key(|(at, _)| *at);
        Ok(PositioningConfig {
            port: self.port,
            trust: Trust { roots, name: self.name.clone() },
            channels: self.channels().unwrap_or_default(),
            timeout: Duration::from_secs(5),
            keep_alive: Duration::from_millis(self.keep_alive_ms.into()),
            mtu: self.mtu,
            environment: RadioEnvironment {
                plmn,
                cells: self.cells.iter().filter_map(CellSection::cell).collect(),
                path_loss: self.path_loss,
                track,
                started: Instant::now(),
                seed: self.seed,
                gnss_deviation_m: self.gnss_deviation_m,
                dl_tdoa: self.timing_deviation_m.is_some(),
                multi_rtt: self.multi_rtt,
                timing_deviation_m: self.timing_deviation_m.unwrap_or_default(),
            },
            truth: self.truth.clone(),
        })
    }
}

impl CellSection {
    /// The cell; `None` for an invalid identity.
    pub(super) fn cell(&self) -> Option<Cell> {
        let position = GeoPoint { lat: self.lat, lon: self.lon };
        let identity = u64::from_str_radix(&self.nr_cell_id, 16)
            .ok()
            .filter(|_| self.nr_cell_id.len() == 9)?;
        Some(Cell { identity, pci: self.pci, arfcn: 640_000, position })
    }

    /// Why the cell is invalid.
    pub(super) fn wrong(&self) -> Option<String> {
        let right = self.cell().is_some_and(|cell| cell.pci <= 1007 && cell.position.is_valid());
        let why = "a cell needs nine hexadecimal digits, a physical cell identity up to 1007, and \
                   valid coordinates";
        (!right).then(|| why.into())
    }
}
