//! A URL, or a regular expression for URLs (TS 29.551, 6.1.6.2.5).
use super::request::{HTTP_PORT, Url};
use crate::expression;
use regex::bytes::Regex;
use std::hash::{Hash, Hasher};

/// Longest pattern in bytes.
const LONGEST: usize = 1024;

/// A pattern of the URLs of an application.
#[derive(Debug, Clone)]
pub struct UrlPattern {
    text: String,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// All URLs below this one.
    Below(Prefix),
    /// Whole URLs.
    Expression(Regex),
}

/// Host, port, and the beginning of the path.
#[derive(Debug, Clone)]
struct Prefix {
    /// In lower case.
    host: String,
    /// Whether hosts below `host` match, too.
    below: bool,
    port: u16,
    path: String,
}

/// Why a pattern is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It is not valid.
    #[error("{text:?} is neither a URL nor a regular expression: {why}")]
    Invalid {
        /// The pattern.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// It is for URLs that no packet shows.
    #[error("{0:?} is a URL of another scheme than http, which no packet shows")]
    Hidden(String),
}

impl PartialEq for UrlPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for UrlPattern {}

impl Hash for UrlPattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl UrlPattern {
    /// Reads one. A text with a character of `^$*+()[]{}|\`, or that begins with `https?`, is a
    /// regular expression. Another one is a URL, whose scheme may be left out and whose host may
    /// begin with `*.`.
    ///
    /// # Errors
    /// Neither a URL nor an expression, an expression that needs too much memory, or a URL of
    /// another scheme than `http`.
    pub fn read(bytes: &[u8]) -> Result<UrlPattern, UrlError> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let invalid = |why: &str| UrlError::Invalid { text: text.clone(), why: why.into() };
        if text.is_empty() || text.len() > LONGEST {
            return Err(invalid("it is empty or too long"));
        }
        if !text.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
            return Err(invalid("it has a character that no URL has"));
        }
        let start = text.trim_start_matches(['^', '(', '?', ':']);
        let scheme = start.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let either = scheme.as_deref() == Some("https?");
        let literal = text.strip_prefix("http://").unwrap_or(&text);
        let literal = literal.strip_prefix("*.").unwrap_or(literal);
        if either || literal.contains(|c| r"^$*+()[]{}|\".contains(c)) {
            if scheme.is_some_and(|scheme| scheme == "https") {
                return Err(UrlError::Hidden(text));
            }
            let compiled = expression::whole(&text).map_err(|why| invalid(&why))?;
            return Ok(UrlPattern { text, form: Form::Expression(compiled) });
        }
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(UrlError::Hidden(text)),
            None => &text,
        };
        let path = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| invalid("its port is no number"))?)
            }
            _ => (authority, HTTP_PORT),
        };
        let (host, below) = host.strip_prefix("*.").map_or((host, false), |host| (host, true));
        if host.is_empty() {
            return Err(invalid("it has no host"));
        }
        let (host, path) = (host.to_ascii_lowercase(), path.to_string());
        let prefix = Prefix { host, below, port, path };
        Ok(UrlPattern { text, form: Form::Below(prefix) })
    }

    /// Whether a URL matches.
    pub fn matches(&self, url: &Url) -> bool {
        match &self.form {
            Form::Below(prefix) => prefix.matches(url),
            Form::Expression(expression) => expression.is_match(url.to_string().as_bytes()),
        }
    }
}

impl Prefix {
    fn matches(&self, url: &Url) -> bool {
        let host = match self.below {
            false => url.host == self.host,
            true => url.host.strip_suffix(&*self.host).is_some_and(|below| below.ends_with('.')),
        };
        // The path ends where the pattern does, or another segment or a query follows.
        let path = || {
            url.path.strip_prefix(&*self.path).is_some_and(|rest| {
                rest.is_empty()
                    || self.path.is_empty()
                    || self.path.ends_with('/')
                    || rest.starts_with(['/', '?', '&'])
            })
        };
        host && self.port == url.port && path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(host: &str, port: u16, path: &str) -> Url {
        Url { host: host.into(), port, path: path.into() }
    }

    fn of(text: &str) -> UrlPattern {
        UrlPattern::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_url_matches_those_below_it() {
        let video = of("http://Example.com/video");
        for path in ["/video", "/video/1", "/video?id=1"] {
            assert!(video.matches(&url("example.com", 80, path)), "{path}");
        }
        for (host, port, path) in [
            ("example.com", 80, "/videos"),
            ("example.com", 80, "/Video"),
            ("example.com", 8080, "/video"),
            ("www.example.com", 80, "/video"),
        ] {
            assert!(!video.matches(&url(host, port, path)), "{host}:{port}{path}");
        }
        assert!(of("example.com:8080").matches(&url("example.com", 8080, "/a")));
        assert!(of("http://a.example/v?id=1").matches(&url("a.example", 80, "/v?id=1&x=2")));
        let below = of("http://*.example.com/");
        assert!(below.matches(&url("a.b.example.com", 80, "/x")));
        assert!(!below.matches(&url("example.com", 80, "/x")));
        assert!(!below.matches(&url("badexample.com", 80, "/x")));
    }

    #[test]
    fn an_expression_matches_whole_urls() {
        let test = of(r"^http://test.example.com(/\S*)?$");
        assert!(test.matches(&url("test.example.com", 80, "/a")));
        assert!(!test.matches(&url("evil.org", 80, "/http://test.example.com/")));
        let either = of(r"https?://a\.example/.*");
        assert!(either.matches(&url("a.example", 80, "/")));
        assert!(of(r"http://a\.example:8080/.*").matches(&url("a.example", 8080, "/")));
        assert!(of("https?://a.example/").matches(&url("a.example", 80, "/")));
    }

    #[test]
    fn what_no_packet_shows_is_refused() {
        for hidden in ["https://a.example/", "rtsp://a.example", "^https://a.example/.*$"] {
            let refused = UrlPattern::read(hidden.as_bytes());
            assert_eq!(refused, Err(UrlError::Hidden(hidden.into())));
        }
        for wrong in ["", "(", "http://", "http://a:b/", "a b", "/video", "a{1000000}"] {
            let refused = UrlPattern::read(wrong.as_bytes());
            assert!(matches!(refused, Err(UrlError::Invalid { .. })), "{wrong}");
        }
    }
}
