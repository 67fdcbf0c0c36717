//! Bodies of the SBI: the media type up to the first line end, then the body (TS 29.500, 4.3.3).
#![no_main]

use bytes::Bytes;
use martlet_sbi::{Encoded, Multipart, Payload, Query};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let split = data.iter().position(|octet| *octet == b'\n').unwrap_or(0);
    let (media, body) = data.split_at(split);
    let content_type = String::from_utf8_lossy(media).into_owned();
    let _ = Query::parse(&content_type);
    let encoded =
        Encoded { content_type: content_type.into(), bytes: Bytes::copy_from_slice(body) };
    if let Ok(read) = Multipart::<serde_json::Value>::decode(Some(encoded)) {
        let again = read.encode().expect("a body that was read encodes");
        let back =
            Multipart::<serde_json::Value>::decode(again).expect("a body that was encoded decodes");
        // Not the JSON: a number of many digits is rounded each time that it is read.
        assert_eq!(back.parts, read.parts);
    }
});
