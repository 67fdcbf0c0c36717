//! Interfaces set up through rtnetlink (RFC 3549), in the network namespace of the calling thread.
use martlet_upf_rules::Prefix;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};

const HEADER: usize = 16;
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const ERROR: u16 = 2;
const REQUEST_WITH_ACK: u16 = 0x01 | 0x04;
const CREATE_OR_REPLACE: u16 = 0x400 | 0x100;
/// The metric of framed routes. Those of the machine have lower ones: a framed route to the same
/// network does not replace them, and packets take theirs.
const FRAMED_METRIC: u32 = 1_000_000;

/// IPv4 settings of an interface, with their numbers in `linux/ip.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ipv4Setting {
    /// `forwarding`: packets that enter there are forwarded.
    Forwarding = 1,
    /// `rp_filter`: the reverse path filter, 0 off, 1 strict, 2 loose.
    ReversePathFilter = 8,
    /// `accept_local`: packets with a source address of this machine are accepted.
    AcceptLocal = 23,
    /// `route_localnet`: loopback addresses are routed.
    RouteLoopback = 26,
}

/// A route socket.
pub struct Netlink(OwnedFd);

impl Netlink {
    /// A routing socket of the calling thread's network namespace.
    pub fn open() -> io::Result<Self> {
        let protocol = SockProtocol::NetlinkRoute;
        let fd = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Netlink(fd))
    }

    /// Sets an interface up with an MTU.
    pub fn up(&self, index: u32, mtu: u32) -> io::Result<()> {
        let mut body = link(index, libc::IFF_UP);
        attribute(&mut body, libc::IFLA_MTU, &mtu.to_ne_bytes());
        self.request(NEW_LINK, 0, &body)
    }

    /// Sets how many packets the queue of an interface holds.
    pub fn queue(&self, index: u32, packets: u32) -> io::Result<()> {
        let mut body = link(index, 0);
        attribute(&mut body, libc::IFLA_TXQLEN, &packets.to_ne_bytes());
        self.request(NEW_LINK, 0, &body)
    }

    /// Sets IPv4 settings of an interface: those of `/proc/sys/net/ipv4/conf`, which containers may
    /// not write.
    pub fn ipv4_settings(&self, index: u32, settings: &[(Ipv4Setting, u32)]) -> io::Result<()> {
        const IFLA_INET_CONF: u16 = 1;
        let mut values = Vec::new();
        for (setting, value) in settings {
            attribute(&mut values, *setting as u16, &value.to_ne_bytes());
        }
        let (mut ipv4, mut families) = (Vec::new(), Vec::new());
        attribute(&mut ipv4, IFLA_INET_CONF, &values);
        attribute(&mut families, libc::AF_INET as u16, &ipv4);
        let mut body = link(index, 0);
        attribute(&mut body, libc::IFLA_AF_SPEC, &families);
        self.request(NEW_LINK, 0, &body)
    }

    /// Creates a veth pair without ARP, with these names and MAC addresses.
    pub fn pair(&self, ends: [(&str, [u8; 6]); 2], mtu: u32) -> io::Result<()> {
        let [mut body, peer] = ends.map(|(name, address)| {
            let mut body = link(0, libc::IFF_NOARP);
            attribute(&mut body, libc::IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
            attribute(&mut body, libc::IFLA_ADDRESS, &address);
            attribute(&mut body, libc::IFLA_MTU, &mtu.to_ne_bytes());
            body
        });
        const VETH_INFO_PEER: u16 = 1;
        let (mut data, mut info) = (Vec::new(), Vec::new());
        attribute(&mut data, VETH_INFO_PEER, &peer);
        attribute(&mut info, libc::IFLA_INFO_KIND, b"veth");
        attribute(&mut info, libc::IFLA_INFO_DATA, &data);
        attribute(&mut body, libc::IFLA_LINKINFO, &info);
        const CREATE_ONLY: u16 = 0x400 | 0x200;
        self.request(NEW_LINK, CREATE_ONLY, &body)
    }

    /// Deletes an interface.
    pub fn delete(&self, index: u32) -> io::Result<()> {
        const DELETE_LINK: u16 = 17;
        self.request(DELETE_LINK, 0, &link(index, 0))
    }

    /// Assigns an address to an interface, with a route to its network that has an MTU.
    pub fn network(&self, index: u32, address: Ipv4Addr, prefix: u8, mtu: u32) -> io::Result<()> {
        const NO_PREFIX_ROUTE: u32 = 0x200;
        let mut body = vec![libc::AF_INET as u8, prefix, 0, 0];
        body.extend(index.to_ne_bytes());
        attribute(&mut body, libc::IFA_LOCAL, &address.octets());
        attribute(&mut body, libc::IFA_ADDRESS, &address.octets());
        attribute(&mut body, libc::IFA_FLAGS, &NO_PREFIX_ROUTE.to_ne_bytes());
        self.request(NEW_ADDRESS, CREATE_OR_REPLACE, &body)?;
        const NEW_ROUTE: u16 = 24;
        let network = address.to_bits() & u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
        // struct rtmsg: family, lengths of the networks, TOS, table, protocol, scope, type, flags.
        let (table, protocol, scope) =
            (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, libc::RT_SCOPE_LINK);
        let mut body =
            vec![libc::AF_INET as u8, prefix, 0, 0, table, protocol, scope, libc::RTN_UNICAST];
        body.extend([0; 4]);
        attribute(&mut body, libc::RTA_DST, &network.to_be_bytes());
        attribute(&mut body, libc::RTA_OIF, &index.to_ne_bytes());
        attribute(&mut body, libc::RTA_PREFSRC, &address.octets());
        attribute(&mut body, libc::RTA_METRICS, &metrics(mtu, false));
        self.request(NEW_ROUTE, CREATE_OR_REPLACE, &body)
    }

    /// The same for IPv6, without duplicate address detection.
    pub fn network6(&self, index: u32, address: Ipv6Addr, prefix: u8, mtu: u32) -> io::Result<()> {
        const NO_DUPLICATE_DETECTION: u32 = 0x02;
        const NO_PREFIX_ROUTE: u32 = 0x200;
        let mut body = vec![libc::AF_INET6 as u8, prefix, 0, 0];
        body.extend(index.to_ne_bytes());
        attribute(&mut body, libc::IFA_LOCAL, &address.octets());
        attribute(&mut body, libc::IFA_ADDRESS, &address.octets());
        let flags = NO_DUPLICATE_DETECTION | NO_PREFIX_ROUTE;
        attribute(&mut body, libc::IFA_FLAGS, &flags.to_ne_bytes());
        self.request(NEW_ADDRESS, CREATE_OR_REPLACE, &body)?;
        let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
        let network = Ipv6Addr::from_bits(address.to_bits() & mask);
        self.change_route(index, (network.into(), prefix), Some(mtu), None, true)
    }

    /// Adds or removes a framed route; without an MTU, that of the interface applies.
    pub fn route(
        &self,
        index: u32,
        network: IpAddr,
        prefix: u8,
        mtu: Option<u32>,
        make: bool,
    ) -> io::Result<()> {
        self.change_route(index, (network, prefix), mtu, Some(FRAMED_METRIC), make)
    }

    fn change_route(
        &self,
        index: u32,
        (network, prefix): (IpAddr, u8),
        mtu: Option<u32>,
        metric: Option<u32>,
        make: bool,
    ) -> io::Result<()> {
        const NEW_ROUTE: u16 = 24;
        const DELETE_ROUTE: u16 = 25;
        let (family, bytes) = match network {
            IpAddr::V4(ip) => (libc::AF_INET, ip.octets().to_vec()),
            IpAddr::V6(ip) => (libc::AF_INET6, ip.octets().to_vec()),
        };
        let (table, protocol, scope) =
            (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, libc::RT_SCOPE_UNIVERSE);
        let mut body = vec![family as u8, prefix, 0, 0, table, protocol, scope, libc::RTN_UNICAST];
        body.extend([0; 4]);
        attribute(&mut body, libc::RTA_DST, &bytes);
        attribute(&mut body, libc::RTA_OIF, &index.to_ne_bytes());
        if let Some(metric) = metric {
            attribute(&mut body, libc::RTA_PRIORITY, &metric.to_ne_bytes());
        }
        if let Some(mtu) = mtu {
            attribute(&mut body, libc::RTA_METRICS, &metrics(mtu, network.is_ipv6()));
        }
        match make {
            true => self.request(NEW_ROUTE, CREATE_OR_REPLACE, &body),
            false => self.request(DELETE_ROUTE, 0, &body),
        }
    }

    /// Sets a routing table to a single default route.
    pub fn default_route(&self, table: u32, oif: u32, via: Option<Ipv4Addr>) -> io::Result<()> {
        const NEW_ROUTE: u16 = 24;
        let scope = if via.is_some() { libc::RT_SCOPE_UNIVERSE } else { libc::RT_SCOPE_LINK };
        let mut body =
            vec![libc::AF_INET as u8, 0, 0, 0, 0, libc::RTPROT_STATIC, scope, libc::RTN_UNICAST];
        body.extend([0; 4]);
        attribute(&mut body, libc::RTA_TABLE, &table.to_ne_bytes());
        attribute(&mut body, libc::RTA_OIF, &oif.to_ne_bytes());
        if let Some(via) = via {
            attribute(&mut body, libc::RTA_GATEWAY, &via.octets());
        }
        self.request(NEW_ROUTE, CREATE_OR_REPLACE, &body)
    }

    /// Removes it.
    pub fn no_default_route(&self, table: u32) -> io::Result<()> {
        const DELETE_ROUTE: u16 = 25;
        let mut body = vec![libc::AF_INET as u8, 0, 0, 0, 0, 0, libc::RT_SCOPE_NOWHERE, 0];
        body.extend([0; 4]);
        attribute(&mut body, libc::RTA_TABLE, &table.to_ne_bytes());
        self.request(DELETE_ROUTE, 0, &body)
    }

    /// Adds or removes a rule that routes packets of an input interface by a routing table.
    pub fn rule(&self, there: bool, enters: &str, table: u32) -> io::Result<()> {
        const NEW_RULE: u16 = 32;
        const DELETE_RULE: u16 = 33;
        const CREATE_ONLY: u16 = 0x400 | 0x200;
        const TO_TABLE: u8 = 1;
        const INTERFACE: u16 = 3;
        const PRIORITY: u16 = 6;
        const TABLE: u16 = 15;
        // struct fib_rule_hdr: family, lengths of the networks, TOS, table, two that are reserved,
        // action, flags.
        let mut body = vec![libc::AF_INET as u8, 0, 0, 0, 0, 0, 0, TO_TABLE];
        body.extend([0; 4]);
        attribute(&mut body, INTERFACE, &[enters.as_bytes(), &[0]].concat());
        attribute(&mut body, TABLE, &table.to_ne_bytes());
        attribute(&mut body, PRIORITY, &table.to_ne_bytes());
        let (kind, flags) = if there { (NEW_RULE, CREATE_ONLY) } else { (DELETE_RULE, 0) };
        self.request(kind, flags, &body)
    }

    /// Assigns an address to an interface; the kernel adds the route to its network.
    pub fn address(&self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        // struct ifaddrmsg: family, prefix length, flags, scope, index.
        let mut body = vec![libc::AF_INET as u8, prefix, 0, 0];
        body.extend(index.to_ne_bytes());
        attribute(&mut body, libc::IFA_LOCAL, &address.octets());
        attribute(&mut body, libc::IFA_ADDRESS, &address.octets());
        self.request(NEW_ADDRESS, CREATE_OR_REPLACE, &body)
    }

    /// The same for IPv6, without duplicate address detection.
    pub fn address6(&self, index: u32, address: Ipv6Addr, prefix: u8) -> io::Result<()> {
        const NO_DUPLICATE_DETECTION: u8 = 0x02;
        let mut body = vec![libc::AF_INET6 as u8, prefix, NO_DUPLICATE_DETECTION, 0];
        body.extend(index.to_ne_bytes());
        attribute(&mut body, libc::IFA_LOCAL, &address.octets());
        attribute(&mut body, libc::IFA_ADDRESS, &address.octets());
        self.request(NEW_ADDRESS, CREATE_OR_REPLACE, &body)
    }

    /// The addresses of an interface, with the lengths of their prefixes.
    pub fn addresses(&self, index: u32) -> io::Result<Vec<(IpAddr, u8)>> {
        const GET_ADDRESS: u16 = 22;
        let of_interface = |message: &Vec<u8>| {
            // struct ifaddrmsg: family, prefix length, flags, scope, index.
            let (&[_, prefix, _, _, a, b, c, d], rest) = message.split_first_chunk::<8>()?;
            let find = |kind| attributes(rest).find(|(other, _)| *other == kind);
            let (_, address) = find(libc::IFA_LOCAL).or_else(|| find(libc::IFA_ADDRESS))?;
            let is_here = u32::from_ne_bytes([a, b, c, d]) == index;
            is_here.then_some((address_of(address)?, prefix))
        };
        Ok(self.dump(GET_ADDRESS, &[0; 8])?.iter().filter_map(of_interface).collect())
    }

    /// Removes an address of an interface.
    pub fn remove_address(&self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        const DELETE_ADDRESS: u16 = 21;
        let (family, bytes) = family_of(address);
        let mut body = vec![family, prefix, 0, 0];
        body.extend(index.to_ne_bytes());
        attribute(&mut body, libc::IFA_LOCAL, &bytes);
        attribute(&mut body, libc::IFA_ADDRESS, &bytes);
        self.request(DELETE_ADDRESS, 0, &body)
    }

    /// The static routes of an interface in the main table: their networks and metrics.
    pub fn routes(&self, index: u32) -> io::Result<Vec<(Prefix, u32)>> {
        const GET_ROUTE: u16 = 26;
        let of_interface = |message: &Vec<u8>| {
            // struct rtmsg: family, lengths of the networks, TOS, table, protocol, scope, type,
            // flags.
            let (&[family, length, _, _, table, protocol, _, kind, ..], rest) =
                message.split_first_chunk::<12>()?;
            let find = |kind| attributes(rest).find(|(other, _)| *other == kind);
            let number = |kind| {
                let (_, value) = find(kind)?;
                value.try_into().ok().map(u32::from_ne_bytes)
            };
            let network = match find(libc::RTA_DST) {
                Some((_, network)) => address_of(network)?,
                None if i32::from(family) == libc::AF_INET => Ipv4Addr::UNSPECIFIED.into(),
                None => Ipv6Addr::UNSPECIFIED.into(),
            };
            let is_here = number(libc::RTA_OIF) == Some(index)
                && family_of(network).0 == family
                && (table, protocol, kind)
                    == (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, libc::RTN_UNICAST);
            let metric = number(libc::RTA_PRIORITY).unwrap_or(0);
            is_here.then_some((Prefix { network, length }, metric))
        };
        Ok(self.dump(GET_ROUTE, &[0; 12])?.iter().filter_map(of_interface).collect())
    }

    /// Removes a static route of an interface, of any scope.
    pub fn remove_route(&self, index: u32, route: Prefix, metric: u32) -> io::Result<()> {
        const DELETE_ROUTE: u16 = 25;
        let (family, bytes) = family_of(route.network);
        let (table, protocol, scope) =
            (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, libc::RT_SCOPE_NOWHERE);
        let mut body = vec![family, route.length, 0, 0, table, protocol, scope, libc::RTN_UNICAST];
        body.extend([0; 4]);
        attribute(&mut body, libc::RTA_DST, &bytes);
        attribute(&mut body, libc::RTA_OIF, &index.to_ne_bytes());
        attribute(&mut body, libc::RTA_PRIORITY, &metric.to_ne_bytes());
        self.request(DELETE_ROUTE, 0, &body)
    }

    /// The link address of a neighbour, if the kernel has resolved it.
    pub fn neighbour(&self, index: u32, address: Ipv6Addr) -> io::Result<Option<[u8; 6]>> {
        const GET_NEIGHBOUR: u16 = 30;
        const NEW_NEIGHBOUR: u16 = 28;
        const DESTINATION: u16 = 1;
        const LINK_ADDRESS: u16 = 2;
        /// Incomplete, failed, or none.
        const UNUSABLE: u16 = 0x01 | 0x20;
        // struct ndmsg: family, padding, index, state, flags, type.
        let mut body = vec![libc::AF_INET6 as u8, 0, 0, 0];
        body.extend(index.to_ne_bytes());
        body.extend([0; 4]);
        attribute(&mut body, DESTINATION, &address.octets());
        const REQUEST: u16 = 0x01;
        let answer = self.exchange(GET_NEIGHBOUR, REQUEST, &body)?;
        match kind_of(&answer) {
            Some(NEW_NEIGHBOUR) => {}
            Some(ERROR) => return Ok(None),
            _ => return Err(no_answer()),
        }
        let state =
            answer.get(HEADER + 8..HEADER + 10).map_or(0, |at| u16::from_ne_bytes([at[0], at[1]]));
        let mut rest = answer.get(HEADER + 12..).unwrap_or_default();
        while let [a, b, c, d, ..] = *rest {
            let length = usize::from(u16::from_ne_bytes([a, b]));
            let Some(value) = rest.get(4..length) else { break };
            if u16::from_ne_bytes([c, d]) == LINK_ADDRESS && state & UNUSABLE == 0 {
                return Ok(value.try_into().ok());
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(None)
    }

    /// Sends a request and waits for the acknowledgement.
    fn request(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let answer = self.exchange(kind, REQUEST_WITH_ACK | flags, body)?;
        let field =
            |at: usize| answer.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        match (kind_of(&answer), field(HEADER).map(i32::from_ne_bytes)) {
            (Some(ERROR), Some(0)) => Ok(()),
            (Some(ERROR), Some(error)) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
            _ => Err(no_answer()),
        }
    }

    /// Requests all objects of a kind. Returns their messages, without headers.
    fn dump(&self, kind: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        const REQUEST_ALL: u16 = 0x01 | 0x300;
        const DONE: u16 = 3;
        self.transmit(kind, REQUEST_ALL, body)?;
        let (mut all, mut answer) = (Vec::new(), vec![0; 32 << 10]);
        loop {
            let length = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            let mut rest = answer.get(..length).unwrap_or_default();
            if rest.is_empty() {
                return Err(no_answer());
            }
            while let [a, b, c, d, ..] = *rest {
                let length = u32::from_ne_bytes([a, b, c, d]) as usize;
                let message = rest.get(HEADER..length).ok_or_else(no_answer)?;
                match kind_of(rest) {
                    Some(DONE) => return Ok(all),
                    Some(ERROR) => return Err(no_answer()),
                    _ => all.push(message.to_vec()),
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }

    fn exchange(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<u8>> {
        self.transmit(kind, flags, body)?;
        let mut answer = vec![0; 4096];
        let length = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        answer.truncate(length);
        Ok(answer)
    }

    fn transmit(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let length = (HEADER + body.len()) as u32;
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(length.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([0; 8]);
        message.extend(body);
        send(self.0.as_raw_fd(), &message, MsgFlags::empty())?;
        Ok(())
    }
}

/// The family of an address, and its bytes.
fn family_of(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(ip) => (libc::AF_INET as u8, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6 as u8, ip.octets().to_vec()),
    }
}

/// The address with these bytes.
fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// The attributes of a message: types and values.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [a, b, c, d, ..] = *rest else { return None };
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]), value))
    })
}

