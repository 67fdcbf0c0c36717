//! A peer of the shared-memory fabric that follows no rule: descriptors, indices, buffers, frames and connections as the
//! input plays them, in memory that is shared indeed.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    martlet_sbi_fabric::rogue::play(data).expect("memory and descriptors for a channel");
});
