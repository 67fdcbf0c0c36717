//! Why a case did not pass.

/// Why a case did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// The core did not do what the clause requires: what was received instead.
    Failed(String),
    /// The case needs something that the bench was not given.
    NotRun(&'static str),
}

impl<E: std::error::Error> From<E> for Unmet {
    fn from(error: E) -> Self {
        Unmet::Failed(error.to_string())
    }
}

/// Fails the case unless the condition holds.
pub(super) fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Unmet> {
    if holds { Ok(()) } else { Err(Unmet::Failed(otherwise())) }
}

/// A failed case.
pub(super) fn failed<T>(what: impl Into<String>) -> Result<T, Unmet> {
    Err(Unmet::Failed(what.into()))
}
