//! EAP-AKA' packets (RFC 9048).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_eap::fuzz::packet(data));
