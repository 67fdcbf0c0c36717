//! Problem details (RFC 9457) with the field that is wrong and its remedy.
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use martlet_store::StoreError;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A problem (RFC 9457).
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "type": "urn:martlet:problem:invalid-field", "title": "A field is invalid", "status": 400,
    "detail": "\"fast\" is not a bit rate", "field": "ambr_uplink",
    "remedy": "write for example 100 Mbps"
}))]
pub struct ProblemDetails {
    /// The kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong in this request.
    pub detail: String,
    /// The field that is wrong, such as `slices[0].sst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// All fields that are wrong, if there may be several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// A field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// The field, such as `flows[0].five_qi`.
    #[schema(example = "flows[0].five_qi")]
    pub field: String,
    /// What is wrong, and what to write.
    pub detail: String,
}

/// A request that fails.
#[derive(Debug, Clone)]
pub struct Failure {
    problem: ProblemDetails,
    retry_after: Option<u64>,
}

impl Failure {
    /// A failure with a status, the last part of its type, and its title.
    pub fn new(status: StatusCode, kind: &str, title: &str, detail: impl Into<String>) -> Self {
        let problem = ProblemDetails {
            kind: format!("urn:martlet:problem:{kind}"),
            title: title.into(),
            status: status.as_u16(),
            detail: detail.into(),
            field: None,
            remedy: None,
            errors: Vec::new(),
        };
        Failure { problem, retry_after: None }
    }

    /// A field is invalid.
    pub fn field(field: &str, detail: impl Into<String>, remedy: &str) -> Self {
        let mut failure =
            Self::new(StatusCode::BAD_REQUEST, "invalid-field", "A field is invalid", detail);
        failure.problem.field = Some(field.into());
        failure.remedy(remedy)
    }

    /// Names the field that is wrong.
    pub fn at(mut self, field: &str) -> Self {
        self.problem.field = Some(field.into());
        self
    }

    /// Several fields are invalid: each field, and what is wrong.
    pub fn fields(detail: impl Into<String>, fields: Vec<(String, String)>) -> Self {
        let mut failure =
            Self::new(StatusCode::BAD_REQUEST, "invalid-field", "A field is invalid", detail);
        failure.problem.field = fields.first().map(|(field, _)| field.clone());
        let error = |(field, detail)| FieldError { field, detail };
        failure.problem.errors = fields.into_iter().map(error).collect();
        failure.remedy("correct the fields")
    }

    /// Gives the fields other names, such as those of the body in place of the configuration's.
    pub fn with_fields(mut self, name: impl Fn(&str) -> String) -> Self {
        if let Some(field) = &mut self.problem.field {
            *field = name(field);
        }
        self.problem.errors.iter_mut().for_each(|error| error.field = name(&error.field));
        self
    }

    /// The request panicked.
    pub fn of_the_program() -> Self {
        tracing::error!("a request of the API panicked");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "The request failed",
            "the request failed by an error of the program",
        )
        .remedy("see the log of the core")
    }

    /// The resource does not exist.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "The resource does not exist", detail)
    }

    /// The state of the resource does not allow the request.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", "The state does not allow this", detail)
    }

    /// The resource was changed since it was read.
    pub fn stale() -> Self {
        Self::new(
            StatusCode::PRECONDITION_FAILED,
            "stale",
            "The resource was changed meanwhile",
            "If-Match does not have the entity tag of the current version",
        )
        .remedy("read it again, and apply the change to the current version")
    }

    /// The resource was created since the caller looked for it.
    pub fn exists() -> Self {
        Self::new(
            StatusCode::PRECONDITION_FAILED,
            "stale",
            "The resource was changed meanwhile",
            "If-None-Match has the current version, or is * while there is one",
        )
        .remedy("read it, and apply the change to the current version")
    }

    /// `If-Match` is missing.
    pub fn precondition_required() -> Self {
        Self::new(
            StatusCode::PRECONDITION_REQUIRED,
            "precondition-required",
            "The request needs a precondition",
            "If-Match is missing",
        )
        .remedy("send the ETag of the version that you read as If-Match")
    }

    /// The caller is not known.
    pub fn unauthenticated(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", "Sign in first", detail)
            .remedy("sign in at /api/v1/session, or send an API token as Authorization: Bearer")
    }

    /// The caller is known and may not do this.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "The caller may not do this", detail)
    }

    /// Too many requests; the caller may try again after some seconds.
    pub fn too_many(detail: impl Into<String>, retry_after_s: u64) -> Self {
        let mut failure = Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too-many-requests",
            "Too many requests",
            detail,
        )
        .remedy("wait for the seconds of Retry-After");
        failure.retry_after = Some(retry_after_s.max(1));
        failure
    }

    /// A part of the core that the request needs does not answer.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "A part of the core does not answer",
            detail,
        )
    }

    /// Adds what to do.
    pub fn remedy(mut self, remedy: &str) -> Self {
        self.problem.remedy = Some(remedy.into());
        self
    }

    /// The problem.
    pub fn problem(&self) -> &ProblemDetails {
        &self.problem
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Invalid(invalid) => {
                let (detail, remedy) = match invalid.message.split_once(": ") {
                    Some((detail, remedy)) => (detail.to_string(), remedy.to_string()),
                    None => (invalid.message.clone(), "correct the field".to_string()),
                };
                Failure::field(invalid.field, detail, &remedy)
            }
            StoreError::Exists(what) => Failure::conflict(format!("{what} exists"))
                .remedy("change it instead, or use another identity"),
            StoreError::Concurrent(_) => Failure::stale(),
            error => {
                if let Some(suppressed) = martlet_log_limit::line("oam_store", "store") {
                    tracing::error!(%error, suppressed, "the store failed for an OAM request");
                }
                Failure::unavailable("the subscriber database does not answer")
                    .remedy("see the log of the core")
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self.problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_subscriber_names_field_and_remedy() {
        let mut subscriber = martlet_store::Subscriber::new(
            "imsi-001010000000001",
            martlet_store::Secret([1; 16]),
            martlet_store::Secret([2; 16]),
            "internet",
        );
        subscriber.ambr_uplink = "fast".into();
        let failure = Failure::from(StoreError::from(subscriber.check().unwrap_err()));
        let problem = failure.problem();
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some("ambr_uplink")));
        assert_eq!(problem.remedy.as_deref(), Some("write for example 100 Mbps"));
    }
}
