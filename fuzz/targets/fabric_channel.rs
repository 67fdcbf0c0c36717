//! A malicious peer of a shared-memory channel: the input is a script of descriptors, indices,
//! buffers, frames and connections in real shared memory.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    martlet_fabric::malicious::run_script(data).expect("memory and descriptors for a channel");
});
