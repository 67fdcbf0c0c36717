//! Configuration files: read from YAML, and checked such that a person is told which line is wrong
//! and what to write.
#![forbid(unsafe_code)]

mod finding;
mod lines;
mod read;

pub use finding::{Finding, Report};
pub use lines::Lines;
pub use read::{read, read_file};
