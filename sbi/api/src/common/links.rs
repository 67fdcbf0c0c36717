//! Links in the format of HAL (TS 29.571, 5.2).
use super::Link;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};

/// One link or several (TS 29.571, 5.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(untagged)]
pub enum Links {
    /// Several.
    Many(Vec<Link>),
    /// One.
    One(Link),
}

impl Links {
    /// One link.
    pub fn to(uri: impl Into<String>) -> Self {
        Links::One(Link { href: Some(uri.into()) })
    }
    /// The URI of the first link.
    pub fn uri(&self) -> Option<&str> {
        let link = match self {
            Links::Many(links) => links.first()?,
            Links::One(link) => link,
        };
        link.href.as_deref()
    }
}
