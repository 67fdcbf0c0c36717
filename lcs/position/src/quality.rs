//! The quality of a timing measurement as LPP and NRPPa report it (TS 37.355, 6.4.3; TS 38.455,
//! 9.2.43): a value and a resolution.

/// The resolutions, metres.
const RESOLUTIONS: [f64; 4] = [0.1, 1.0, 10.0, 30.0];

/// Encodes a standard deviation in metres: a value from 0 to 31 and the index of the finest
/// resolution that holds it. Rounds up; saturates at 930 m.
pub fn quality_of_metres(metres: f64) -> (u8, u8) {
    for (n, resolution) in (0u8..).zip(RESOLUTIONS) {
        let value = (metres.max(0.0) / resolution - 1e-9).ceil();
        if value <= 31.0 {
            return (value as u8, n);
        }
    }
    (31, 3)
}

/// Decodes a value and the index of its resolution to metres.
pub fn metres_of_quality(value: u8, resolution: u8) -> f64 {
    f64::from(value) * RESOLUTIONS[usize::from(resolution.min(3))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_deviation_is_never_smaller() {
        for metres in [0.0, 0.05, 0.1, 1.0, 3.1, 3.2, 25.0, 31.0, 100.0, 311.0, 900.0] {
            let (value, step) = quality_of_metres(metres);
            let decoded = metres_of_quality(value, step);
            assert!(
                decoded >= metres - 1e-6 && decoded <= metres * 1.5 + 0.1,
                "{metres}: {decoded}"
            );
        }
        assert_eq!(quality_of_metres(1e9), (31, 3));
        assert_eq!(quality_of_metres(f64::NAN).1, 0);
    }
}
