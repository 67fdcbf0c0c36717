//! The ordering and retransmission of datagrams (ARQ) under LCS-UPP over DTLS.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_lab_channels::fuzz_arq(data));
