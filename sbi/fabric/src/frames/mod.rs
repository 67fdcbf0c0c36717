//! The encoding of requests and responses: the semantics of HTTP without its framing.
//!
//! | message | fields |
//! | --- | --- |
//! | request | body form, method, time left in ms (4 bytes), authority, target, headers, body |
//! | response | body form, status (2 bytes), headers, body |
//!
//! A body is a media type and the bytes up to the end of the frame; form 0 stands for no body.
//! Numbers are little-endian. Common methods, header names and media types are one byte (see
//! `tokens`); others are a byte 0 and a length-prefixed text.
mod read;
mod tokens;
mod write;

pub use read::{read_request, read_response};
pub use write::{Written, write_request, write_response};

use martlet_sbi::Request;

/// Maximum number of headers of a message.
const MAX_HEADERS: usize = 64;

/// A frame that does not decode; the text names the invalid field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid frame: {0}")]
pub struct InvalidFrame(&'static str);

/// A decoded request.
pub struct Incoming {
    /// The authority that it is addressed to.
    pub authority: String,
    /// The request.
    pub request: Request,
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{HeaderMap, HeaderName, HeaderValue, Method};
    use martlet_sbi::{
        Body, Form, JsonPatch, Multipart, PatchItem, Payload, Response, content_type, headers,
    };
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::time::{Duration, Instant};

    fn fields() -> HeaderMap {
        let mut fields = HeaderMap::new();
        fields.insert(http::header::USER_AGENT, HeaderValue::from_static("AMF"));
        fields.insert(headers::CORRELATION_INFO, HeaderValue::from_static("imsi-001010000000001"));
        fields.insert(
            HeaderName::from_static("x-other"),
            HeaderValue::from_bytes(b"\xe4 b").unwrap(),
        );
        fields.append(http::header::VIA, HeaderValue::from_static("1"));
        fields.append(http::header::VIA, HeaderValue::from_static("2"));
        fields
    }

    fn request(method: Method, body: Body, deadline: Option<Instant>) -> Request {
        Request {
            operation: None,
            method,
            target: "/a/v1/b?c=d".into(),
            headers: fields(),
            body,
            deadline,
        }
    }

    fn over(request: &Request, form: Form) -> Incoming {
        let mut out = Vec::new();
        write_request("127.0.0.1:80", request, form, Instant::now(), &mut out).unwrap();
        read_request(Bytes::from(out), Instant::now()).unwrap()
    }

    #[test]
    fn requests_survive_a_round_trip() {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "REPORT"] {
            let sent = request(method.parse().unwrap(), Body::empty(), None);
            let got = over(&sent, Form::Wire);
            assert_eq!(got.authority, "127.0.0.1:80");
            let got = got.request;
            assert_eq!(
                (&got.method, &got.target, &got.headers),
                (&sent.method, &sent.target, &sent.headers)
            );
            assert!(got.body.is_absent() && got.deadline.is_none());
        }
        let deadline = Instant::now() + Duration::from_millis(700);
        let got = over(&request(Method::GET, Body::empty(), Some(deadline)), Form::Wire)
            .request
            .deadline
            .unwrap();
        assert!(
            got <= deadline + Duration::from_secs(1) && got + Duration::from_secs(1) >= deadline
        );
    }

    fn body_over<T: Payload + Clone + PartialEq + std::fmt::Debug>(value: &T) {
        for form in [Form::Wire, Form::Compact] {
            let got =
                over(&request(Method::POST, Body::of(value.clone()), None), form).request.body;
            let got = got.with_wire_form(Some(martlet_sbi::to_wire::<T>));
            let on_wire = |encoded: Option<martlet_sbi::Encoded>| {
                encoded.map(|encoded| T::decode(Some(encoded)).unwrap())
            };
            assert_eq!(
                on_wire(got.to_encoded().unwrap()),
                on_wire(value.encode().unwrap()),
                "{form:?}"
            );
            assert_eq!(got.take::<T>().unwrap(), *value, "{form:?}");
            let mut out = Vec::new();
            write_response(&Response::new(200, Body::of(value.clone())), form, &mut out).unwrap();
            let got = read_response(Bytes::from(out)).unwrap();
            assert_eq!(got.body.take::<T>().unwrap(), *value, "{form:?}");
        }
    }

    #[test]
    fn bodies_survive_a_round_trip_in_both_forms() {
        body_over(&json!({"a": [1, 2.5, null, "ä"], "mcc": "001"}));
        body_over(&vec![json!(1), json!("x")]);
        body_over(&Some(json!(true)));
        body_over(&None::<Value>);
        body_over(&());
        body_over(&Multipart::new(json!({"n1": {"contentId": "n1"}})));
        let parts = Multipart::new(json!({"n1": {"contentId": "n1"}}))
            .part("n1", content_type::NAS, vec![0, 13, 10, 255])
            .part("n2", content_type::NGAP, Vec::new());
        body_over(&parts);
        let item = PatchItem {
            op: "replace".into(),
            path: "/a".into(),
            from: None,
            value: Some(json!(1)),
        };
        body_over(&JsonPatch(vec![item]));
    }

    #[test]
    fn responses_survive_a_round_trip_with_their_problem() {
        let problem = martlet_sbi::Problem::new(404, "USER_NOT_FOUND").detail("unknown user");
        for form in [Form::Wire, Form::Compact] {
            let mut out = Vec::new();
            let mut sent = martlet_sbi::Problem::new(404, "USER_NOT_FOUND").detail("unknown user");
            sent.retry_after = Some(3);
            write_response(&Response::problem(sent).located("/x"), form, &mut out).unwrap();
            assert!(
                out.windows(14).any(|bytes| bytes == b"USER_NOT_FOUND"),
                "problem details are JSON in both forms"
            );
            let got = read_response(Bytes::from(out)).unwrap();
            assert_eq!((got.status, got.location()), (404, Some("/x")));
            let got = got.into_problem();
            assert_eq!((got.details, got.retry_after), (problem.details.clone(), Some(3)));
        }
    }

    #[test]
    fn truncated_frames_do_not_panic() {
        let body =
            Body::of(Multipart::new(json!({"a": 1})).part("n1", content_type::NAS, vec![1; 90]));
        let mut out = Vec::new();
        write_request(
            "h:1",
            &request("REPORT".parse().unwrap(), body, None),
            Form::Compact,
            Instant::now(),
            &mut out,
        )
        .unwrap();
        for cut in 0..out.len() {
            if let Ok(got) = read_request(Bytes::copy_from_slice(&out[..cut]), Instant::now()) {
                assert!(got.request.body.take::<Multipart<Value>>().is_err());
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            if let Ok(got) = read_request(Bytes::from(bytes.clone()), Instant::now()) {
                let _ = got.request.body.take::<Value>();
            }
            if let Ok(got) = read_response(Bytes::from(bytes)) {
                let _ = got.into_problem();
            }
        }
    }
}
