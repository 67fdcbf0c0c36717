//! Bodies. A body is a typed value until a transport needs bytes, and bytes until a handler needs
//! the value.
use crate::body_error::BodyError;
use crate::compact::{self, Compact};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::borrow::Cow;

/// An encoded body with its media type.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// `Content-Type`.
    pub content_type: Cow<'static, str>,
    /// The encoded body.
    pub bytes: Bytes,
}

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As TS 29.500 specifies: JSON and multipart bodies.
    Wire,
    /// [Compact], for a peer of the same build.
    Compact,
}

/// Converts a body from the compact form to that of the wire.
pub type ToWire = fn(&Encoded) -> Result<Encoded, BodyError>;

/// [`ToWire`] for bodies of a type.
pub fn to_wire<T: Payload>(compact: &Encoded) -> Result<Encoded, BodyError> {
    let encoded = T::decode_compact(compact.clone())?.encode()?;
    encoded.ok_or_else(|| BodyError::NotEncodable("a body without content".into()))
}

/// The media type and form of an appended body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// `Content-Type`, the same in either form.
    pub content_type: Cow<'static, str>,
    /// The form of the body.
    pub form: Form,
}

/// A type that can be the body of a request or a response.
pub trait Payload: Sized + Send + 'static {
    /// Encodes the value; `None` if the message has no body.
    fn encode(&self) -> Result<Option<Encoded>, BodyError>;
    /// Decodes untrusted bytes; `None` if the message has no body.
    fn decode(encoded: Option<Encoded>) -> Result<Self, BodyError>;
    /// Appends the encoded value, in the form of the wire if the type supports no other.
    fn append(&self, form: Form, out: &mut Vec<u8>) -> Result<Option<Appended>, BodyError> {
        let _ = form;
        Ok(self.encode()?.map(|encoded| {
            out.extend_from_slice(&encoded.bytes);
            Appended { content_type: encoded.content_type, form: Form::Wire }
        }))
    }
    /// Decodes the compact form.
    fn decode_compact(compact: Encoded) -> Result<Self, BodyError> {
        let _ = compact;
        Err(BodyError::Malformed("the body has no compact form".into()))
    }
    /// Whether the value stands for a missing body.
    fn is_absent(&self) -> bool {
        false
    }
}

trait Typed: Send {
    fn encode(&self) -> Result<Option<Encoded>, BodyError>;
    fn append(&self, form: Form, out: &mut Vec<u8>) -> Result<Option<Appended>, BodyError>;
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
    fn type_name(&self) -> &'static str;
    fn is_absent(&self) -> bool;
}

impl<T: Payload> Typed for T {
    fn encode(&self) -> Result<Option<Encoded>, BodyError> {
        Payload::encode(self)
    }
    fn append(&self, form: Form, out: &mut Vec<u8>) -> Result<Option<Appended>, BodyError> {
        Payload::append(self, form, out)
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
    fn type_name(&self) -> &'static str {
        std::any::type_name::<T>()
    }
    fn is_absent(&self) -> bool {
        Payload::is_absent(self)
    }
}

enum State {
    Empty,
    Typed(Box<dyn Typed>),
    Encoded(Encoded),
    Compact(Encoded, Option<ToWire>),
}

/// A body in any of its forms.
pub struct Body(State);

impl Body {
    /// No body.
    pub const fn empty() -> Self {
        Body(State::Empty)
    }

    /// A typed body. The local binding passes it on unchanged.
    pub fn of<T: Payload>(value: T) -> Self {
        Body(State::Typed(Box::new(value)))
    }

    /// A received body.
    pub fn encoded(content_type: impl Into<Cow<'static, str>>, bytes: Bytes) -> Self {
        Body(State::Encoded(Encoded { content_type: content_type.into(), bytes }))
    }

    /// A received body in compact form.
    pub fn compact(content_type: impl Into<Cow<'static, str>>, bytes: Bytes) -> Self {
        Body(State::Compact(Encoded { content_type: content_type.into(), bytes }, None))
    }

    /// Sets how to convert a body in compact form to that of the wire.
    pub fn with_wire_form(self, to_wire: Option<ToWire>) -> Self {
        match self.0 {
            State::Compact(compact, _) => Body(State::Compact(compact, to_wire)),
            other => Body(other),
        }
    }

    /// The encoded body, for a transport or a tap.
    pub fn to_encoded(&self) -> Result<Option<Encoded>, BodyError> {
        match &self.0 {
            State::Empty => Ok(None),
            State::Typed(value) => value.encode(),
            State::Encoded(encoded) => Ok(Some(encoded.clone())),
            State::Compact(compact, to_wire) => on_wire(compact, *to_wire).map(Some),
        }
    }

