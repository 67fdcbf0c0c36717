//! Arguments of requests at `/ask/…`: JSON in base64url, so that a path carries it as it is.
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum length of an argument in bytes.
const MAX_ARGUMENT: usize = 64 << 10;

/// Writes an argument as one segment of a path.
pub fn write_argument(argument: &impl Serialize) -> String {
    // This fails only for maps whose keys are not strings, and there are none.
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(argument).unwrap_or_default())
}

/// Reads an argument; `None` if it is invalid.
pub fn read_argument<T: DeserializeOwned>(segment: &str) -> Option<T> {
    if segment.len() > MAX_ARGUMENT {
        return None;
    }
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(segment).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_a_segment_of_a_path_and_is_read_again() {
        let written = write_argument(&serde_json::json!({"search": "a/b?c", "limit": 5}));
        assert!(!written.contains(['/', '?', '=', '+']), "{written}");
        let read: serde_json::Value = read_argument(&written).unwrap();
        assert_eq!(read["search"], "a/b?c");
        assert!(read_argument::<serde_json::Value>("%%%").is_none());
        assert!(read_argument::<serde_json::Value>(&"A".repeat(MAX_ARGUMENT + 1)).is_none());
    }
}
