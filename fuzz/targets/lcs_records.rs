//! TLS records of the LMF's channel, as a peer may send them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_lcs_channel::fuzz_records(data));
