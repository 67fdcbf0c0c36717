//! Address pools of data networks.
use std::net::{Ipv4Addr, Ipv6Addr};

/// Why the text of an address pool is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// Not an IPv4 network.
    #[error("{0:?} is not an IPv4 network: write for example 10.45.0.0/16")]
    NotIpv4(String),
    /// Not an IPv6 network.
    #[error("{0:?} is not an IPv6 network: write for example fd45::/48")]
    NotIpv6(String),
    /// A prefix length that leaves too few or too many addresses.
    #[error("{text}: the prefix of a pool has {min} to {max} bits")]
    PrefixLength {
        /// The configured text.
        text: String,
        /// Shortest prefix.
        min: u8,
        /// Longest prefix.
        max: u8,
    },
    /// Bits are set after the prefix.
    #[error("{text}: not a network address: write {network}")]
    HostBits {
        /// The configured text.
        text: String,
        /// The network that contains the address.
        network: String,
    },
}

/// Network address and prefix length of an IPv4 pool.
pub(crate) type Ipv4Network = (Ipv4Addr, u8);
/// Network address and prefix length of an IPv6 pool.
pub(crate) type Ipv6Network = (Ipv6Addr, u8);

fn check_prefix(text: &str, length: u8, min: u8, max: u8) -> Result<(), PoolError> {
    match (min..=max).contains(&length) {
        true => Ok(()),
        false => Err(PoolError::PrefixLength { text: text.into(), min, max }),
    }
}

/// Reads an IPv4 pool such as `10.45.0.0/16`.
pub(crate) fn parse_ipv4(text: &str) -> Result<Ipv4Network, PoolError> {
    let parts = text.split_once('/').and_then(|(address, length)| {
        Some((address.parse::<Ipv4Addr>().ok()?, length.parse::<u8>().ok()?))
    });
    let (address, length) = parts.ok_or_else(|| PoolError::NotIpv4(text.into()))?;
    check_prefix(text, length, 8, 30)?;
    let network = Ipv4Addr::from(u32::from(address) & (u32::MAX << (32 - length)));
    if network != address {
        let network = format!("{network}/{length}");
        return Err(PoolError::HostBits { text: text.into(), network });
    }
    Ok((address, length))
}

/// Reads an IPv6 pool such as `fd45::/48`. Each session gets a /64 of it.
pub(crate) fn parse_ipv6(text: &str) -> Result<Ipv6Network, PoolError> {
    let parts = text.split_once('/').and_then(|(address, length)| {
        Some((address.parse::<Ipv6Addr>().ok()?, length.parse::<u8>().ok()?))
    });
    let (address, length) = parts.ok_or_else(|| PoolError::NotIpv6(text.into()))?;
    check_prefix(text, length, 32, 62)?;
    let network = Ipv6Addr::from(u128::from(address) & (u128::MAX << (128 - length)));
    if network != address {
        let network = format!("{network}/{length}");
        return Err(PoolError::HostBits { text: text.into(), network });
    }
    Ok((address, length))
}

/// First and last address of a network.
pub(crate) fn range_of_ipv4((network, length): Ipv4Network) -> (u64, u64) {
    let network = u32::from(network);
    (network.into(), (network | (u32::MAX >> length)).into())
}

/// First and last /64 prefix of a network.
pub(crate) fn range_of_ipv6((network, length): Ipv6Network) -> (u64, u64) {
    let network = (u128::from(network) >> 64) as u64;
    (network, network | (u64::MAX >> length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_network_addresses_with_enough_bits() {
        assert!(parse_ipv4("10.45.0.0/16").is_ok() && parse_ipv6("fd45::/48").is_ok());
        for invalid in ["10.45.0.1/16", "10.45.0.0", "10.45.0.0/31", "x/16", "10.0.0.0/7"] {
            assert!(parse_ipv4(invalid).is_err(), "{invalid}");
        }
        for invalid in ["fd45::1/60", "fd45::/64", "fd45::/16", "10.0.0.0/8"] {
            assert!(parse_ipv6(invalid).is_err(), "{invalid}");
        }
    }
}
