//! Bodies: a typed value until a transport needs octets, and octets until a handler needs the value.
use crate::Problem;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::borrow::Cow;

/// A body in octets with its media type.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// `Content-Type`.
    pub content_type: Cow<'static, str>,
    /// The octets.
    pub bytes: Bytes,
}

/// A value that can be the body of a request or an answer.
pub trait Payload: Sized + Send + 'static {
    /// The octets, or `None` for a body that is absent.
    fn encode(&self) -> Result<Option<Encoded>, Problem>;
    /// The value from octets that came from outside; `None` where the message had no body.
    fn decode(encoded: Option<Encoded>) -> Result<Self, Problem>;
    /// Whether the value stands for no body at all.
    fn is_absent(&self) -> bool {
        false
    }
}

trait Typed: Send {
    fn encode(&self) -> Result<Option<Encoded>, Problem>;
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
    fn type_name(&self) -> &'static str;
    fn is_absent(&self) -> bool;
}

impl<T: Payload> Typed for T {
    fn encode(&self) -> Result<Option<Encoded>, Problem> {
        Payload::encode(self)
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

enum Form {
    Empty,
    Typed(Box<dyn Typed>),
    Encoded(Encoded),
}

/// A body in whichever form it is in at the moment.
pub struct Body(Form);

impl Body {
    /// No body.
    pub const fn empty() -> Self {
        Body(Form::Empty)
    }

    /// A body that is still a value: the local binding hands it over as it is.
    pub fn of<T: Payload>(value: T) -> Self {
        Body(Form::Typed(Box::new(value)))
    }

    /// A body that came as octets.
    pub fn encoded(content_type: impl Into<Cow<'static, str>>, bytes: Bytes) -> Self {
        Body(Form::Encoded(Encoded { content_type: content_type.into(), bytes }))
    }

    /// The octets, for a transport or a tap.
    pub fn to_encoded(&self) -> Result<Option<Encoded>, Problem> {
        match &self.0 {
            Form::Empty => Ok(None),
            Form::Typed(value) => value.encode(),
            Form::Encoded(encoded) => Ok(Some(encoded.clone())),
        }
    }

    /// The value. A body of another type than `T` is encoded and read as `T`, as it would be over a wire.
    pub fn take<T: Payload>(self) -> Result<T, Problem> {
        match self.0 {
            Form::Empty => T::decode(None),
            Form::Encoded(encoded) => T::decode(Some(encoded)),
            Form::Typed(value) => {
                if (*value).type_name() != std::any::type_name::<T>() {
                    return T::decode(value.encode()?);
                }
                match value.into_any().downcast::<T>() {
                    Ok(value) => Ok(*value),
                    Err(_) => Err(Problem::system_failure("two types of one name met in a local call")),
                }
            }
        }
    }

    /// Whether nothing will be sent.
    pub fn is_absent(&self) -> bool {
        match &self.0 {
            Form::Empty => true,
            Form::Typed(value) => value.is_absent(),
            Form::Encoded(_) => false,
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Form::Empty => f.write_str("Body(empty)"),
            Form::Typed(value) => write!(f, "Body({})", value.type_name()),
            Form::Encoded(encoded) => write!(f, "Body({}, {} octets)", encoded.content_type, encoded.bytes.len()),
        }
    }
}

/// Encodes with `serde_json`.
#[doc(hidden)]
pub fn encode_json<T: Serialize>(value: &T, content_type: &'static str) -> Result<Option<Encoded>, Problem> {
    let bytes =
        serde_json::to_vec(value).map_err(|e| Problem::system_failure(format!("a body did not serialise: {e}")))?;
    Ok(Some(Encoded { content_type: Cow::Borrowed(content_type), bytes: bytes.into() }))
}

/// Decodes with `serde_json`, after a look at the media type.
#[doc(hidden)]
pub fn decode_json<T: for<'a> Deserialize<'a>>(encoded: Option<Encoded>) -> Result<T, Problem> {
    let Some(encoded) = encoded else {
        return Err(Problem::new(400, "MANDATORY_IE_MISSING").detail("the message needs a body, and has none"));
    };
    let media = encoded.content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    if !(media == "application/json" || media.ends_with("+json")) {
        return Err(Problem::new(415, "UNSUPPORTED_MEDIA_TYPE").detail(format!("{media:?} came where JSON is due")));
    }
    serde_json::from_slice(&encoded.bytes).map_err(|e| Problem::invalid_message(e.to_string()))
}

/// Makes types with `Serialize` and `Deserialize` bodies in `application/json`.
#[macro_export]
macro_rules! json_payload {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::Payload for $type {
            fn encode(&self) -> Result<Option<$crate::Encoded>, $crate::Problem> {
                $crate::encode_json(self, "application/json")
            }
            fn decode(encoded: Option<$crate::Encoded>) -> Result<Self, $crate::Problem> {
                $crate::decode_json(encoded)
            }
        }
    )+};
}

crate::json_payload!(serde_json::Value);

impl Payload for crate::ProblemDetails {
    fn encode(&self) -> Result<Option<Encoded>, Problem> {
        encode_json(self, "application/problem+json")
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, Problem> {
        decode_json(encoded)
    }
}

impl<T: Serialize + for<'a> Deserialize<'a> + Send + 'static> Payload for Vec<T> {
    fn encode(&self) -> Result<Option<Encoded>, Problem> {
        encode_json(self, "application/json")
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, Problem> {
        decode_json(encoded)
    }
}

/// No body.
impl Payload for () {
    fn encode(&self) -> Result<Option<Encoded>, Problem> {
        Ok(None)
    }
    fn decode(_: Option<Encoded>) -> Result<Self, Problem> {
        Ok(())
    }
    fn is_absent(&self) -> bool {
        true
    }
}

/// A body that may be absent.
impl<T: Payload> Payload for Option<T> {
    fn encode(&self) -> Result<Option<Encoded>, Problem> {
        self.as_ref().map_or(Ok(None), Payload::encode)
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, Problem> {
        encoded.map(|e| T::decode(Some(e))).transpose()
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

/// One change of a JSON patch (RFC 6902; TS 29.571, 5.2.4.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatchItem {
    /// `add`, `copy`, `move`, `remove`, `replace` or `test`.
    pub op: String,
    /// JSON pointer of the place.
    pub path: String,
    /// JSON pointer of the origin of a copy or move.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// The new value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<serde_json::Value>,
}

/// A body in `application/json-patch+json`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonPatch(pub Vec<PatchItem>);

impl Payload for JsonPatch {
    fn encode(&self) -> Result<Option<Encoded>, Problem> {
        encode_json(&self.0, "application/json-patch+json")
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, Problem> {
        decode_json(encoded).map(JsonPatch)
    }
}

/// A body in `application/merge-patch+json` (RFC 7396).
#[derive(Debug, Clone, PartialEq)]
pub struct MergePatch<T>(pub T);

impl<T: Serialize + for<'a> Deserialize<'a> + Send + 'static> Payload for MergePatch<T> {
    fn encode(&self) -> Result<Option<Encoded>, Problem> {
        encode_json(&self.0, "application/merge-patch+json")
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, Problem> {
        decode_json(encoded).map(MergePatch)
    }
}
