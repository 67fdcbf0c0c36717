//! TLS records that a peer sends to the LMF.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_lcs_channel::fuzz_records(data));
