//! The error of a network function that cannot start or run.
use martlet_sbi::Problem;

/// What failed, why, and what to do.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

impl From<String> for StartError {
    fn from(text: String) -> Self {
        StartError(text)
    }
}

impl From<std::io::Error> for StartError {
    fn from(error: std::io::Error) -> Self {
        StartError(error.to_string())
    }
}

impl From<Problem> for StartError {
    fn from(problem: Problem) -> Self {
        StartError(problem.to_string())
    }
}
