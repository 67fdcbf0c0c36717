//! Configuration files: YAML, and the lines that an error report names.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match martlet_config::read::<serde_json::Value>("fuzz.yaml", text) {
        Ok((_, lines)) => {
            let _ = lines.of("amf.plmn");
        }
        Err(report) => {
            let _ = report.to_string();
        }
    }
});
