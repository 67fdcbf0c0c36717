//! SBI bodies: the media type up to the first newline, then the body (TS 29.500, 4.3.3).
#![no_main]

use bytes::Bytes;
use martlet_sbi::{Encoded, Multipart, Payload, Query};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let split = data.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (media, body) = data.split_at(split);
    let content_type = String::from_utf8_lossy(media).into_owned();
    let _ = Query::parse(&content_type);
    let encoded =
        Encoded { content_type: content_type.into(), bytes: Bytes::copy_from_slice(body) };
    if let Ok(read) = Multipart::<serde_json::Value>::decode(Some(encoded)) {
        let again = read.encode().expect("a decoded body encodes");
        let back = Multipart::<serde_json::Value>::decode(again).expect("an encoded body decodes");
        // Compares the binary parts only: a JSON number of many digits is rounded at each decoding.
        assert_eq!(back.parts, read.parts);
    }
});
