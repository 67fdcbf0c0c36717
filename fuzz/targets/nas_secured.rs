//! NAS messages as AMF and UE receive them, under fixed keys (TS 24.501, 4.4). The first byte of
//! the input selects the receiver and its security context.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some((scenario, message)) = data.split_first() {
        martlet_nas::fuzz::secured_in(*scenario, message);
    }
});
