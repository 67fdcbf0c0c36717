//! Findings of configuration checks, and the report that places them in a file.
use crate::Lines;
use crate::redact::redact;
use std::fmt;

/// A wrong value, found by the check of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The path of the key, as `amf.plmn.mcc` or `smf.pools[0].cidr`, relative to the checked
    /// section.
    pub path: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl Finding {
    /// A finding at a path.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Finding { path: path.into(), message: message.into() }
    }

    /// The same finding with its path relative to the section around `section`.
    pub fn within(mut self, section: &str) -> Self {
        self.path = match self.path.is_empty() {
            true => section.to_string(),
            false => format!("{section}.{}", self.path),
        };
        self
    }
}

/// All findings of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Lines of the form `FILE:LINE: PATH: MESSAGE`.
    pub lines: Vec<String>,
}

impl Report {
    /// Adds the line in the file to each finding. Keys and passwords in messages are hidden.
    pub fn of(file: &str, lines: &Lines, findings: &[Finding]) -> Self {
        let line = |finding: &Finding| {
            let position =
                lines.of(&finding.path).map_or(file.to_string(), |line| format!("{file}:{line}"));
            format!("{position}: {}: {}", finding.path, redact(&finding.message))
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
