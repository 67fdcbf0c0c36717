//! The positioning of a group's UEs.
use super::value::Span;
use crate::positioning::PositioningConfig;
use crate::radio_environment::{Cell, Surroundings};
use martlet_lcs_channel::{Kind, Trust};
use martlet_lcs_position::{GeoPoint, PathLoss};
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
    /// What protects the connection: `auto` is QUIC, or TLS over TCP where the LMF has no QUIC;
    /// `quinn` and `rustls` are one of them alone.
    #[serde(default = "auto")]
    pub channel: String,
    /// Milliseconds between words over QUIC while a UE waits for an answer, with which its radio
    /// keeps the grant to send; 0: none. For UEs that measure in a row; it costs energy.
    #[serde(default)]
    pub keep_alive_ms: u32,
    /// Octets of the largest IP packet to the LMF, for QUIC.
    #[serde(default = "mtu")]
    pub mtu: u16,
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
    /// Whether UEs measure round trips, too, with signals that they send themselves (multi-RTT);
    /// it needs `timing_deviation_m`, and gNBs with `trps`.
    #[serde(default)]
    pub multi_rtt: bool,
    /// Standard deviation of distances by positioning reference signals (DL-TDOA), metres; left
    /// out: UEs measure none.
    pub timing_deviation_m: Option<f64>,
    /// A folder in which each UE leaves where it is in truth when it is asked, for `martlet locate
    /// --truth`.
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
    /// The kinds of channels that are tried, in this order; none where there is no such name.
    fn channels(&self) -> Option<Vec<Kind>> {
        match self.channel.as_str() {
            "auto" => Some(vec![Kind::Quinn, Kind::Rustls]),
            name => Kind::from_name(name).filter(|kind| kind.is_async()).map(|kind| vec![kind]),
        }
    }

    /// What is wrong with it; each with the member that it is about.
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
                format!("there is no channel {:?}: write auto, {}", self.channel, kinds.join(", "));
            wrong.push(("channel".into(), text));
        }
        if self.mtu < 1280 {
            wrong.push(("mtu".into(), "QUIC needs packets of 1280 octets: write 1400".into()));
        }
        if self.track.is_empty() {
            wrong.push(("track".into(), "say where the UEs are: [{lat: 54.09, lon: 12.1}]".into()));
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
            wrong.push((
                "timing_deviation_m".into(),
                "UEs that measure round trips do so with a deviation: write 1".into(),
            ));
        }
        for (n, cell) in self.cells.iter().enumerate() {
            wrong.extend(cell.wrong().map(|why| (format!("cells[{n}]"), why)));
        }
        wrong
    }

    /// For the UEs of a network.
    pub(super) fn config(&self, plmn: Plmn) -> Result<PositioningConfig, String> {
        let roots = match &self.certificate {
            Some(path) => {
                std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?
            }
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
            surroundings: Surroundings {
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
    /// As it is in the world.
    pub(super) fn cell(&self) -> Option<Cell> {
        let place = GeoPoint { lat: self.lat, lon: self.lon };
        let identity = u64::from_str_radix(&self.nr_cell_id, 16)
            .ok()
            .filter(|_| self.nr_cell_id.len() == 9)?;
        Some(Cell { identity, pci: self.pci, arfcn: 640_000, place })
    }

    /// What is wrong with it.
    pub(super) fn wrong(&self) -> Option<String> {
        let right = self.cell().is_some_and(|cell| cell.pci <= 1007 && cell.place.is_valid());
        let why = "a cell has nine hexadecimal digits, a physical cell identity up to 1007, and a \
                   place on the Earth";
        (!right).then(|| why.into())
    }
}
