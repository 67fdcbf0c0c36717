//! NAS messages as AMF and UE receive them, under fixed keys (TS 24.501, 4.4).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_nas::fuzz::secured(data));
