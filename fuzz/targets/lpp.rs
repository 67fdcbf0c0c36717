//! LPP (TS 37.355) messages.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_lpp::fuzz_decode(data));
