//! How good a measured time is, as LPP and NRPPa report it (TS 37.355, 6.4.3; TS 38.455, 9.2.43): a
//! number of steps.

/// Metres of a step of 0.1 m, 1 m, 10 m and 30 m.
const STEPS: [f64; 4] = [0.1, 1.0, 10.0, 30.0];

/// A standard deviation in metres as a value from 0 to 31 and the number of the finest step that it
/// fits in; never less than it is, up to 930 m.
pub fn quality_of_metres(metres: f64) -> (u8, u8) {
    for (n, step) in (0u8..).zip(STEPS) {
        let value = (metres.max(0.0) / step - 1e-9).ceil();
        if value <= 31.0 {
            return (value as u8, n);
        }
    }
    (31, 3)
}

/// Metres of a value and the number of its step.
pub fn metres_of_quality(value: u8, step: u8) -> f64 {
    f64::from(value) * STEPS[usize::from(step.min(3))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_is_never_told_better_than_it_is() {
        for metres in [0.0, 0.05, 0.1, 1.0, 3.1, 3.2, 25.0, 31.0, 100.0, 311.0, 900.0] {
            let (value, step) = quality_of_metres(metres);
            let told = metres_of_quality(value, step);
            assert!(told >= metres - 1e-6 && told <= metres * 1.5 + 0.1, "{metres}: {told}");
        }
        assert_eq!(quality_of_metres(1e9), (31, 3));
        assert_eq!(quality_of_metres(f64::NAN).1, 0);
    }
}
