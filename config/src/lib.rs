//! Configuration files: read from YAML, and checked such that an error names the file, the line,
//! the key and what to write instead.
#![forbid(unsafe_code)]

mod environment;
mod finding;
mod lines;
mod read;
mod redact;
mod reference;
mod renamed;
mod shape;
mod yaml;

pub use environment::with_environment;
pub use finding::{Finding, Report};
pub use lines::Lines;
pub use read::{Reading, read, read_all, read_file, text_of};
pub use reference::Reference;
pub use shape::{Kind, UnknownType, keys};
pub use yaml::from_yaml;
