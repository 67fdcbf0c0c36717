//! JSON patches of consumers (RFC 6902): the document up to the first newline, then the patch.
#![no_main]

use bytes::Bytes;
use martlet_sbi::{Encoded, JsonPatch, Payload};

/// Bytes that a patch may add to a document, by `sbi/core/src/patch.rs`, with room for escapes.
const MAX_GROWTH: usize = 2 << 20;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let split = data.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (document, patch) = data.split_at(split);
    let Ok(document) = serde_json::from_slice::<serde_json::Value>(document) else { return };
    let encoded = Encoded {
        content_type: "application/json-patch+json".into(),
        bytes: Bytes::copy_from_slice(patch),
    };
    let Ok(patch) = JsonPatch::decode(Some(encoded)) else { return };
    let size = document.to_string().len();
    match patch.apply_to_json(document) {
        Ok(patched) => assert!(patched.to_string().len() <= size + MAX_GROWTH, "it grows"),
        Err(error) => {
            let _ = error.into_problem();
        }
    }
});
