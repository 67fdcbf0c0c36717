//! The N2 SM information of a PDU session (TS 38.413, 9.3.4).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_ngap::fuzz::transfers(data));
