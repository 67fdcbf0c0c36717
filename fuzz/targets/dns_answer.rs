//! DNS responses to UEs, as the UPF inspects them.
#![no_main]
#[allow(dead_code)]
#[path = "../../upf/rules/src/dns/answer.rs"]
mod answer;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = answer::answer_in(data);
});
