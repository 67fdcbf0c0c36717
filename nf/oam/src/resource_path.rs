//! Paths of resources.

/// The path of a resource below `/api/v1`. The router of the API sees paths without that prefix.
pub fn resource(path: &str) -> &str {
    path.strip_prefix("/api/v1").unwrap_or(path)
}
