//! P4 programs: whatever text it is, the compiler answers, and what it takes it can write.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| martlet_p4c_swx::fuzz_compile(data));
