//! Next hops from the kernel's routes and neighbours in the network namespace of the calling
//! thread.
use super::plan::Version;
use martlet_upf_kernel::netlink::Netlink;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use std::fs::read_to_string;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV6, UdpSocket};

/// The link-layer addresses of frames to a next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Hop {
    pub source: u64,
    pub destination: u64,
}

/// Why there is no next hop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoHop {
    /// The neighbour is not resolved yet; resolution was triggered.
    #[error("the link-layer address of {0} is not resolved yet")]
    Unresolved(IpAddr),
    #[error("there is no route to {0}")]
    NoRoute(IpAddr),
    #[error("there is no default route: set upf.switch.{0} to the router towards the data network")]
    NoDefaultRoute(&'static str),
    #[error("{0} has no link-layer address")]
    NoLinkAddress(String),
    #[error("{what}: {cause}")]
    System { what: String, cause: String },
    #[error("all next hops of the switch are in use: lower upf.switch.sessions")]
    NoNumber,
}

impl NoHop {
    pub fn system(what: impl Into<String>, cause: impl std::fmt::Display) -> NoHop {
        NoHop::System { what: what.into(), cause: cause.to_string() }
    }
}

/// A route: interface, network and mask, gateway (none if on-link), metric.
#[derive(Debug, PartialEq, Eq)]
struct Route {
    interface: String,
    network: (u32, u32),
    gateway: Option<Ipv4Addr>,
    metric: u32,
}

/// The routing table in the format of `/proc/net/route`, with numbers in host byte order.
fn routes(table: &str) -> Vec<Route> {
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
        let address = |at: usize| number(at).map(|raw| u32::from_be_bytes(raw.to_ne_bytes()));
        const UP: u32 = 1;
        if number(3)? & UP == 0 {
            return None;
        }
        let gateway = address(2)?;
        Some(Route {
            interface: words.first()?.to_string(),
            network: (address(1)?, address(7)?),
            gateway: (gateway != 0).then(|| Ipv4Addr::from_bits(gateway)),
            metric: words.get(6)?.parse().ok()?,
        })
    };
    table.lines().skip(1).filter_map(route).collect()
}

fn route_to(routes: Vec<Route>, to: Ipv4Addr) -> Option<Route> {
    let matches = |route: &Route| to.to_bits() & route.network.1 == route.network.0;
    let found = routes.into_iter().filter(matches);
    found.min_by_key(|route| (std::cmp::Reverse(route.network.1.count_ones()), route.metric))
}

fn mac(text: &str) -> Option<u64> {
    let parts: Vec<u64> =
        text.split(':').map(|part| u64::from_str_radix(part, 16)).collect::<Result<_, _>>().ok()?;
    (parts.len() == 6).then(|| parts.into_iter().fold(0, |all, part| all << 8 | part))
}

/// The link-layer address of a neighbour from a table in the format of `/proc/net/arp`.
fn neighbour(table: &str, interface: &str, address: Ipv4Addr) -> Option<u64> {
    const COMPLETE: u32 = 2;
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let flags = u32::from_str_radix(words.get(2)?.trim_start_matches("0x"), 16).ok()?;
        let right = words.first()?.parse() == Ok(address)
            && words.get(5) == Some(&interface)
            && flags & COMPLETE != 0;
        right.then(|| mac(words.get(3)?)).flatten()
    })
}

fn link_address(interface: &str) -> Option<u64> {
    getifaddrs().ok()?.filter(|found| found.interface_name == interface).find_map(|found| {
        let bytes = found.address?.as_link_addr()?.addr()?;
        Some(bytes.into_iter().fold(0, |all, byte| all << 8 | u64::from(byte)))
    })
}

fn table(name: &str) -> Result<String, NoHop> {
    let path = format!("/proc/thread-self/net/{name}");
    read_to_string(&path).map_err(|error| NoHop::system(path, error))
}

/// The gateway of the default route.
pub(super) fn default_router(version: Version) -> Result<IpAddr, NoHop> {
    let (found, setting) = match version {
        Version::V4 => {
            let all = routes(&table("route")?).into_iter().filter(|route| route.network.1 == 0);
            (
                all.min_by_key(|r| r.metric).and_then(|route| route.gateway).map(IpAddr::from),
                "core_next_hop",
            )
        }
        Version::V6 => {
            let found =
                routes6(&table("ipv6_route")?).into_iter().filter(|route| route.network.1 == 0);
            (
                found.min_by_key(|r| r.metric).and_then(|r| r.router).map(IpAddr::from),
                "core_next_hop_v6",
            )
        }
    };
    found.ok_or(NoHop::NoDefaultRoute(setting))
}

/// An IPv6 route: interface, network and prefix length, gateway if any, metric.
struct Route6 {
    interface: String,
    network: (u128, u32),
    router: Option<Ipv6Addr>,
    metric: u32,
}

/// The routing table in the format of `/proc/net/ipv6_route`.
fn routes6(table: &str) -> Vec<Route6> {
    const UP: u32 = 1;
    const REJECT: u32 = 0x200;
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let address = |at: usize| u128::from_str_radix(words.get(at)?, 16).ok();
        let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
        let (network, prefix, router, metric, flags) =
            (address(0)?, number(1)?, address(4)?, number(5)?, number(8)?);
        let interface = words.get(9)?.to_string();
        let router = (router != 0).then(|| Ipv6Addr::from_bits(router));
        let right = flags & (UP | REJECT) == UP && interface != "lo";
        right.then_some(Route6 { interface, network: (network, prefix), router, metric })
    };
    table.lines().filter_map(route).collect()
}

