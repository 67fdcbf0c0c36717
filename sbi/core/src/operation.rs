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
