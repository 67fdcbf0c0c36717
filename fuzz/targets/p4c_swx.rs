//! P4 programs: any text gets a result or an error, and every result can be written.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| martlet_p4c_swx::fuzz_compile(data));
