//! NRPPa (TS 38.455) messages.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_nrppa::fuzz_decode(data));