fn kind_of(answer: &[u8]) -> Option<u16> {
    answer.get(4..6).and_then(|bytes| <[u8; 2]>::try_from(bytes).ok()).map(u16::from_ne_bytes)
}

fn no_answer() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a malformed response of rtnetlink")
}

/// The metrics of a route with an MTU. For forwarded packets, IPv6 has the MTU of the interface
/// apply unless that of the route is locked.
fn metrics(mtu: u32, locked: bool) -> Vec<u8> {
    const LOCK: u16 = 1;
    const MTU: u16 = 2;
    let mut metrics = Vec::new();
    if locked {
        attribute(&mut metrics, LOCK, &(1_u32 << MTU).to_ne_bytes());
    }
    attribute(&mut metrics, MTU, &mtu.to_ne_bytes());
    metrics
}

/// The fixed part of a request about an interface, which sets these flags. 0 is a new interface.
fn link(index: u32, flags: libc::c_int) -> Vec<u8> {
    // struct ifinfomsg: family, padding, type, index, flags, which of the flags change.
    let mut body = vec![0, 0, 0, 0];
    body.extend(index.to_ne_bytes());
    body.extend(flags.to_ne_bytes());
    body.extend(flags.to_ne_bytes());
    body
}

/// struct rtattr: length, type, then the value, padded to four bytes.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend(((4 + value.len()) as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
