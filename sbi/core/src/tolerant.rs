//! Lists whose unreadable elements are dropped, and members that are unreadable.
//!
//! Databases of others hold elements that no specification allows, such as an empty MSISDN. A list
//! that only informs is decoded by [`list`]: such an element is dropped, and does not fail the
//! procedure. [`member`] does so with a member. What restricts or protects something is not decoded
//! so.
use crate::{Body, OperationInfo, Problem, Response};
use martlet_interop::{Quirk, SbiQuirk};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// Dropped elements of the message that is being decoded: field and error.
    static DROPPED: RefCell<Vec<(&'static str, String)>> = const { RefCell::new(Vec::new()) };
    /// Whether a list of it was `null`.
    static NULL: Cell<bool> = const { Cell::new(false) };
    /// Whether its body contained headers and body.
    static ENVELOPE: Cell<bool> = const { Cell::new(false) };
    /// Whether a tracking area code of it was in decimal digits.
    static DECIMAL_TAC: Cell<bool> = const { Cell::new(false) };
}

/// Maximum number of dropped elements of a message that are reported.
const MAX_REPORTED: usize = 16;

/// Decodes a list that may be missing, or `null`, and drops elements that are not a `T`. `field` is
/// its name.
///
/// # Errors
/// It is not a list.
pub fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
    field: &'static str,
) -> Result<Option<Vec<T>>, D::Error> {
    let Some(values) = Option::<Vec<serde_json::Value>>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let read = |value| serde_json::from_value(value).map_err(|error| note(field, &error)).ok();
    Ok(Some(values.into_iter().filter_map(read).collect()))
}

/// Decodes a member that may be `null`, and drops a value that is not a `T`. `field` is its name.
///
/// # Errors
/// It is not JSON.
pub fn member<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
    field: &'static str,
) -> Result<Option<T>, D::Error> {
    let Some(value) = Option::<serde_json::Value>::deserialize(deserializer)? else {
        return Ok(None);
    };
    Ok(serde_json::from_value(value).map_err(|error| note(field, &error)).ok())
}

/// Decodes a list whose `null` stands for no elements, as Go programs encode it.
///
/// # Errors
/// It is neither `null` nor a list of `T`.
pub fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list: Option<Vec<T>> = Option::deserialize(deserializer)?;
    if list.is_none() {
        NULL.set(true);
    }
    Ok(list.unwrap_or_default())
}

/// Decodes an object whose members with `null` or an empty text stand for absent ones, as Go
/// programs encode them.
///
/// # Errors
/// It is no object, or no `T` without these members.
pub fn without_empty_members<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let members: Option<serde_json::Map<String, serde_json::Value>> =
        Option::deserialize(deserializer)?;
    let Some(mut members) = members else { return Ok(None) };
    let all = members.len();
    members.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
    if members.len() < all {
        NULL.set(true);
    }
    let value = serde_json::Value::Object(members);
    serde_json::from_value(value).map(Some).map_err(serde::de::Error::custom)
}

/// The body of a response to an accepted request, if it is in an object with the headers, as
/// free5GC's AMF sends it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    #[serde(rename = "headers")]
    _headers: serde::de::IgnoredAny,
    data: serde_json::Value,
}

/// The response with the body that an [`Envelope`] contains, or the response itself. The headers in
/// the envelope are not used.
pub(crate) fn without_envelope(response: Response) -> Response {
    // An AMF that pages answers 202. Others are not looked at, since they are the many.
    let received = response.body.received().filter(|_| response.status == 202);
    let Some(Ok(Envelope { data, .. })) =
        received.map(|body| serde_json::from_slice::<Envelope>(&body.bytes))
    else {
        return response;
    };
    ENVELOPE.set(true);
    let body = Body::encoded("application/json", data.to_string().into());
    Response { body, ..response }
}

fn note(field: &'static str, error: &serde_json::Error) {
    DROPPED.with_borrow_mut(|dropped| {
        if dropped.len() < MAX_REPORTED {
            dropped.push((field, error.to_string()));
        }
    });
}

/// Notes that a tracking area code was in decimal digits.
pub fn note_decimal_tac() {
    DECIMAL_TAC.set(true);
}

/// Whether a tracking area code of the last message that this thread decoded was in decimal digits.
/// A handler asks before it awaits anything.
pub fn has_decimal_tac() -> bool {
    DECIMAL_TAC.get()
}

