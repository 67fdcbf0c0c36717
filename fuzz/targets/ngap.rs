//! NGAP messages, their elements, and the responses to faulty ones (TS 38.413).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| martlet_ngap::fuzz::message(data));
