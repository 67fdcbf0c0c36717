//! Why the core refuses.
use crate::problem::Failure;
use http::StatusCode;

/// Why the core did not do what was requested.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AccessError {
    /// No function of the core serves the request, or its process does not answer.
    #[error("{0}")]
    Unavailable(String),
    /// The function refused.
    #[error("{detail}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Why.
        detail: String,
    },
    /// This core cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// A backup cannot be made or restored.
    #[error("{detail}")]
    Backup {
        /// HTTP status.
        status: StatusCode,
        /// The last part of the problem's type, and its title.
        kind: (&'static str, &'static str),
        /// What is wrong.
        detail: String,
        /// What to do.
        remedy: String,
        /// Whether the folder of the request is wrong.
        is_folder: bool,
    },
    /// Values of a configuration are wrong.
    #[error("{detail}")]
    Invalid {
        /// All errors, each with its line.
        detail: String,
        /// Each error that names a key: the key, and what is wrong.
        fields: Vec<(String, String)>,
    },
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Unavailable(detail) => Failure::unavailable(detail),
            AccessError::Invalid { detail, fields } => Failure::fields(detail, fields),
            AccessError::Backup { status, kind: (kind, title), detail, remedy, is_folder } => {
                let failure = Failure::new(status, kind, title, detail).remedy(&remedy);
                if is_folder { failure.at("folder") } else { failure }
            }
            AccessError::Refused { status: 404, detail } => Failure::not_found(detail),
            AccessError::Refused { status: 400, detail } => {
                Failure::new(StatusCode::BAD_REQUEST, "refused", "The core refused", detail)
            }
            AccessError::Refused { status: 409, detail } => Failure::conflict(detail),
            AccessError::Refused { status: 501, detail } | AccessError::Unsupported(detail) => {
                Failure::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "unsupported",
                    "This core cannot do that",
                    detail,
                )
            }
            AccessError::Refused { status: 504, detail } => Failure::new(
                StatusCode::GATEWAY_TIMEOUT,
                "no-answer",
                "The UE did not answer",
                detail,
            ),
            AccessError::Refused { status: 400..=499, detail } => Failure::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "refused",
                "The core refused",
                detail,
            ),
            AccessError::Refused { detail, .. } => {
                Failure::new(StatusCode::BAD_GATEWAY, "refused", "The core refused", detail)
            }
        }
    }
}
