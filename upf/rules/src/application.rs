//! Applications by their packet flow descriptions (TS 29.244, 5.11 and 6.2.5).
use super::SdfRule;
use crate::dns::NamePattern;
use crate::url::UrlPattern;

/// An application that PDRs detect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Application {
    /// Application ID.
    pub id: Vec<u8>,
    /// Its flows, of which a packet belongs to one.
    pub rules: Vec<SdfRule>,
    /// Domain names of its hosts, whose resolved addresses are among the flows.
    pub names: Vec<NamePattern>,
    /// URLs, of which requests of HTTP/1.1 have one. The connection of such a request belongs to
    /// the application too.
    pub urls: Vec<UrlPattern>,
}
