//! What puts datagrams in order under LCS-UPP over DTLS.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_lab_channels::fuzz_arq(data));
