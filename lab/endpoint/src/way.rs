//! What is measured: the ways in which an LCS-UPP message gets to the other end.
use martlet_lab_channels::Kind;
use std::time::Duration;

/// How often a UE says a word that keeps its radio awake: within the time that a grant takes, or
/// there is none when it is needed.
const KEEP_ALIVE: Duration = Duration::from_millis(4);

/// A way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A channel, whose sockets send at once what there is to send.
    Channel(Kind),
    /// A channel over sockets as the system makes them, with Nagle's algorithm: what a library's
    /// own examples do.
    Untuned(Kind),
    /// A channel that keeps the radio awake while it waits for an answer.
    KeepAlive(Kind),
    /// The kernel's TLS and our kernel module.
    KernelModule,
}

impl Way {
    /// Those that this build has and this machine can do.
    pub fn all() -> Vec<Way> {
        let mut all: Vec<_> = Kind::available().into_iter().map(Way::Channel).collect();
        all.push(Way::KeepAlive(Kind::Quinn));
        all.extend(Kind::from_name("wolfssl").map(Way::Untuned));
        if Kind::Ktls.is_available() && std::path::Path::new(martlet_lcs_kernel::PATH).exists() {
            all.push(Way::KernelModule);
        }
        all
    }

    /// As a person writes it.
    pub fn name(self) -> String {
        match self {
            Way::Channel(kind) => kind.name().into(),
            Way::Untuned(kind) => format!("{}_default", kind.name()),
            Way::KeepAlive(kind) => format!("{}_keep_alive", kind.name()),
            Way::KernelModule => "kernel_module".into(),
        }
    }

    /// By its name.
    pub fn from_name(name: &str) -> Option<Way> {
        let untuned = || Kind::from_name(name.strip_suffix("_default")?).map(Way::Untuned);
        let keep_alive = || {
            Some(Kind::Quinn)
                .filter(|kind| name.strip_suffix("_keep_alive") == Some(kind.name()))
                .map(Way::KeepAlive)
        };
        match name {
            "kernel_module" => Some(Way::KernelModule),
            _ => Kind::from_name(name).map(Way::Channel).or_else(untuned).or_else(keep_alive),
        }
    }

    /// Its channel.
    pub fn kind(self) -> Kind {
        match self {
            Way::Channel(kind) | Way::Untuned(kind) | Way::KeepAlive(kind) => kind,
            Way::KernelModule => Kind::Ktls,
        }
    }

    /// Whether small segments are sent at once.
    pub fn no_delay(self) -> bool {
        !matches!(self, Way::Untuned(_))
    }

    /// How often it keeps the radio awake; zero: never.
    pub fn keep_alive(self) -> Duration {
        if matches!(self, Way::KeepAlive(_)) { KEEP_ALIVE } else { Duration::ZERO }
    }

    /// The paper's type of data path; 0: it protects nothing.
    pub fn data_path(self) -> u8 {
        match self {
            Way::KernelModule => 3,
            _ if self.kind() == Kind::Ktls => 2,
            _ if !self.kind().is_secure() => 0,
            _ => 1,
        }
    }

    /// Whether it is one of the three libraries that the paper compares.
    pub fn is_of_the_paper(self) -> bool {
        matches!(self,
            Way::Channel(kind) if ["wolfssl", "mbedtls", "msquic"].contains(&kind.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_found_by_their_names() {
        for way in Way::all().into_iter().chain([
            Way::KernelModule,
            Way::Untuned(Kind::Rustls),
            Way::KeepAlive(Kind::Quinn),
        ]) {
            assert_eq!(Way::from_name(&way.name()), Some(way));
        }
        assert_eq!(Way::from_name("carrier_pigeon"), None);
        assert_eq!(
            Way::from_name("rustls_keep_alive"),
            None,
            "over TCP a word would be part of the stream"
        );
        assert_eq!((Way::KernelModule.data_path(), Way::Channel(Kind::RawTcp).data_path()), (3, 0));
    }
}
