//! Query parameters (TS 29.501, 4.4; TS 29.500, 5.2.2): typed at both ends, text in the URI.
use crate::Problem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::borrow::Cow;

/// All characters but the unreserved ones (RFC 3986, 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The pairs of a query string, decoded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query(pub Vec<(String, String)>);

impl Query {
    /// Reads the part of a URI after `?`.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|p| !p.is_empty());
        Query(
            pairs
                .map(|p| p.split_once('=').unwrap_or((p, "")))
                .map(|(k, v)| (percent_decode(k, true), percent_decode(v, true)))
                .collect(),
        )
    }

    /// The text of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Appends `?a=b&c=d`, or nothing without pairs.
    pub fn append_to(&self, out: &mut String) {
        for (n, (name, value)) in self.0.iter().enumerate() {
            out.push(if n == 0 { '?' } else { '&' });
            percent_encode(name, out);
            out.push('=');
            percent_encode(value, out);
        }
    }
}

/// A struct of query parameters; see [`query_params!`](crate::query_params).
pub trait QueryParams: Sized + Send {
    /// The pairs of the fields that are set.
    fn to_query(&self) -> Query;
    /// The struct; 400 with the invalid parameter otherwise.
    fn from_query(query: &Query) -> Result<Self, Problem>;
}

/// A value of a query parameter.
pub trait QueryValue: Sized {
    /// Its text: plain for strings and numbers, JSON for objects, comma-separated for lists of
    /// strings.
    fn to_text(&self) -> String;
    /// Parses a value.
    fn from_text(text: &str) -> Option<Self>;
    /// Adds the value to a query.
    fn add_to(&self, query: &mut Query, name: &str) {
        query.0.push((name.to_string(), self.to_text()));
    }
    /// Reads the value from a query; 400 if it is invalid.
    fn read(query: &Query, name: &str) -> Result<Option<Self>, Problem> {
        let Some(text) = query.get(name) else { return Ok(None) };
        Self::from_text(text).map(Some).ok_or_else(|| invalid_query_parameter(name, text))
    }
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl QueryValue for $type {
            fn to_text(&self) -> String { self.to_string() }
            fn from_text(text: &str) -> Option<Self> { text.parse().ok() }
        }
    )*};
}
plain!(String, bool, u8, u16, u32, u64, i32);

impl QueryValue for Vec<String> {
    fn to_text(&self) -> String {
        self.join(",")
    }
    fn from_text(text: &str) -> Option<Self> {
        Some(text.split(',').filter(|part| !part.is_empty()).map(str::to_string).collect())
    }
}

/// Implements [`QueryValue`] as JSON text for types with `Serialize` and `Deserialize` (TS 29.501,
/// 4.4.2).
#[macro_export]
macro_rules! json_query_value {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::QueryValue for $type {
            fn to_text(&self) -> String { ::serde_json::to_string(self).unwrap_or_default() }
            fn from_text(text: &str) -> Option<Self> { ::serde_json::from_str(text).ok() }
        }
    )+};
}

/// Implements [`QueryValue`] as plain text for types that serialise as a JSON string.
#[macro_export]
macro_rules! text_query_value {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::QueryValue for $type {
            fn to_text(&self) -> String {
                match ::serde_json::to_value(self) {
                    Ok(::serde_json::Value::String(text)) => text,
                    _ => String::new(),
                }
            }
            fn from_text(text: &str) -> Option<Self> {
                ::serde_json::from_value(::serde_json::Value::String(text.to_string())).ok()
            }
        }
    )+};
}

/// Declares a struct of optional query parameters with their names in the URI.
///
/// ```
/// martlet_sbi::query_params! {
///     /// Which data.
///     pub struct AmDataQuery { /** Serving network. */ pub plmn_id: String = "plmn-id", }
/// }
/// let query = AmDataQuery { plmn_id: Some("00101".into()) };
/// ```
#[macro_export]
macro_rules! query_params {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$fmeta:meta])* pub $field:ident: $type:ty = $text:literal),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name { $($(#[$fmeta])* pub $field: Option<$type>),* }
        impl $crate::QueryParams for $name {
            fn to_query(&self) -> $crate::Query {
                let mut query = $crate::Query::default();
                $(if let Some(value) = &self.$field {
                    $crate::QueryValue::add_to(value, &mut query, $text);
                })*
                query
            }
            fn from_query(query: &$crate::Query) -> Result<Self, $crate::Problem> {
                Ok($name { $($field: $crate::QueryValue::read(query, $text)?),* })
            }
        }
    };
}

/// The problem of an invalid query parameter.
#[doc(hidden)]
pub fn invalid_query_parameter(name: &str, value: &str) -> Problem {
    let reason = Some(format!("invalid value {value:?}"));
    let mut problem = Problem::new(400, "OPTIONAL_QUERY_PARAM_INCORRECT");
    problem.details.invalid_params = Some(vec![crate::InvalidParam { param: name.into(), reason }]);
    problem
}

/// Percent-encodes a text to be one segment of a path (RFC 3986, 2.1). A `/`, `?` or `#` in an
/// identity would otherwise address another resource.
pub fn path_segment(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, ESCAPED).into()
}

/// The text of a segment of a path, as [`path_segment`] encodes it. Wrong escapes stay as they are.
pub fn segment_text(segment: &str) -> String {
    percent_decode(segment, false)
}

pub(crate) fn percent_encode(text: &str, out: &mut String) {
    out.extend(utf8_percent_encode(text, ESCAPED));
}

pub(crate) fn percent_decode(text: &str, plus_is_space: bool) -> String {
    let text = match plus_is_space && text.contains('+') {
        true => Cow::Owned(text.replace('+', " ")),
        false => Cow::Borrowed(text),
    };
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_survive_a_round_trip() {
        let query = Query(vec![
            ("snssai".into(), r#"{"sst":1,"sd":"010203"}"#.into()),
            ("dnn".into(), "a b&c=%".into()),
        ]);
        let mut text = String::new();
        query.append_to(&mut text);
        assert_eq!(Query::parse(&text[1..]), query);
    }

    #[test]
    fn segments_stay_one_segment() {
        assert!(matches!(path_segment("imsi-001010000000001"), Cow::Borrowed(_)));
        for text in ["nai-a/b@c.example", "nai-?x#y", "nai-%61", "nai-a b", "nai-\u{e9}", "a+b"] {
            let segment = path_segment(text);
            assert!(
                !segment.contains(['/', '?', '#', ' ', '@']) && segment.is_ascii(),
                "{segment}"
            );
            assert_eq!(segment_text(&segment), text);
        }
    }

    #[test]
    fn invalid_escapes_are_preserved() {
        assert_eq!(percent_decode("%", true), "%");
        assert_eq!(percent_decode("%4", true), "%4");
        assert_eq!(percent_decode("%zz+", true), "%zz ");
        assert_eq!(percent_decode("%+5", false), "%+5");
    }
}
