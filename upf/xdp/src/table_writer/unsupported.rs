//! Why the programs cannot hold a PDR.

/// What a PDR has that the programs do not support. The text continues "PDR 1".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsupported {
    #[error("shares its tunnel with a PDR of the other direction")]
    OtherDirection,
    #[error("is one of too many filters: {max} are possible for one TEID or address")]
    TooManyFilters { max: usize },
    #[error("has an SDF filter with {count} combinations of ports; {max} are possible")]
    TooManyPorts { count: usize, max: usize },
    #[error("has {count} QERs with a bit rate; {max} are possible")]
    TooManyRates { count: usize, max: usize },
    #[error("has more than {max} volume thresholds and quotas")]
    TooManyLimits { max: usize },
    #[error("names networks behind its UE, and not all addresses of the session")]
    SomeAddressesWithRoutes,
    #[error("names several UE addresses of one family, and not all of the session")]
    SomeAddresses,
}
