//! Names of hosts as packet flow descriptions have them: a name, or a regular expression (TS
//! 29.551, 6.1.6.2.5).
use crate::expression;
use regex::bytes::Regex;
use std::hash::{Hash, Hasher};

/// A pattern of the domain names of an application's hosts.
#[derive(Debug, Clone)]
pub struct NamePattern {
    text: String,
    /// `None` for a plain name.
    expression: Option<Regex>,
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for NamePattern {}

impl Hash for NamePattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Why a pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is neither a domain name nor a regular expression: {why}")]
pub struct NameError {
    text: String,
    why: String,
}

impl NamePattern {
    /// Reads one.
    ///
    /// # Errors
    /// Neither a name nor an expression, or an expression that needs too much memory.
    pub fn read(bytes: &[u8]) -> Result<NamePattern, NameError> {
        let text = String::from_utf8_lossy(bytes);
        let plain = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        let text =
            if plain { text.trim_end_matches('.').to_ascii_lowercase() } else { text.into_owned() };
        let wrong = |why: String| NameError { text: text.clone(), why };
        if text.is_empty() || text.len() > 1024 {
            return Err(wrong("it is empty or too long".into()));
        }
        let expression = match (plain, text.strip_prefix("*.")) {
            (true, _) => None,
            // Not a regular expression, but in common use.
            (_, Some(below)) => Some(format!(r"[^.]+(\.[^.]+)*\.{}", regex::escape(below))),
            (_, None) => Some(text.clone()),
        };
        let compile = |expression: String| expression::whole(&expression).map_err(wrong);
        let expression = expression.map(compile).transpose()?;
        Ok(NamePattern { text, expression })
    }

    /// Whether a name in lower case matches.
    pub fn matches(&self, name: &str) -> bool {
        self.expression
            .as_ref()
            .map_or(name == self.text, |expression| expression.is_match(name.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_expressions_match() {
        let of = |text: &str| NamePattern::read(text.as_bytes()).unwrap();
        assert!(of("Www.Example.com.").matches("www.example.com"));
        assert!(!of("www.example.com").matches("wwwxexample.com"));
        assert!(
            of("*.example.com").matches("a.b.example.com")
                && !of("*.example.com").matches("example.com")
        );
        let expression = of(r"^(video|img\d+)\.example\.(com|net)$");
        assert!(
            expression.matches("img12.example.net")
                && !expression.matches("img12.example.net.evil.org")
        );
        // The whole name must match.
        assert!(!of(r"a\.example|b\.example").matches("xb.example"));
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        for wrong in ["", "(", "a{1000000}", "[z-a].example"] {
            assert!(NamePattern::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
