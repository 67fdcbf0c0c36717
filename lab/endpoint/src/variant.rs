//! The measured variants of transporting an LCS-UPP message.
use martlet_lab_channels::Kind;
use std::time::Duration;

/// Interval of the keep-alive probes with which a UE retains its radio's uplink grant; shorter than
/// the time that a scheduling request takes.
const KEEP_ALIVE: Duration = Duration::from_millis(4);

/// A variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// A channel whose sockets have TCP_NODELAY.
    Channel(Kind),
    /// A channel over sockets with default options, that is with Nagle's algorithm, as in the
    /// libraries' own examples.
    Untuned(Kind),
    /// A channel that sends keep-alive probes while it waits for a response.
    KeepAlive(Kind),
    /// Kernel TLS with Martlet's kernel module.
    KernelModule,
}

impl Variant {
    /// The variants that this build has and this machine supports.
    pub fn all() -> Vec<Variant> {
        let mut all: Vec<_> = Kind::available().into_iter().map(Variant::Channel).collect();
        all.push(Variant::KeepAlive(Kind::Quinn));
        all.extend(Kind::from_name("wolfssl").map(Variant::Untuned));
        if Kind::Ktls.is_available() && std::path::Path::new(martlet_lcs_kernel::PATH).exists() {
            all.push(Variant::KernelModule);
        }
        all
    }

    /// The name on command lines and in reports.
    pub fn name(self) -> String {
        match self {
            Variant::Channel(kind) => kind.name().into(),
            Variant::Untuned(kind) => format!("{}_default", kind.name()),
            Variant::KeepAlive(kind) => format!("{}_keep_alive", kind.name()),
            Variant::KernelModule => "kernel_module".into(),
        }
    }

    /// The variant with this name.
    pub fn from_name(name: &str) -> Option<Variant> {
        let untuned = || Kind::from_name(name.strip_suffix("_default")?).map(Variant::Untuned);
        let keep_alive = || {
            Some(Kind::Quinn)
                .filter(|kind| name.strip_suffix("_keep_alive") == Some(kind.name()))
                .map(Variant::KeepAlive)
        };
        match name {
            "kernel_module" => Some(Variant::KernelModule),
            _ => Kind::from_name(name).map(Variant::Channel).or_else(untuned).or_else(keep_alive),
        }
    }

    /// Its kind of channel.
    pub fn kind(self) -> Kind {
        match self {
            Variant::Channel(kind) | Variant::Untuned(kind) | Variant::KeepAlive(kind) => kind,
            Variant::KernelModule => Kind::Ktls,
        }
    }

    /// Whether TCP_NODELAY is set.
    pub fn no_delay(self) -> bool {
        !matches!(self, Variant::Untuned(_))
    }

    /// Interval of keep-alive probes; zero: none.
    pub fn keep_alive(self) -> Duration {
        if matches!(self, Variant::KeepAlive(_)) { KEEP_ALIVE } else { Duration::ZERO }
    }

    /// The paper's data path type; 0 if the channel is unprotected.
    pub fn data_path(self) -> u8 {
        match self {
            Variant::KernelModule => 3,
            _ if self.kind() == Kind::Ktls => 2,
            _ if !self.kind().is_secure() => 0,
            _ => 1,
        }
    }

    /// Whether it is one of the three libraries that the paper compares.
    pub fn is_of_the_paper(self) -> bool {
        matches!(self,
            Variant::Channel(kind) if ["wolfssl", "mbedtls", "msquic"].contains(&kind.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for variant in Variant::all().into_iter().chain([
            Variant::KernelModule,
            Variant::Untuned(Kind::Rustls),
            Variant::KeepAlive(Kind::Quinn),
        ]) {
            assert_eq!(Variant::from_name(&variant.name()), Some(variant));
        }
        assert_eq!(Variant::from_name("carrier_pigeon"), None);
        assert_eq!(
            Variant::from_name("rustls_keep_alive"),
            None,
            "TCP has no keep-alive probe outside the stream"
        );
        assert_eq!(
            (Variant::KernelModule.data_path(), Variant::Channel(Kind::RawTcp).data_path()),
            (3, 0)
        );
    }
}
