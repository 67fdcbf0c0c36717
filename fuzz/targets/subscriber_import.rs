//! Files of subscribers that users import: the first byte selects the format.
#![no_main]

// By its path: the program has dependencies that take many minutes to build with sanitizers.
#[path = "../../cli/src/exchange/mod.rs"]
#[allow(dead_code)]
mod exchange;

use exchange::{Format, read};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((format, text)) = data.split_first() else { return };
    let format = match format % 6 {
        0 => Format::Auto,
        1 => Format::Csv,
        2 => Format::Martlet,
        3 => Format::Open5gs,
        4 => Format::Free5gc,
        _ => Format::Ueransim,
    };
    let input = Box::new(std::io::Cursor::new(text.to_vec()));
    let _ = read(format, vec![input], &mut |subscriber| {
        subscriber.check().expect("an imported subscriber is checked");
        serde_json::to_vec(&subscriber).expect("an imported subscriber encodes");
        Ok(())
    });
});
