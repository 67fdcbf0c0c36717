//! Paths of resources, and of requests for functions.

/// The path of a resource below `/api/v1`. The router of the API sees paths without that prefix.
pub fn resource(path: &str) -> &str {
    path.strip_prefix("/api/v1").unwrap_or(path)
}

/// Percent-encodes a text to be one segment of a path: an identity may have `/`, `?`, `#` or `%`.
pub fn segment(text: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    // In a query a space becomes a plus sign; a plus sign itself is encoded.
    encoded.replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_stays_one_segment() {
        assert_eq!(segment("imsi-001010000000001"), "imsi-001010000000001");
        let encoded = segment("nai-a/b?c#d%2Fe+ \u{e9}@x.example");
        assert_eq!(encoded, "nai-a%2Fb%3Fc%23d%252Fe%2B%20%C3%A9%40x.example");
    }
}
