//! NAS messages without a security header (TS 24.501).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_nas::fuzz::plain(data));
