//! The static description of a service operation.
use http::Method;

/// An application error of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCause {
    /// HTTP status.
    pub status: u16,
    /// `ProblemDetails.cause`.
    pub cause: &'static str,
}

/// A service operation, as [`service!`](crate::service) declared it.
#[derive(Debug)]
pub struct OperationInfo {
    /// API name, such as `nudm-ueau`.
    pub api: &'static str,
    /// API version in the URI, such as `v1`.
    pub version: &'static str,
    /// Name of the operation in the specification, such as `GenerateAuthData`.
    pub name: &'static str,
    /// HTTP method.
    pub method: Method,
    /// Path below `{apiRoot}/{api}/{version}`, with its parameters in braces.
    pub path: &'static str,
    /// The application errors of the specification.
    pub errors: &'static [ErrorCause],
    /// How to convert the body of a request from the compact form; `None` without a body.
    pub body: Option<crate::ToWire>,
}

impl OperationInfo {
    /// Whether the method is idempotent (RFC 9110, 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        matches!(self.method, Method::GET | Method::PUT | Method::DELETE)
    }

    /// The same operation at another version of the API.
    pub fn at_version(&self, version: &'static str) -> OperationInfo {
        let OperationInfo { api, name, ref method, path, errors, body, .. } = *self;
        OperationInfo { api, version, name, method: method.clone(), path, errors, body }
    }

    /// The path with its parameters, percent-encoded.
    pub fn expand(&self, parameters: &[&str]) -> String {
        let mut out = String::with_capacity(self.api.len() + self.path.len() + 48);
        out.extend(["/", self.api, "/", self.version]);
        let mut parameters = parameters.iter();
        for segment in self.path.split('/').skip(1) {
            out.push('/');
            if segment.starts_with('{') {
                crate::query::percent_encode(parameters.next().copied().unwrap_or(""), &mut out);
            } else {
                out.push_str(segment);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_at_another_version_differs_in_its_version() {
        let newer = OperationInfo {
            api: "nudr-dr",
            version: "v2",
            name: "QueryAmData",
            method: Method::GET,
            path: "/subscription-data/{ueId}",
            errors: &[ErrorCause { status: 404, cause: "USER_NOT_FOUND" }],
            body: None,
        };
        let older = newer.at_version("v1");
        assert_eq!(newer.expand(&["imsi-1"]), "/nudr-dr/v2/subscription-data/imsi-1");
        assert_eq!(older.expand(&["imsi-1"]), "/nudr-dr/v1/subscription-data/imsi-1");
        assert_eq!((older.name, &older.method), (newer.name, &newer.method));
        assert_eq!(older.errors, newer.errors);
    }
}
