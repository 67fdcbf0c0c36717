//! Requests and responses, independent of the binding.
use crate::{Body, OperationInfo, Payload, Problem};
use http::{HeaderMap, HeaderValue, Method};
use std::time::Instant;

/// Header names of TS 29.500, 5.2.3.
pub mod headers {
    /// Milliseconds that the consumer waits for the response.
    pub const MAX_RSP_TIME: &str = "3gpp-sbi-max-rsp-time";
    /// When the request was sent.
    pub const SENDER_TIMESTAMP: &str = "3gpp-sbi-sender-timestamp";
    /// The UE that a request concerns, for traces and logs.
    pub const CORRELATION_INFO: &str = "3gpp-sbi-correlation-info";
    /// Priority of the message.
    pub const MESSAGE_PRIORITY: &str = "3gpp-sbi-message-priority";
    /// Header that selects the same producer again.
    pub const BINDING: &str = "3gpp-sbi-binding";
    /// API root of the producer, through an SCP or where the authority differs.
    pub const TARGET_API_ROOT: &str = "3gpp-sbi-target-apiroot";
}

/// How the API names of notifications end.
const CALLBACK: &str = "-callback";

/// A request.
#[derive(Debug)]
pub struct Request {
    /// The operation, if the caller is part of this process.
    pub operation: Option<&'static OperationInfo>,
    /// HTTP method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Body,
    /// The deadline of the caller.
    pub deadline: Option<Instant>,
}

impl Request {
    /// The path without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or("")
    }
    /// The query without its `?`.
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
    /// Whether it is a notification to the path of a service, such as that of an SM context. A
    /// consumer chooses its callback URI. Within a machine, where a request has no token and no
    /// certificate, it would otherwise have a service requested in the name of the sender.
    pub fn is_misdirected(&self) -> bool {
        if !self.operation.is_some_and(|operation| operation.api.ends_with(CALLBACK)) {
            return false;
        }
        let mut segments = self.path().split('/').skip(1);
        let (api, version) = (segments.next().unwrap_or_default(), segments.next());
        let is_version = version
            .and_then(|version| version.strip_prefix('v'))
            .is_some_and(|n| n.bytes().next().is_some_and(|digit| digit.is_ascii_digit()));
        api.starts_with('n') && !api.ends_with(CALLBACK) && is_version
    }
    /// A copy, for another producer. `None` if the body cannot be encoded.
    pub fn copy(&self) -> Option<Request> {
        let body = self.body.to_encoded().ok()?;
        let body = body
            .map_or(Body::empty(), |encoded| Body::encoded(encoded.content_type, encoded.bytes));
        let (operation, method, deadline) = (self.operation, self.method.clone(), self.deadline);
        Some(Request {
            operation,
            method,
            target: self.target.clone(),
            headers: self.headers.clone(),
            body,
            deadline,
        })
    }
    /// The consumer: its NF type (TS 29.500, 5.2.2.2), or the name of its HTTP client.
    pub fn user_agent(&self) -> Option<&str> {
        self.headers.get(http::header::USER_AGENT)?.to_str().ok()
    }
    /// The identity of the UE that the request concerns, such as `imsi-001010000000001`.
    pub fn correlation(&self) -> Option<&str> {
        self.headers.get(headers::CORRELATION_INFO)?.to_str().ok()
    }
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Body,
}

impl Response {
    /// A response without headers.
    pub fn new(status: u16, body: Body) -> Self {
        Response { status, headers: HeaderMap::new(), body }
    }

    /// Sets `Location`.
    pub fn located(mut self, location: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(location) {
            self.headers.insert(http::header::LOCATION, value);
        }
        self
    }

    /// `Location`.
    pub fn location(&self) -> Option<&str> {
        self.headers.get(http::header::LOCATION)?.to_str().ok()
    }

    /// The response for a problem: its own body, or `application/problem+json`.
    pub fn problem(problem: Problem) -> Self {
        let mut headers = HeaderMap::new();
        if let Some(seconds) = problem.retry_after {
            headers.insert(http::header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        let status = problem.status();
        Response {
            status,
            headers,
            body: problem.body.unwrap_or_else(|| Body::of(*problem.details)),
        }
    }

    /// The problem of a response that is not 2xx. It keeps the body, for operations with richer
    /// errors.
    pub fn into_problem(self) -> Problem {
        let retry_after =
            self.headers.get(http::header::RETRY_AFTER).and_then(|v| v.to_str().ok()?.parse().ok());
        let encoded = self.body.to_encoded().ok().flatten();
        let plain = encoded
            .as_ref()
            .is_some_and(|e| e.content_type.starts_with("application/problem+json"));
        let mut problem = Problem::new(self.status, "");
        problem.details.cause = None;
        if plain {
            if let Ok(details) = Payload::decode(encoded) {
                problem.details = Box::new(details);
            }
        } else {
            // SmContextCreateError and similar types carry the details in their member `error`.
            // In OAuth errors it is the cause (RFC 6749, 5.2).
            if let Ok(value) = crate::Multipart::<serde_json::Value>::decode(encoded)
                && let Some(error) = value.json.get("error")
            {
                if let Some(cause) = error.as_str() {
                    problem.details.cause = Some(cause.to_string());
                    let text = value.json.get("error_description").and_then(|it| it.as_str());
                    problem.details.detail = text.map(str::to_string);
                } else if let Ok(details) = serde_json::from_value(error.clone()) {
                    problem.details = Box::new(details);
                }
            }
            problem.body = Some(self.body);
        }
        problem.details.status = Some(self.status);
        problem.retry_after = retry_after;
        problem
    }
}
