//! How a signal fades with the distance.

use serde::{Deserialize, Serialize};

/// Log-distance path loss: what is received is `at_one_metre_dbm - 10 exponent log10(metres)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathLoss {
    /// SS-RSRP at one metre, dBm.
    pub at_one_metre_dbm: f64,
    /// 2 in free space, 2 to 4 in towns and buildings.
    pub exponent: f64,
    /// Standard deviation of what is measured around it, dB: shadowing and noise.
    pub deviation_db: f64,
}

impl Default for PathLoss {
    /// 3.5 GHz with 0 dBm a resource element, in the street.
    fn default() -> Self {
        PathLoss { at_one_metre_dbm: -43.0, exponent: 2.2, deviation_db: 2.0 }
    }
}

impl PathLoss {
    /// dBm at a distance in metres; nearer than a metre it does not get stronger.
    pub fn dbm(&self, metres: f64) -> f64 {
        self.at_one_metre_dbm - 10.0 * self.exponent * metres.max(1.0).log10()
    }

    /// Metres at which so many dBm are received.
    pub fn metres(&self, dbm: f64) -> f64 {
        10f64.powf((self.at_one_metre_dbm - dbm) / (10.0 * self.exponent)).max(1.0)
    }

    /// How much less is received a metre farther, dB.
    pub fn slope(&self, metres: f64) -> f64 {
        10.0 * self.exponent / (std::f64::consts::LN_10 * metres.max(1.0))
    }
}
