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
    /// A core of another maker
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
            Variant::External => "external",
        }
    }

    /// The name in reports.
    pub fn title(self) -> &'static str {
        match self {
            Variant::Local => "one process",
            Variant::Fabric => "one process each, fabric",
            Variant::Http => "one process each, HTTP/2",
            Variant::External => "external core",
        }
    }

    /// Arguments of `martlet up`.
    pub(crate) fn arguments(self) -> &'static [&'static str] {
        match self {
            Variant::Local => &[],
            Variant::Fabric => &["--split", "--sbi", "fabric"],
            Variant::Http => &["--split", "--sbi", "http"],
            // Its own program starts it.
            Variant::External => &[],
        }
    }
}
