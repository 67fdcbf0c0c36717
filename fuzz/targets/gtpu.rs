//! GTP-U packets (TS 29.281).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_gtpu::fuzz_decode(data));