    /// Appends the encoded body. `form` is the form that the peer understands; the result states
    /// which one was used.
    pub fn append(&self, form: Form, out: &mut Vec<u8>) -> Result<Option<Appended>, BodyError> {
        let (encoded, form) = match &self.0 {
            State::Empty => return Ok(None),
            State::Typed(value) => return value.append(form, out),
            State::Compact(compact, _) if form == Form::Compact => (compact, Form::Compact),
            State::Compact(compact, to_wire) => (&on_wire(compact, *to_wire)?, Form::Wire),
            State::Encoded(encoded) => (encoded, Form::Wire),
        };
        out.extend_from_slice(&encoded.bytes);
        Ok(Some(Appended { content_type: encoded.content_type.clone(), form }))
    }

    /// The value. A typed body of another type is encoded and decoded, as over a wire.
    pub fn take<T: Payload>(self) -> Result<T, BodyError> {
        match self.0 {
            State::Empty => T::decode(None),
            State::Encoded(encoded) => T::decode(Some(encoded)),
            State::Compact(compact, _) => T::decode_compact(compact),
            State::Typed(value) => {
                if (*value).type_name() != std::any::type_name::<T>() {
                    return T::decode(value.encode()?);
                }
                match value.into_any().downcast::<T>() {
                    Ok(value) => Ok(*value),
                    Err(_) => Err(BodyError::NotEncodable(
                        "two types with the same name in a local call".into(),
                    )),
                }
            }
        }
    }

    /// The body as it was received over HTTP.
    pub(crate) fn received(&self) -> Option<&Encoded> {
        match &self.0 {
            State::Encoded(encoded) => Some(encoded),
            State::Empty | State::Typed(_) | State::Compact(..) => None,
        }
    }

    /// Whether there is no body.
    pub fn is_absent(&self) -> bool {
        match &self.0 {
            State::Empty => true,
            State::Typed(value) => value.is_absent(),
            State::Encoded(_) | State::Compact(..) => false,
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            State::Empty => f.write_str("Body(empty)"),
            State::Typed(value) => write!(f, "Body({})", value.type_name()),
            State::Encoded(encoded) => {
                write!(f, "Body({}, {} bytes)", encoded.content_type, encoded.bytes.len())
            }
            State::Compact(compact, _) => {
                write!(f, "Body({}, {} bytes, compact)", compact.content_type, compact.bytes.len())
            }
        }
    }
}

fn on_wire(compact: &Encoded, to_wire: Option<ToWire>) -> Result<Encoded, BodyError> {
    match to_wire {
        Some(to_wire) => to_wire(compact),
        None => {
            Err(BodyError::NotEncodable("the type of a body in compact form is unknown".into()))
        }
    }
}

fn not_encodable(error: serde_json::Error) -> BodyError {
    BodyError::NotEncodable(format!("the body cannot be serialised: {error}"))
}

/// Encodes with `serde_json`.
#[doc(hidden)]
pub fn encode_json<T: Serialize>(
    value: &T,
    content_type: &'static str,
) -> Result<Option<Encoded>, BodyError> {
    let bytes = serde_json::to_vec(value).map_err(not_encodable)?;
    Ok(Some(Encoded { content_type: Cow::Borrowed(content_type), bytes: bytes.into() }))
}

/// Appends with `serde_json` or in compact form.
#[doc(hidden)]
pub fn append_json<T: Serialize + Compact>(
    value: &T,
    content_type: &'static str,
    form: Form,
    out: &mut Vec<u8>,
) -> Result<Option<Appended>, BodyError> {
    match form {
        Form::Wire => serde_json::to_writer(&mut *out, value).map_err(not_encodable)?,
        Form::Compact => compact::to_vec(value, out),
    }
    Ok(Some(Appended { content_type: Cow::Borrowed(content_type), form }))
}

/// Checks the media type and decodes the compact form.
#[doc(hidden)]
pub fn decode_compact_json<T: Compact>(encoded: &Encoded) -> Result<T, BodyError> {
    expect_json(encoded)?;
    compact::from_slice(&encoded.bytes).map_err(|e| BodyError::Malformed(e.to_string()))
}

fn expect_json(encoded: &Encoded) -> Result<(), BodyError> {
    let media = encoded.content_type.split(';').next().unwrap_or("").trim();
    let json = |text: &str| text.eq_ignore_ascii_case("application/json");
    let suffix = media.len().checked_sub(5).and_then(|at| media.get(at..));
    if json(media) || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("+json")) {
        return Ok(());
    }
    Err(BodyError::UnsupportedMediaType { expected: "JSON", found: media.to_string() })
}

/// Checks the media type and decodes with `serde_json`, which is compiled once for all types.
#[doc(hidden)]
pub fn decode_json<T: for<'a> Deserialize<'a>>(encoded: Option<Encoded>) -> Result<T, BodyError> {
    let encoded = encoded.ok_or(BodyError::Missing)?;
    expect_json(&encoded)?;
    martlet_erased::from_json(&encoded.bytes).map_err(|e| BodyError::Malformed(e.to_string()))
}

