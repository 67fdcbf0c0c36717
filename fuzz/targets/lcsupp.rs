//! LCS-UPP and UPP-CM (TS 24.572) messages.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_lcsupp::fuzz_decode(data));
