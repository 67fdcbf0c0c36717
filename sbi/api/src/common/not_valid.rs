//! The error of a value whose form violates the specification.

/// A text that is not of its type's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotValid {
    pub(super) what: &'static str,
    pub(super) text: String,
}

impl NotValid {
    pub(crate) fn new(what: &'static str, text: &str) -> Self {
        // External input is truncated in logs.
        NotValid { what, text: text.chars().take(64).collect() }
    }
}

impl std::fmt::Display for NotValid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} is no {}", self.text, self.what)
    }
}

impl std::error::Error for NotValid {}
