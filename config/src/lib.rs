//! Configuration files: read from YAML, and checked such that an error names the file, the line,
//! the key and what to write instead.
#![forbid(unsafe_code)]

mod finding;
mod lines;
mod read;
mod renamed;

pub use finding::{Finding, Report};
pub use lines::Lines;
pub use read::{read, read_file};
