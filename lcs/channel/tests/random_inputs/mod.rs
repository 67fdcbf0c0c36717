//! Feeds random inputs to a decoder for `MARTLET_FUZZ_SECONDS` (default 1). The inputs are the same
//! in each run.

use std::time::{Duration, Instant};

/// Calls `what` with random inputs until the time has passed.
pub fn run(what: impl Fn(&[u8])) {
    let seconds =
        std::env::var("MARTLET_FUZZ_SECONDS").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    let (until, mut state, mut count) =
        (Instant::now() + Duration::from_secs(seconds), 38_572u64, 0u64);
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    while Instant::now() < until {
        let length = random() % if count.is_multiple_of(50) { 20_000 } else { 300 };
        let mut bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
        // Small numbers are likely to be valid commands and content types.
        if count.is_multiple_of(2) {
            bytes.iter_mut().for_each(|byte| *byte &= 0x3f);
        }
        what(&bytes);
        count += 1;
    }
    println!("{count} inputs in {seconds} s");
}
