//! The `martlet` program.
fn main() {}
