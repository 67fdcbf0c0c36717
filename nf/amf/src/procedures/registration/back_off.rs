//! Back-off timer values (T3346, T3502) as GPRS timer 2.
use martlet_nas::NasGprsTimer2;

/// T3346 of a rejection with this back-off time in seconds.
pub(crate) fn t3346(seconds: Option<u32>) -> Option<NasGprsTimer2> {
    NasGprsTimer2::from_seconds(back_off(seconds?)).ok()
}

/// The shortest encodable time that is not below `seconds` (TS 24.008, 10.5.7.3).
pub(crate) fn back_off(seconds: u32) -> u64 {
    let steps = [2_u64, 60, 360];
    let counts = steps.iter().map(|step| (u64::from(seconds).div_ceil(*step).max(1), step));
    counts
        .filter(|(count, _)| *count <= 31)
        .map(|(count, step)| count * step)
        .min()
        .unwrap_or(31 * 360)
}
