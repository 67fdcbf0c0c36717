//! PFCP messages (TS 29.244).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_pfcp::fuzz_decode(data));