/// The route to an IPv6 address: interface, and gateway if any.
fn route6_to(table: &str, to: Ipv6Addr) -> Option<(String, Option<Ipv6Addr>)> {
    let mut routes = routes6(table);
    // Every link has link-local addresses: a gateway's is on the link of the routes through it.
    if to.is_unicast_link_local()
        && let Some(through) = routes.iter().find(|route| route.router == Some(to))
    {
        return Some((through.interface.clone(), None));
    }
    routes.retain(|Route6 { network: (network, prefix), .. }| {
        to.to_bits() & u128::MAX.checked_shl(128 - prefix).unwrap_or(0) == *network
    });
    let best = routes
        .into_iter()
        .min_by_key(|route| (std::cmp::Reverse(route.network.1), route.metric))?;
    Some((best.interface, best.router))
}

/// The next hop to an address. Triggers resolution of an unresolved neighbour.
pub(super) fn hop(to: IpAddr) -> Result<Hop, NoHop> {
    let no_route = || NoHop::NoRoute(to);
    let (interface, next, found) = match to {
        IpAddr::V4(to) => {
            let route = route_to(routes(&table("route")?), to).ok_or_else(no_route)?;
            let next = route.gateway.unwrap_or(to);
            let found = neighbour(&table("arp")?, &route.interface, next);
            (route.interface, IpAddr::V4(next), found)
        }
        IpAddr::V6(to) => {
            let (interface, router) = route6_to(&table("ipv6_route")?, to).ok_or_else(no_route)?;
            let next = router.unwrap_or(to);
            let found =
                neighbour6(&interface, next).map_err(|error| NoHop::system(&interface, error))?;
            (interface, IpAddr::V6(next), found)
        }
    };
    let source = link_address(&interface).ok_or_else(|| NoHop::NoLinkAddress(interface.clone()))?;
    match found {
        Some(destination) => Ok(Hop { source, destination }),
        None => {
            resolve(next, &interface);
            Err(NoHop::Unresolved(next))
        }
    }
}

fn neighbour6(interface: &str, address: Ipv6Addr) -> std::io::Result<Option<u64>> {
    let found = Netlink::open()?.neighbour(if_nametoindex(interface)?, address)?;
    Ok(found.map(|bytes| bytes.into_iter().fold(0, |all, byte| all << 8 | u64::from(byte))))
}

/// Makes the kernel resolve a neighbour.
fn resolve(next: IpAddr, interface: &str) {
    const DISCARD: u16 = 9;
    let _ = match next {
        IpAddr::V4(next) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
            .and_then(|s| s.send_to(&[], (next, DISCARD))),
        IpAddr::V6(next) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).and_then(|socket| {
            socket.send_to(&[], SocketAddrV6::new(next, DISCARD, 0, if_nametoindex(interface)?))
        }),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "Iface\tDestination\tGateway \
                          \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
n6\t00000000\t0100630A\t0003\t0\t0\t0\t00000000\t0\t0\t0
n3\t0046A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
off\t0046A8C0\t00000000\t0000\t0\t0\t0\tFFFFFFFF\t0\t0\t0
";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_longest_prefix_wins() {
        let to = |address: [u8; 4]| route_to(routes(ROUTES), address.into()).expect("a route");
        assert_eq!(to([192, 168, 70, 2]).interface, "n3");
        assert_eq!(to([192, 168, 70, 2]).gateway, None);
        let default = to([8, 8, 8, 8]);
        assert_eq!(
            (default.interface.as_str(), default.gateway),
            ("n6", Some([10, 99, 0, 1].into()))
        );
    }

    #[test]
    fn the_longest_ipv6_prefix_wins() {
        let line = |network: &str, prefix: &str, router: &str, flags: &str, interface: &str| {
            let none = "00000000000000000000000000000000";
            let router = if router.is_empty() { none } else { router };
            format!(
                "{network} {prefix} {none} 00 {router} 00000100 00000001 00000000 {flags} \
                 {interface}\n"
            )
        };
        let (n3, all) = ("fd700000000000000000000000000000", "00000000000000000000000000000000");
        let table = line(n3, "40", "", "00000001", "n3")
            + &line(all, "00", "fe800000000000000000000000000001", "00000003", "n6")
            + &line(all, "00", "", "00200200", "lo");
        let to = |text: &str| route6_to(&table, text.parse().unwrap()).expect("a route");
        assert_eq!(to("fd70::2"), ("n3".into(), None));
        assert_eq!(to("2001:db8::1"), ("n6".into(), Some("fe80::1".parse().unwrap())));
        assert_eq!(to("fe80::1"), ("n6".into(), None));
    }

    #[test]
    fn only_complete_neighbours_are_used() {
        let table = "IP address       HW type     Flags       HW address            Mask     \
                     Device
10.99.0.1        0x1         0x2         02:00:00:00:00:01     *        n6
10.99.0.2        0x1         0x0         00:00:00:00:00:00     *        n6
";
        assert_eq!(neighbour(table, "n6", [10, 99, 0, 1].into()), Some(0x0200_0000_0001));
        assert_eq!(neighbour(table, "n6", [10, 99, 0, 2].into()), None);
        assert_eq!(neighbour(table, "n3", [10, 99, 0, 1].into()), None);
    }
}