/// Implements [`Payload`] for types with `Serialize`, `Deserialize` and [`Compact`], as
/// `application/json` or another JSON media type.
#[macro_export]
macro_rules! json_payload {
    (in $media:literal: $($type:ty),+ $(,)?) => {$(
        impl $crate::Payload for $type {
            fn encode(&self) -> Result<Option<$crate::Encoded>, $crate::BodyError> {
                $crate::encode_json(self, $media)
            }
            fn decode(encoded: Option<$crate::Encoded>) -> Result<Self, $crate::BodyError> {
                $crate::decode_json(encoded)
            }
            fn append(
                &self,
                form: $crate::Form,
                out: &mut Vec<u8>,
            ) -> Result<Option<$crate::Appended>, $crate::BodyError> {
                $crate::append_json(self, $media, form, out)
            }
            fn decode_compact(compact: $crate::Encoded) -> Result<Self, $crate::BodyError> {
                $crate::decode_compact_json(&compact)
            }
        }
    )+};
    ($($type:ty),+ $(,)?) => {
        $crate::json_payload!(in "application/json": $($type),+);
    };
}

crate::json_payload!(serde_json::Value);

impl<T: Serialize + for<'a> Deserialize<'a> + Compact + Send + 'static> Payload for Vec<T> {
    fn encode(&self) -> Result<Option<Encoded>, BodyError> {
        encode_json(self, "application/json")
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, BodyError> {
        decode_json(encoded)
    }
    fn append(&self, form: Form, out: &mut Vec<u8>) -> Result<Option<Appended>, BodyError> {
        append_json(self, "application/json", form, out)
    }
    fn decode_compact(compact: Encoded) -> Result<Self, BodyError> {
        decode_compact_json(&compact)
    }
}

/// No body.
impl Payload for () {
    fn encode(&self) -> Result<Option<Encoded>, BodyError> {
        Ok(None)
    }
    fn decode(_: Option<Encoded>) -> Result<Self, BodyError> {
        Ok(())
    }
    fn is_absent(&self) -> bool {
        true
    }
    fn decode_compact(_: Encoded) -> Result<Self, BodyError> {
        Ok(())
    }
}

/// A body that may be absent.
impl<T: Payload> Payload for Option<T> {
    fn encode(&self) -> Result<Option<Encoded>, BodyError> {
        self.as_ref().map_or(Ok(None), Payload::encode)
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, BodyError> {
        encoded.map(|e| T::decode(Some(e))).transpose()
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
    fn append(&self, form: Form, out: &mut Vec<u8>) -> Result<Option<Appended>, BodyError> {
        self.as_ref().map_or(Ok(None), |value| value.append(form, out))
    }
    fn decode_compact(compact: Encoded) -> Result<Self, BodyError> {
        T::decode_compact(compact).map(Some)
    }
}

/// One change of a JSON patch (RFC 6902; TS 29.571, 5.2.4.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
pub struct PatchItem {
    /// `add`, `copy`, `move`, `remove`, `replace` or `test`.
    pub op: String,
    /// JSON pointer of the target.
    pub path: String,
    /// JSON pointer of the source of a copy or move.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// The new value.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "present")]
    pub value: Option<serde_json::Value>,
}

/// A member that is there, even if it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(from).map(Some)
}

/// A body in `application/json-patch+json`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonPatch(pub Vec<PatchItem>);

impl Payload for JsonPatch {
    fn encode(&self) -> Result<Option<Encoded>, BodyError> {
        encode_json(&self.0, "application/json-patch+json")
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, BodyError> {
        decode_json(encoded).map(JsonPatch)
    }
    fn append(&self, form: Form, out: &mut Vec<u8>) -> Result<Option<Appended>, BodyError> {
        append_json(&self.0, "application/json-patch+json", form, out)
    }
    fn decode_compact(compact: Encoded) -> Result<Self, BodyError> {
        decode_compact_json(&compact).map(JsonPatch)
    }
}

/// A body in `application/merge-patch+json` (RFC 7396).
#[derive(Debug, Clone, PartialEq)]
pub struct MergePatch<T>(pub T);

impl<T: Serialize + for<'a> Deserialize<'a> + Compact + Send + 'static> Payload for MergePatch<T> {
    fn encode(&self) -> Result<Option<Encoded>, BodyError> {
        encode_json(&self.0, "application/merge-patch+json")
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, BodyError> {
        decode_json(encoded).map(MergePatch)
    }
    fn append(&self, form: Form, out: &mut Vec<u8>) -> Result<Option<Appended>, BodyError> {
        append_json(&self.0, "application/merge-patch+json", form, out)
    }
    fn decode_compact(compact: Encoded) -> Result<Self, BodyError> {
        decode_compact_json(&compact).map(MergePatch)
    }
}
