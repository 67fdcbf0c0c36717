//! The next hops of the native UPF: how frames leave to an address, by the kernel's routes and neighbours in the network
//! namespace of the calling thread.
use nix::ifaddrs::getifaddrs;
use std::fs::read_to_string;
use std::net::{Ipv4Addr, UdpSocket};

/// The link addresses of a frame to a next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Hop {
    pub source: u64,
    pub destination: u64,
}

/// A route: interface, network and mask, next hop (none for what is on the link), metric.
#[derive(Debug, PartialEq, Eq)]
struct Route {
    interface: String,
    network: (u32, u32),
    gateway: Option<Ipv4Addr>,
    metric: u32,
}

/// The kernel's table, as `/proc/net/route` shows it: numbers in the byte order of the machine.
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
    let parts: Vec<u64> = text.split(':').map(|part| u64::from_str_radix(part, 16)).collect::<Result<_, _>>().ok()?;
    (parts.len() == 6).then(|| parts.into_iter().fold(0, |all, part| all << 8 | part))
}

/// The link address of a neighbour, in a table as `/proc/net/arp` shows it.
fn neighbour(table: &str, interface: &str, address: Ipv4Addr) -> Option<u64> {
    const COMPLETE: u32 = 2;
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let flags = u32::from_str_radix(words.get(2)?.trim_start_matches("0x"), 16).ok()?;
        let right = words.first()?.parse() == Ok(address) && words.get(5) == Some(&interface) && flags & COMPLETE != 0;
        right.then(|| mac(words.get(3)?)).flatten()
    })
}

fn link_address(interface: &str) -> Option<u64> {
    getifaddrs().ok()?.filter(|found| found.interface_name == interface).find_map(|found| {
        let octets = found.address?.as_link_addr()?.addr()?;
        Some(octets.into_iter().fold(0, |all, octet| all << 8 | u64::from(octet)))
    })
}

fn table(name: &str) -> Result<String, String> {
    let path = format!("/proc/thread-self/net/{name}");
    read_to_string(&path).map_err(|error| format!("{path}: {error}"))
}

/// The router of the default route.
pub(super) fn default_router() -> Result<Ipv4Addr, String> {
    let found = routes(&table("route")?).into_iter().filter(|route| route.network.1 == 0).min_by_key(|r| r.metric);
    found.and_then(|route| route.gateway).ok_or_else(|| {
        "there is no default route: set upf.switch.core_next_hop to the router towards the data network".into()
    })
}

/// How frames leave to an address. Where the neighbour is not known, asks for it, so that it may be the next time.
pub(super) fn hop(to: Ipv4Addr) -> Result<Hop, String> {
    let route = route_to(routes(&table("route")?), to).ok_or_else(|| format!("there is no route to {to}"))?;
    let next = route.gateway.unwrap_or(to);
    let source = link_address(&route.interface).ok_or_else(|| format!("{} has no link address", route.interface))?;
    match neighbour(&table("arp")?, &route.interface, next) {
        Some(destination) => Ok(Hop { source, destination }),
        None => {
            const DISCARD: u16 = 9;
            if let Ok(socket) = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)) {
                let _ = socket.send_to(&[], (next, DISCARD));
            }
            Err(format!("the link address of {next} is not known yet"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
n6\t00000000\t0100630A\t0003\t0\t0\t0\t00000000\t0\t0\t0
n3\t0046A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
off\t0046A8C0\t00000000\t0000\t0\t0\t0\tFFFFFFFF\t0\t0\t0
";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_longest_route_leads() {
        let to = |address: [u8; 4]| route_to(routes(ROUTES), address.into()).expect("a route");
        assert_eq!(to([192, 168, 70, 2]).interface, "n3");
        assert_eq!(to([192, 168, 70, 2]).gateway, None);
        let default = to([8, 8, 8, 8]);
        assert_eq!((default.interface.as_str(), default.gateway), ("n6", Some([10, 99, 0, 1].into())));
    }

    #[test]
    fn a_neighbour_counts_once_its_address_is_known() {
        let table = "IP address       HW type     Flags       HW address            Mask     Device
10.99.0.1        0x1         0x2         02:00:00:00:00:01     *        n6
10.99.0.2        0x1         0x0         00:00:00:00:00:00     *        n6
";
        assert_eq!(neighbour(table, "n6", [10, 99, 0, 1].into()), Some(0x0200_0000_0001));
        assert_eq!(neighbour(table, "n6", [10, 99, 0, 2].into()), None);
        assert_eq!(neighbour(table, "n3", [10, 99, 0, 1].into()), None);
    }
}
