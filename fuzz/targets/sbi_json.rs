//! JSON of service operations; the first byte selects the type.
#![no_main]

#[macro_use]
mod bodies;

use martlet_sbi::{Encoded, decode_json};
use martlet_sbi_api as api;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    macro_rules! one_of {
        ($($kind:ty),* $(,)?) => {{
            let readers: &[fn(&[u8])] = &[$(|text| {
                let encoded = Encoded {
                    content_type: "application/json".into(),
                    bytes: bytes::Bytes::copy_from_slice(text),
                };
                if let Ok(value) = decode_json::<$kind>(Some(encoded)) {
                    serde_json::to_vec(&value).expect("a decoded value encodes");
                }
            }),*];
            readers[usize::from(*choice) % readers.len()](text);
        }};
    }
    with_bodies!(one_of);
});
