//! What is known of a service operation at compile time.
use http::Method;

/// An application error that an operation may answer with.
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
    /// How a request's body in compact form looks on a wire, where the operation has one.
    pub body: Option<crate::ToWire>,
}

impl OperationInfo {
    /// Whether a repetition does no harm (RFC 9110, 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        matches!(self.method, Method::GET | Method::PUT | Method::DELETE)
    }

    /// The whole path with the parameters put in, percent-encoded where they need it.
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
