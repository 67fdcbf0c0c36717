//! The path loss model: signal strength as a function of distance.

use serde::{Deserialize, Serialize};

/// Log-distance path loss. The received power is `at_one_metre_dbm - 10 exponent log10(metres)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathLoss {
    /// SS-RSRP at one metre, dBm.
    pub at_one_metre_dbm: f64,
    /// Path loss exponent: 2 in free space, 2 to 4 in towns and buildings.
    pub exponent: f64,
    /// Standard deviation of measurements (shadowing and noise), dB.
    pub deviation_db: f64,
}

impl Default for PathLoss {
    /// 3.5 GHz, 0 dBm per resource element, outdoors.
    fn default() -> Self {
        PathLoss { at_one_metre_dbm: -43.0, exponent: 2.2, deviation_db: 2.0 }
    }
}

impl PathLoss {
    /// Received power at a distance in metres, dBm. Constant below one metre.
    pub fn dbm(&self, metres: f64) -> f64 {
        self.at_one_metre_dbm - 10.0 * self.exponent * metres.max(1.0).log10()
    }

    /// Distance at which this power in dBm is received, metres.
    pub fn metres(&self, dbm: f64) -> f64 {
        10f64.powf((self.at_one_metre_dbm - dbm) / (10.0 * self.exponent)).max(1.0)
    }

    /// Decrease of the received power per metre at this distance, dB.
    pub fn slope(&self, metres: f64) -> f64 {
        10.0 * self.exponent / (std::f64::consts::LN_10 * metres.max(1.0))
    }
}
