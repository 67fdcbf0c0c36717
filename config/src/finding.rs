//! What is wrong with a configuration.
use crate::Lines;
use std::fmt;

/// Something wrong with a value, found by a section's own check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where, as `amf.plmn.mcc` or `smf.pools[0].cidr`, relative to the section that checks.
    pub path: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl Finding {
    /// A finding at a path.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Finding { path: path.into(), message: message.into() }
    }

    /// The same finding, seen from the section that holds this one.
    pub fn within(mut self, section: &str) -> Self {
        self.path = match self.path.is_empty() {
            true => section.to_string(),
            false => format!("{section}.{}", self.path),
        };
        self
    }
}

/// Everything that is wrong with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Lines of the form `FILE:LINE: PATH: MESSAGE`.
    pub lines: Vec<String>,
}

impl Report {
    /// Puts findings where they belong in the file.
    pub fn of(file: &str, lines: &Lines, findings: &[Finding]) -> Self {
        let line = |finding: &Finding| {
            let place =
                lines.of(&finding.path).map_or(file.to_string(), |line| format!("{file}:{line}"));
            format!("{place}: {}: {}", finding.path, finding.message)
        };
        Report { lines: findings.iter().map(line).collect() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl std::error::Error for Report {}
