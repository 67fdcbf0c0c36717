//! The SS-RSRP report mapping (TS 38.133, 10.1.6.1): steps of 1 dB from -156 dBm.

/// The reported value of a power: 0 below -156 dBm, 1 for -156 to -155 dBm, 126 from -31 dBm.
pub fn rsrp_of_dbm(dbm: f64) -> u8 {
    ((dbm + 156.0).floor() + 1.0).clamp(0.0, 126.0) as u8
}

/// The middle of a value's interval, dBm.
pub fn dbm_of_rsrp(value: u8) -> f64 {
    f64::from(value) - 156.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_is_that_of_ts_38_133() {
        assert_eq!(
            [-200.0, -156.1, -156.0, -155.0, -31.5, -31.0, 0.0].map(rsrp_of_dbm),
            [0, 0, 1, 2, 125, 126, 126]
        );
        for value in 1..126 {
            assert_eq!(rsrp_of_dbm(dbm_of_rsrp(value)), value);
        }
    }
}
