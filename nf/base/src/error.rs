//! What keeps a network function from starting or running.
use martlet_sbi::Problem;

/// A message that tells a person what to do.
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
