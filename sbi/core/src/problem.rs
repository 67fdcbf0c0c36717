//! `ProblemDetails` (TS 29.571, 5.2.4.1) and the error of every SBI call.
use crate::{Body, BodyError, Compact};
use serde::{Deserialize, Serialize};

/// The problem that a producer reports (TS 29.571, 5.2.4.1; RFC 9457).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase", default)]
pub struct ProblemDetails {
    /// A URI that names the kind of problem.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// A short summary for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The HTTP status code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Explanation of this occurrence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// A URI that names this occurrence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The application error, such as `USER_NOT_FOUND` (TS 29.500, 5.2.7.2, and the service's own
    /// list).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The invalid parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid_params: Option<Vec<InvalidParam>>,
}

crate::json_payload!(in "application/problem+json": ProblemDetails);

/// An invalid parameter (TS 29.571, 5.2.4.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
pub struct InvalidParam {
    /// Name of the attribute, as a JSON pointer for bodies.
    pub param: String,
    /// Why it is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How far a failed request got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportFailure {
    /// The peer did not process the request: a retry is safe.
    NotSent,
    /// The peer may have processed the request.
    Unknown,
}

/// The error of an SBI call: the producer's problem, or a transport failure.
#[derive(Debug)]
pub struct Problem {
    /// The problem details.
    pub details: Box<ProblemDetails>,
    /// A body that replaces the plain details, for operations whose error is richer
    /// (`SmContextCreateError`).
    pub body: Option<Body>,
    /// Set if there was no response.
    pub transport: Option<TransportFailure>,
    /// `Retry-After` in seconds (TS 29.500, 5.2.2.2).
    pub retry_after: Option<u32>,
}

impl Problem {
    /// A problem with an HTTP status and an application cause; an empty cause stands for none.
    pub fn new(status: u16, cause: &str) -> Self {
        let cause = Some(cause).filter(|cause| !cause.is_empty()).map(Into::into);
        Problem {
            details: Box::new(ProblemDetails { status: Some(status), cause, ..Default::default() }),
            body: None,
            transport: None,
            retry_after: None,
        }
    }

    /// 400 with the cause for a malformed message (TS 29.500, table 5.2.7.2-1).
    pub fn invalid_message(detail: impl Into<String>) -> Self {
        Problem::new(400, "INVALID_MSG_FORMAT").detail(detail)
    }

    /// 400 for an invalid mandatory attribute, given by JSON pointer.
    pub fn mandatory_ie_incorrect(param: &str, reason: impl Into<String>) -> Self {
        let mut problem = Problem::new(400, "MANDATORY_IE_INCORRECT");
        problem.details.invalid_params =
            Some(vec![InvalidParam { param: param.into(), reason: Some(reason.into()) }]);
        problem
    }

    /// 500 for an internal error.
    pub fn system_failure(detail: impl Into<String>) -> Self {
        Problem::new(500, "SYSTEM_FAILURE").detail(detail)
    }

    /// 504 for a peer that cannot be reached.
    pub fn unreachable(failure: TransportFailure, detail: impl Into<String>) -> Self {
        let mut problem = Problem::new(504, "TARGET_NF_NOT_REACHABLE").detail(detail);
        problem.transport = Some(failure);
        problem
    }

    /// 504 for a timeout.
    pub fn timed_out(detail: impl Into<String>) -> Self {
        let mut problem = Problem::new(504, "TIMED_OUT_REQUEST").detail(detail);
        problem.transport = Some(TransportFailure::Unknown);
        problem
    }

    /// Sets the explanation of this occurrence.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.detail = Some(detail.into());
        self
    }

    /// 403 for a notification that [is misdirected](crate::Request::is_misdirected).
    pub fn misdirected(path: &str) -> Self {
        Problem::new(403, "REQUEST_NOT_ALLOWED").detail(format!(
            "{path} is the path of a service: notifications go to one of the consumer's own"
        ))
    }

    /// Sets a body that replaces the plain details.
    pub fn with_body(mut self, body: Body) -> Self {
        self.body = Some(body);
        self
    }

    /// The HTTP status; 500 if the peer reported none.
    pub fn status(&self) -> u16 {
        self.details.status.unwrap_or(500)
    }

    /// The application cause, or an empty string.
    pub fn cause(&self) -> &str {
        self.details.cause.as_deref().unwrap_or("")
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        let (status, cause) = match &error {
            BodyError::Missing => (400, "MANDATORY_IE_MISSING"),
            BodyError::UnsupportedMediaType { .. } => (415, "UNSUPPORTED_MEDIA_TYPE"),
            BodyError::Malformed(_) => (400, "INVALID_MSG_FORMAT"),
            BodyError::InvalidRequest(_) => (400, "invalid_request"),
            BodyError::NotEncodable(_) => (500, "SYSTEM_FAILURE"),
        };
        Problem::new(status, cause).detail(error.to_string())
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {}",
            self.status(),
            if self.cause().is_empty() { "(no cause)" } else { self.cause() }
        )?;
        match &self.details.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}
