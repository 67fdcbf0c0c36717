//! Errors of session changes.
use super::Cause;
use martlet_upf_rules::{Prefix, UeAddress};
use std::net::Ipv6Addr;

/// Why a session change was rejected.
#[derive(Debug, thiserror::Error)]
pub enum DatapathError {
    /// A table is full.
    #[error("the datapath has no room: {0}")]
    NoResources(#[from] ResourceError),
    /// A rule that the datapath does not support, or that conflicts with another session's.
    #[error("the datapath rejects PDR {pdr}: {why}")]
    Pdr {
        /// PDR ID.
        pdr: u16,
        /// The reason.
        #[source]
        why: PdrError,
    },
    /// The tables of the XDP programs are not all mapped.
    #[error(
        "the datapath failed: a table of the XDP programs cannot be mapped: raise vm.max_map_count"
    )]
    TableNotMapped,
}

/// What a session change needs and the datapath does not have.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    /// As many sessions as are configured exist.
    #[error("{max} sessions are the limit: raise upf.kernel.sessions")]
    Sessions {
        /// The limit.
        max: usize,
    },
    /// A table of the XDP programs has no free entry.
    #[error("the table of {table} is full: make upf.xdp.{table} larger")]
    TableFull {
        /// Its name in the configuration.
        table: &'static str,
    },
    /// A lookup table of the XDP programs has no free entry.
    #[error("the table of {table} is full: make upf.xdp.sessions larger")]
    LookupFull {
        /// Its name in metrics.
        table: &'static str,
    },
    /// More volume thresholds and quotas than a session may have.
    #[error("{count} volume limits in a session, {max} are possible")]
    VolumeLimits {
        /// Volume limits of the session.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// No network of Ethernet sessions has this name.
    #[error("{name:?} is not a network of Ethernet sessions: see upf.n6.ethernet")]
    EthernetNetwork {
        /// The network instance.
        name: String,
    },
    /// A lookup key was not written.
    #[error(transparent)]
    Lookup(Cause),
}

/// Why a PDR is rejected.
#[derive(Debug, thiserror::Error)]
pub enum PdrError {
    /// Another session has its tunnel endpoint.
    #[error("TEID {0:#010x} belongs to another session")]
    Teid(u32),
    /// Another session has its UE address.
    #[error("the UE address {} belongs to another session", AddressText(*.0))]
    Address(UeAddress),
    /// Another session has its network behind the UE.
    #[error("{}/{} is routed to another UE", .0.network, .0.length)]
    Route(Prefix),
    /// A session of another kind has one of its tunnels or addresses.
    #[error("has a tunnel or address of another session")]
    InUse,
    /// Its session needs user space while the programs translate addresses.
    #[error("needs user space, which does not translate addresses (upf.xdp.nat)")]
    Translation,
    /// The datapath cannot carry it out.
    #[error(transparent)]
    Unsupported(Cause),
}

/// The text of a UE address.
struct AddressText(UeAddress);

impl std::fmt::Display for AddressText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            UeAddress::V4(address) => write!(f, "{address}"),
            UeAddress::V6(prefix) => {
                write!(f, "{}/64", Ipv6Addr::from_bits(u128::from(prefix) << 64))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn the_text_says_what_failed_why_and_what_to_do() {
        let error = DatapathError::from(ResourceError::TableFull { table: "rules" });
        assert_eq!(
            error.to_string(),
            "the datapath has no room: the table of rules is full: make upf.xdp.rules larger"
        );
        let error = DatapathError::Pdr { pdr: 3, why: PdrError::Teid(7) };
        let text = "the datapath rejects PDR 3: TEID 0x00000007 belongs to another session";
        assert_eq!(error.to_string(), text);
        let why = error.source().map(ToString::to_string);
        assert_eq!(why.as_deref(), text.split_once(": ").map(|(_, why)| why));
        let prefix = PdrError::Address(UeAddress::V6(0x2001_0db8_0000_0001));
        let text = "the UE address 2001:db8:0:1::/64 belongs to another session";
        assert_eq!(prefix.to_string(), text);
    }
}
