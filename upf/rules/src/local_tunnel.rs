//! Our ends of tunnels.
use martlet_pfcp::ie::FTeid;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Our end of a GTP-U tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocalTunnel {
    /// Tunnel endpoint identifier, unique at this UP function.
    pub teid: u32,
    /// IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

impl From<LocalTunnel> for FTeid {
    fn from(tunnel: LocalTunnel) -> FTeid {
        FTeid::Given { teid: tunnel.teid, ipv4: tunnel.ipv4, ipv6: tunnel.ipv6 }
    }
}