/// Clears what was noted about earlier messages, before another one is decoded.
pub fn begin() {
    DROPPED.with_borrow_mut(Vec::clear);
    NULL.set(false);
    ENVELOPE.set(false);
    DECIMAL_TAC.set(false);
}

/// Counts and logs the dropped elements of the response of an operation, each field once.
/// `consumer` is the NF type of the function that called it.
///
/// # Errors
/// With `strict`, if an element was dropped.
pub(crate) fn report(
    operation: &'static OperationInfo,
    consumer: &str,
    peer: &str,
    strict: bool,
) -> Result<(), Problem> {
    let OperationInfo { api, name: operation, .. } = operation;
    static REPORTED: Mutex<BTreeSet<(&str, &str)>> = Mutex::new(BTreeSet::new());
    let dropped = DROPPED.take();
    if ENVELOPE.take() {
        if strict {
            let text = format!("{operation} at {peer}: headers and data in the response's body");
            return Err(Problem::system_failure(text));
        }
        SbiQuirk::EnvelopedResponse.met(consumer, peer);
    }
    if strict && let Some((field, error)) = dropped.first() {
        let text = format!("{operation} at {peer}: {field} in the response: {error}");
        return Err(Problem::system_failure(text));
    }
    if NULL.take() {
        if strict {
            let text = format!("{operation} at {peer}: null for a list in the response");
            return Err(Problem::system_failure(text));
        }
        SbiQuirk::NullList.met(consumer, peer);
    }
    for (field, error) in dropped {
        SbiQuirk::UnreadableElement.met(consumer, peer);
        let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.insert((operation, field)) {
            tracing::warn!(
                nf = consumer,
                api,
                operation,
                peer,
                field,
                error,
                "unreadable element dropped from a response; further ones are not logged"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Data {
        #[serde(default, deserialize_with = "numbers")]
        numbers: Option<Vec<u8>>,
        #[serde(default, deserialize_with = "null_is_empty")]
        names: Vec<String>,
        #[serde(default, deserialize_with = "cause")]
        cause: Option<String>,
    }

    fn cause<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
        member(d, "cause")
    }

    fn numbers<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<u8>>, D::Error> {
        list(d, "numbers")
    }

    fn read(text: &str) -> Result<Data, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn unreadable_elements_are_dropped_and_noted() {
        begin();
        let data = read(r#"{"numbers":[1,"x",null,300,2],"names":null}"#).unwrap();
        assert_eq!(data, Data { numbers: Some(vec![1, 2]), names: vec![], cause: None });
        let fields: Vec<_> = DROPPED.take().into_iter().map(|(field, _)| field).collect();
        assert_eq!(fields, ["numbers"; 3]);
        assert_eq!(read(r#"{"numbers":null}"#).unwrap().numbers, None);
        assert_eq!(read("{}").unwrap(), Data { numbers: None, names: vec![], cause: None });
        assert_eq!(read(r#"{"cause":"A"}"#).unwrap().cause, Some("A".into()));
        assert_eq!(read(r#"{"cause":null}"#).unwrap().cause, None);
        assert!(DROPPED.take().is_empty());
        assert_eq!(read(r#"{"cause":255}"#).unwrap().cause, None);
        assert_eq!(DROPPED.take()[0].0, "cause");
        assert!(read(r#"{"numbers":7}"#).is_err());
        assert!(read(r#"{"names":[1]}"#).is_err());
    }

    #[test]
    fn a_body_with_headers_and_data_is_opened() {
        let accepted = |status: u16, text: &'static str| {
            begin();
            let body = Body::encoded("application/json", text.as_bytes().into());
            let response = without_envelope(Response::new(status, body));
            let received = response.body.received().unwrap().bytes.clone();
            (String::from_utf8(received.to_vec()).unwrap(), ENVELOPE.take())
        };
        let enveloped = r#"{"data":{"cause":"A"},"headers":{"Location":["/1"]}}"#;
        assert_eq!(accepted(202, enveloped), (r#"{"cause":"A"}"#.into(), true));
        assert_eq!(accepted(200, enveloped), (enveloped.into(), false), "only what is accepted");
        for other in [r#"{"cause":"A"}"#, r#"{"data":{}}"#, r#"{"data":1,"headers":1,"x":1}"#, "{"]
        {
            assert_eq!(accepted(202, other), (other.into(), false));
        }
    }
}
