//! Route lookup: local address and path MTU to a peer.
use crate::SctpError;
use crate::ffi::packet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsFd;

/// Largest SCTP packet in an IP packet, bytes.
pub(super) const MTU_LIMIT: i32 = 65_532;

/// The route to a peer.
pub(super) struct RouteTo {
    /// Source address.
    pub(super) local: IpAddr,
    /// Path MTU less the IP header, bytes.
    pub(super) mtu: u32,
}

/// Asks the kernel for its route by connecting a UDP socket, which sends nothing.
pub(super) fn route(local: Option<IpAddr>, remote: IpAddr) -> Result<RouteTo, SctpError> {
    let any = if remote.is_ipv4() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let probe = UdpSocket::bind((local.unwrap_or(any), 0)).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("{} is not a local address: {error}", local.unwrap_or(any)),
        )
    })?;
    // The port has no effect.
    probe
        .connect((remote, 9))
        .map_err(|error| io::Error::new(error.kind(), format!("no route to {remote}: {error}")))?;
    let (level, option, header) = if remote.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU, 20)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU, 40)
    };
    let mtu = packet::get_int(probe.as_fd(), level, option)?.clamp(576, MTU_LIMIT) - header;
    Ok(RouteTo { local: probe.local_addr()?.ip(), mtu: (mtu & !3) as u32 })
}
