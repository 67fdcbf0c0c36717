//! Regular expressions of packet flow descriptions (TS 29.551, 6.1.6.2.5).
use regex::bytes::{Regex, RegexBuilder};

/// Bytes of a compiled expression.
const LARGEST: usize = 64 << 10;

/// Compiles an expression that matches whole texts and ignores case.
pub(crate) fn whole(expression: &str) -> Result<Regex, String> {
    RegexBuilder::new(&format!("^(?:{expression})$"))
        .size_limit(LARGEST)
        .unicode(false)
        .case_insensitive(true)
        .build()
        .map_err(|error| error.to_string())
}
