//! The RSTD report mapping (TS 38.133, 10.1.23.3): steps of 2^k T_c.

/// Metres that light travels in T_c = 1/(480,000 · 4,096) s (TS 38.211, 4.1).
pub const METRES_PER_TC: f64 = 299_792_458.0 / (480_000.0 * 4096.0);
/// The largest reported difference, in T_c.
const LARGEST: f64 = 985_024.0;

/// The reported value of a difference of distances in metres, with steps of 2^k T_c, k from 0 to 5.
pub fn rstd_of_metres(metres: f64, k: u8) -> u32 {
    let step = f64::from(1u32 << k.min(5));
    let max = 2.0 * LARGEST / step + 1.0;
    ((metres / METRES_PER_TC + LARGEST) / step + 1.0).floor().clamp(0.0, max) as u32
}

/// The middle of a value's interval in metres. None for the first and last value, whose intervals
/// are unbounded.
pub fn metres_of_rstd(value: u32, k: u8) -> Option<f64> {
    let step = f64::from(1u32 << k.min(5));
    let max = (2.0 * LARGEST / step) as u32 + 1;
    (0 < value && value < max).then(|| ((f64::from(value) - 0.5) * step - LARGEST) * METRES_PER_TC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoded_difference_is_within_half_a_step() {
        for k in 0..=5 {
            let half = f64::from(1u32 << k) * METRES_PER_TC / 2.0 + 1e-9;
            for metres in [0.0, 0.4, -0.4, 250.0, -3000.0, 149_000.0, -149_000.0] {
                let back = metres_of_rstd(rstd_of_metres(metres, k), k).unwrap();
                assert!((back - metres).abs() <= half, "{metres} at {k}: {back}");
            }
        }
        assert_eq!(metres_of_rstd(rstd_of_metres(1e9, 2), 2), None);
        assert_eq!(metres_of_rstd(rstd_of_metres(-1e9, 2), 2), None);
        // The largest values of nr-RSTD (TS 37.355, 6.5.10).
        assert_eq!(
            [0u8, 1, 2, 3, 4, 5].map(|k| rstd_of_metres(1e9, k)),
            [1970049, 985025, 492513, 246257, 123129, 61565]
        );
    }
}
