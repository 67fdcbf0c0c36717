//! Frames of service calls, as requests and as responses, with both encodings of a body; and
//! descriptors.
#![no_main]

use bytes::Bytes;
use martlet_fabric::channel::Descriptor;
use martlet_sbi::{Form, Multipart, ProblemDetails};
use martlet_sbi_api::nnrf_nfmanagement::NfProfile;
use martlet_sbi_fabric::frames;
use std::time::Instant;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let bytes = Bytes::copy_from_slice(bytes);
    match choice % 5 {
        0 => request_round_trip(bytes),
        1 => {
            if let Ok(got) = frames::read_request(bytes, Instant::now()) {
                let _ = got.request.body.take::<Multipart<NfProfile>>();
            }
        }
        2 => {
            if let Ok(got) = frames::read_response(bytes) {
                let _ = got.body.take::<ProblemDetails>();
            }
        }
        3 => {
            if let Ok(got) = frames::read_response(bytes) {
                let _ = got.into_problem();
            }
        }
        _ => {
            let Some(chunk) = bytes.first_chunk::<64>() else { return };
            let word = |n: usize| u64::from_ne_bytes(std::array::from_fn(|m| chunk[n * 8 + m]));
            if let Some(descriptor) = Descriptor::from_words(&std::array::from_fn(word)) {
                assert_eq!(Descriptor::from_words(&descriptor.to_words()), Some(descriptor));
            }
        }
    }
});

/// A decoded request can be encoded, and decodes to the same request again.
fn request_round_trip(bytes: Bytes) {
    let Ok(got) = frames::read_request(bytes, Instant::now()) else { return };
    let (mut encoded, now) = (Vec::new(), Instant::now());
    let written =
        frames::write_request(&got.authority, &got.request, Form::Wire, now, &mut encoded);
    if written.is_ok() {
        let twice = frames::read_request(encoded.into(), now).expect("an encoded request decodes");
        let (one, other) = (&got.request, &twice.request);
        assert_eq!((&got.authority, &one.target), (&twice.authority, &other.target));
        assert_eq!((&one.method, &one.headers), (&other.method, &other.headers));
    }
    let _ = got.request.body.take::<NfProfile>();
}
