//! The positioning of a group's UEs.
use super::value::Span;
use crate::positioning::{Cell, PositioningConfig, Surroundings};
use martlet_lcs_channel::{Kind, Trust};
use martlet_lcs_position::{PathLoss, Place};
use martlet_security::Plmn;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What UEs have for positioning, where they are, and what is around.
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
    /// The certificate, PEM, by which UEs know the LMF.
    pub certificate: Option<PathBuf>,
    /// The name or the address that the LMF's certificate has to be for.
    #[serde(default = "name")]
    pub name: String,
    /// Where UEs are; with `at`, when.
    pub track: Vec<Waypoint>,
    /// The cells that they hear.
    pub cells: Vec<CellSection>,
    /// How the cells' signals fade, and how much what is measured deviates.
    #[serde(default)]
    pub path_loss: PathLoss,
    /// Makes what is measured deviate the same way in each run.
    #[serde(default)]
    pub seed: u64,
    /// Standard deviation of the UEs' receivers for GNSS, metres; left out: they have none.
    pub gnss_deviation_m: Option<f64>,
    /// Standard deviation of distances by positioning reference signals (DL-TDOA), metres; left out: UEs measure none.
    pub timing_deviation_m: Option<f64>,
    /// A folder in which each UE leaves where it is in truth when it is asked, for `martlet locate --truth`.
    pub truth: Option<PathBuf>,
}

/// Where UEs are at a time, counted from the start.
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

fn name() -> String {
    "10.45.0.1".into()
}

impl PositioningSection {
    /// What is wrong with it; each with the member that it is about.
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        if self.lcs_upp && self.certificate.is_none() {
            wrong.push(("certificate".into(), "positioning over the user plane needs the LMF's certificate".into()));
        }
        if self.track.is_empty() {
            wrong.push(("track".into(), "say where the UEs are: [{lat: 54.09, lon: 12.1}]".into()));
        }
        for (name, value) in
            [("gnss_deviation_m", self.gnss_deviation_m), ("timing_deviation_m", self.timing_deviation_m)]
        {
            if value.is_some_and(|metres| !(0.0..=10_000.0).contains(&metres)) {
                wrong.push((name.into(), "a standard deviation is 0 to 10000 metres".into()));
            }
        }
        for (n, cell) in self.cells.iter().enumerate() {
            if identity(cell).is_none() || cell.pci > 1007 {
                let why = "a cell has nine hexadecimal digits, and a physical cell identity up to 1007";
                wrong.push((format!("cells[{n}]"), why.into()));
            }
        }
        wrong
    }

    /// For the UEs of a network.
    pub(super) fn config(&self, plmn: Plmn) -> Result<PositioningConfig, String> {
        let roots = match &self.certificate {
            Some(path) => std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?,
            None => String::new(),
        };
        let cell = |cell: &CellSection| {
            let place = Place { lat: cell.lat, lon: cell.lon };
            Some(Cell { identity: identity(cell)?, pci: cell.pci, arfcn: 640_000, place })
        };
        let at = |it: &Waypoint| (it.at.map_or(Duration::ZERO, |at| at.0), Place { lat: it.lat, lon: it.lon });
        let mut track: Vec<_> = self.track.iter().map(at).collect();
        track.sort_by_key(|(at, _)| *at);
        Ok(PositioningConfig {
            port: self.port,
            trust: Trust { roots, name: self.name.clone() },
            channel: Kind::Rustls,
            timeout: Duration::from_secs(5),
            surroundings: Surroundings {
                plmn,
                cells: self.cells.iter().filter_map(cell).collect(),
                path_loss: self.path_loss,
                track,
                started: Instant::now(),
                seed: self.seed,
                gnss_deviation_m: self.gnss_deviation_m,
                dl_tdoa: self.timing_deviation_m.is_some(),
                timing_deviation_m: self.timing_deviation_m.unwrap_or_default(),
            },
            truth: self.truth.clone(),
        })
    }
}

fn identity(cell: &CellSection) -> Option<u64> {
    u64::from_str_radix(&cell.nr_cell_id, 16).ok().filter(|_| cell.nr_cell_id.len() == 9)
}
