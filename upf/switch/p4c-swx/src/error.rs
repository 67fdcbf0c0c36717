//! Errors of a program, with their positions.
use std::fmt;

/// A position in a source text, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The result of a step of the compiler.
pub(crate) type Result<T> = std::result::Result<T, CompileError>;

/// The first error of a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct CompileError {
    /// The position.
    pub at: Position,
    /// The error, and what to write instead if that is known.
    pub message: String,
}

/// An error at a position.
pub(crate) fn error<T>(at: Position, message: impl Into<String>) -> Result<T> {
    Err(CompileError { at, message: message.into() })
}
