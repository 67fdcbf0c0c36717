//! How the network functions run and talk.

/// A way of running that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Variant {
    /// One process, calls within it
    Local,
    /// One process each, shared memory
    Fabric,
    /// One process each, HTTP/2
    Http,
}

impl Variant {
    /// Its name in figures and raw data.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Local => "local",
            Variant::Fabric => "fabric",
            Variant::Http => "http",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Variant::Local => "one process",
            Variant::Fabric => "one process each, fabric",
            Variant::Http => "one process each, HTTP/2",
        }
    }

    /// What `martlet up` is told.
    pub(super) fn arguments(self) -> &'static [&'static str] {
        match self {
            Variant::Local => &[],
            Variant::Fabric => &["--split", "--sbi", "fabric"],
            Variant::Http => &["--split", "--sbi", "http"],
        }
    }
}
