//! Answers of name servers, as the UPF sees them on their way to UEs.
#![no_main]
#[allow(dead_code)]
#[path = "../../upf/rules/src/dns/answer.rs"]
mod answer;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = answer::answer_in(data);
});
