//! Concealed identifiers, in binary and as text (TS 33.501, 6.12).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_security::fuzz::suci(data));
