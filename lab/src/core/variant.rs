//! The deployments of a core that experiments compare.

/// A deployment of the network functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Variant {
    /// One process, calls within it
    Local,
    /// One process each, shared memory
    Fabric,
    /// One process each, HTTP/2
    Http,
    /// As fabric, and the AMF runs all procedures at once
    #[value(name = "fabric_unlimited")]
    FabricUnlimited,
    /// As http, and the AMF runs all procedures at once
    #[value(name = "http_unlimited")]
    HttpUnlimited,
    /// A core of another vendor
    #[value(skip)]
    External,
}

impl Variant {
    /// The name in figures and raw data.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Local => "local",
            Variant::Fabric => "fabric",
            Variant::Http => "http",
            Variant::FabricUnlimited => "fabric_unlimited",
            Variant::HttpUnlimited => "http_unlimited",
            Variant::External => "external",
        }
    }

    /// The name in reports.
    pub fn title(self) -> &'static str {
        match self {
            Variant::Local => "one process",
            Variant::Fabric => "one process each, fabric",
            Variant::Http => "one process each, HTTP/2",
            Variant::FabricUnlimited => "fabric, no concurrency limit",
            Variant::HttpUnlimited => "HTTP/2, no concurrency limit",
            Variant::External => "external core",
        }
    }

    /// Whether functions call each other over HTTP/2.
    pub(crate) fn is_http(self) -> bool {
        matches!(self, Variant::Http | Variant::HttpUnlimited)
    }

    /// Whether the AMF runs all procedures at once.
    pub(crate) fn is_unlimited(self) -> bool {
        matches!(self, Variant::FabricUnlimited | Variant::HttpUnlimited)
    }

    /// Arguments of `martlet up`.
    pub(crate) fn arguments(self) -> &'static [&'static str] {
        match self {
            Variant::Local => &[],
            Variant::Fabric | Variant::FabricUnlimited => &["--split", "--sbi", "fabric"],
            Variant::Http | Variant::HttpUnlimited => &["--split", "--sbi", "http"],
            // Its own program starts it.
            Variant::External => &[],
        }
    }
}
