//! Frames of service calls, as requests and as answers, in both forms of a body; and single descriptors.
#![no_main]

use bytes::Bytes;
use martlet_sbi::{Form, Multipart, ProblemDetails};
use martlet_sbi_api::nnrf_nfmanagement::NfProfile;
use martlet_sbi_fabric::channel::Descriptor;
use martlet_sbi_fabric::frames;
use std::time::Instant;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, octets)) = data.split_first() else { return };
    let octets = Bytes::copy_from_slice(octets);
    match choice % 5 {
        0 => {
            let Ok(got) = frames::read_request(octets, Instant::now()) else { return };
            // What was read can be written, and is the same when it is read again.
            let mut again = Vec::new();
            if frames::write_request(&got.authority, &got.request, Form::Wire, Instant::now(), &mut again).is_ok() {
                let twice = frames::read_request(again.into(), Instant::now()).expect("what was written can be read");
                assert_eq!((&got.authority, &got.request.target), (&twice.authority, &twice.request.target));
                assert_eq!((&got.request.method, &got.request.headers), (&twice.request.method, &twice.request.headers));
            }
            let _ = got.request.body.take::<NfProfile>();
        }
        1 => {
            if let Ok(got) = frames::read_request(octets, Instant::now()) {
                let _ = got.request.body.take::<Multipart<NfProfile>>();
            }
        }
        2 => {
            if let Ok(got) = frames::read_response(octets) {
                let _ = got.body.take::<ProblemDetails>();
            }
        }
        3 => {
            if let Ok(got) = frames::read_response(octets) {
                let _ = got.into_problem();
            }
        }
        _ => {
            let Some(words) = octets.first_chunk::<64>() else { return };
            let words = std::array::from_fn(|n| u64::from_ne_bytes(std::array::from_fn(|m| words[n * 8 + m])));
            if let Some(descriptor) = Descriptor::from_words(&words) {
                assert_eq!(Descriptor::from_words(&descriptor.to_words()), Some(descriptor));
            }
        }
    }
});
