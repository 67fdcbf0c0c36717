//! Pools of UE addresses, as they are written.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why a text is not a pool of UE addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The text has another form.
    #[error("{0:?} is no pool of addresses: write one like 10.45.0.0/16")]
    Syntax(String),
    /// The network is one of IPv6.
    #[error("only IPv4 pools are supported: write one like 10.45.0.0/16")]
    Ipv6,
    /// The prefix is too short or too long.
    #[error("the prefix length {0} is not within 8 to 30")]
    PrefixLength(u8),
    /// The address is not the first of the network.
    #[error("{address} has host bits set: write {network}/{prefix}")]
    HostBits {
        /// The address of the text.
        address: Ipv4Addr,
        /// The first address of the network.
        network: Ipv4Addr,
        /// Length of the prefix.
        prefix: u8,
    },
}

/// A pool of UE addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Its first address, whose host bits are 0.
    pub network: Ipv4Addr,
    /// Length of the prefix.
    pub prefix: u8,
}

impl Pool {
    /// Reads `10.45.0.0/16`.
    ///
    /// # Errors
    /// The text is not a network of IPv4, or its prefix length is not within 8 to 30.
    pub fn parse(text: &str) -> Result<Pool, PoolError> {
        let wrong = || PoolError::Syntax(text.to_string());
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let (address, prefix) = (
            address.parse::<IpAddr>().map_err(|_| wrong())?,
            prefix.parse::<u8>().map_err(|_| wrong())?,
        );
        let IpAddr::V4(network) = address else {
            return Err(PoolError::Ipv6);
        };
        if !(8..=30).contains(&prefix) {
            return Err(PoolError::PrefixLength(prefix));
        }
        let mask = u32::MAX << (32 - u32::from(prefix));
        if network.to_bits() & !mask != 0 {
            let (address, network) = (network, Ipv4Addr::from_bits(network.to_bits() & mask));
            return Err(PoolError::HostBits { address, network, prefix });
        }
        Ok(Pool { network, prefix })
    }

    /// The first host of the pool, which the TUN device has.
    pub fn gateway(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() | 1)
    }
}

/// The first host of an IPv6 network, and the length of its prefix.
pub fn pool6(text: &str) -> Option<(Ipv6Addr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let (address, prefix): (Ipv6Addr, u8) = (address.parse().ok()?, prefix.parse().ok()?);
    let within = (32..=64).contains(&prefix) && address.to_bits() & (u128::MAX >> prefix) == 0;
    within.then(|| (Ipv6Addr::from_bits(address.to_bits() | 1), prefix))
}
