//! How SS-RSRP is reported (TS 38.133, 10.1.6.1): whole decibels from -156 dBm on.

/// The value for a power: 0 is below -156 dBm, 1 is -156 to -155 dBm, 126 is -31 dBm and more.
pub fn rsrp_of_dbm(dbm: f64) -> u8 {
    // Floats saturate where they become integers.
    ((dbm + 156.0).floor() + 1.0).clamp(0.0, 126.0) as u8
}

/// The middle of the powers with a value.
pub fn dbm_of_rsrp(value: u8) -> f64 {
    f64::from(value) - 156.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_table() {
        assert_eq!(
            [-200.0, -156.1, -156.0, -155.0, -31.5, -31.0, 0.0].map(rsrp_of_dbm),
            [0, 0, 1, 2, 125, 126, 126]
        );
        for value in 1..126 {
            assert_eq!(rsrp_of_dbm(dbm_of_rsrp(value)), value);
        }
    }
}
