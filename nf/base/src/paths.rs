//! Paths of requests at `/ask/…`, and the request that each one is.
use martlet_sbi::segment_text;
use matchit::{Params, Router};

/// The requests that a function answers, by their paths after `/ask/`. A path may have variable
/// segments, such as `{supi}` in `smf/sessions/{supi}`. `T` says which request it is.
///
/// Keep it in a [`LazyLock`](std::sync::LazyLock): a function that is not asked then has no memory
/// for it.
pub struct Paths<T>(Router<T>);

impl<T: Copy> Paths<T> {
    /// Paths, each with its request.
    ///
    /// # Panics
    /// Two paths are the same, or one is malformed.
    pub fn new<const N: usize>(paths: [(&'static str, T); N]) -> Self {
        let mut router = Router::new();
        for (path, request) in paths {
            router.insert(path, request).expect("constant paths that differ");
        }
        Paths(router)
    }

    /// The request at a path and its variable segments, in order and decoded: a SUPI may have any
    /// character of an NAI, also `/` (RFC 7542). [`martlet_sbi::path_segment`] writes them.
    pub fn find(&self, path: &str) -> Option<(T, Vec<String>)> {
        let (request, segments) = self.at(path)?;
        Some((request, segments.iter().map(|(_, segment)| segment_text(segment)).collect()))
    }

    /// The request at a path, and its variable segments as they stand in it.
    pub(crate) fn at<'p>(&self, path: &'p str) -> Option<(T, Params<'_, 'p>)> {
        let found = self.0.at(path).ok()?;
        Some((*found.value, found.params))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_decoded_after_they_are_split() {
        let paths = Paths::new([("amf/ue/{supi}", 'u'), ("amf/ue/{supi}/release", 'r')]);
        let supi = "nai-a/b?c#d%2Fe+\u{e9}@x.example";
        let path = format!("amf/ue/{}/release", martlet_sbi::path_segment(supi));
        assert_eq!(paths.find(&path), Some(('r', vec![supi.to_string()])));
        assert!(format!("/ask/{path}").parse::<http::Uri>().is_ok(), "{path}");
    }

    #[test]
    fn a_path_is_that_of_one_request_or_of_none() {
        let paths = Paths::new([
            ("charging", 0),
            ("charging/{supi}", 1),
            ("charging/{supi}/{bytes}", 2),
            ("amf/gnbs", 3),
            ("amf/gnb/{id}/release", 4),
            ("amf/{*other}", 5),
        ]);
        let found = |path| paths.find(path).map(|(request, segments)| (request, segments.len()));
        assert_eq!(found("charging"), Some((0, 0)));
        assert_eq!(found("charging/imsi-1"), Some((1, 1)));
        assert_eq!(found("charging/imsi-1/5000"), Some((2, 2)));
        assert_eq!(found("amf/gnb/7/release"), Some((4, 1)));
        for other in ["amf/gnb", "amf/gnb/7", "amf/gnb/7/page", "amf/gnbs/7"] {
            assert_eq!(found(other), Some((5, 1)), "{other}");
        }
        for none in ["", "charging/", "charging/imsi-1/", "chargings", "locate/imsi-1", "amf/"] {
            assert_eq!(found(none), None, "{none}");
        }
    }
}
