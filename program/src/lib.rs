//! What the programs of the workspace share: options of the log, the text of errors, standard
//! output, and what packages install for shells and readers.
#![deny(unsafe_code)]

pub mod documents;
mod error_text;
pub mod log;
pub mod standard_output;

pub use error_text::error_text;
