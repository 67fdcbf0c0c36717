//! The perimeter of this machine: its policy from the configuration, and the addresses of its
//! interfaces, which are followed as they change.
use super::netns;
use martlet_upf_config::{AllowedService, Network, ServiceProtocol, SourceCheck, UpfConfig};
use martlet_upf_datapath::perimeter::{OwnAddress, Perimeter, Policy, Service, Sources};
use martlet_upf_datapath::{InterfaceError, OpenError};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Groups of rtnetlink: addresses and routes of both versions of IP.
const GROUPS: u32 = 0x10 | 0x40 | 0x100 | 0x400;
const NEW_ADDRESS: u16 = 20;
const DELETE_ADDRESS: u16 = 21;
const NEW_ROUTE: u16 = 24;
const DELETE_ROUTE: u16 = 25;

/// Watches the addresses. Dropping it ends the watch.
pub struct Watcher {
    /// Closed to end the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

fn policy(config: &UpfConfig) -> Policy {
    let prefixes = |networks: &[Network]| networks.iter().map(|network| network.0).collect();
    let service = |service: &AllowedService| Service {
        network: service.address.0,
        protocol: service.protocol.map(|protocol| match protocol {
            ServiceProtocol::Icmp => 1,
            ServiceProtocol::Tcp => 6,
            ServiceProtocol::Udp => 17,
            ServiceProtocol::Sctp => 132,
        }),
        port: service.port,
    };
    let (four, six) = config.n3.addresses();
    let own = four.map(IpAddr::V4).into_iter().chain(six.map(IpAddr::V6));
    let core = own.chain([config.n4.address.ip()]).chain(config.n6.core.iter().copied());
    let gateways = config.pools().into_iter().map(|pool| IpAddr::V4(pool.gateway()));
    let gateways6 = config.pools6().into_iter().map(|(address, _)| IpAddr::V6(address));
    Policy {
        denied: prefixes(&config.n6.deny),
        allowed: config.n6.allow.iter().map(service).collect(),
        gateways: gateways.chain(gateways6).collect(),
        core: core.collect(),
        peers: prefixes(&config.n3.allow),
        sources: match config.n3.source_check {
            SourceCheck::Session => Sources::Session,
            SourceCheck::Peer => Sources::Peers,
            SourceCheck::Off => Sources::Any,
        },
    }
}

/// The addresses of the calling thread's network namespace. Packets leave to the data network by
/// interfaces with a default route, and by the ones named in `network_instances`.
fn own_addresses(network_instances: &[String]) -> io::Result<BTreeSet<OwnAddress>> {
    let mut leaving: BTreeSet<String> = network_instances.iter().cloned().collect();
    // Columns: interface, destination, gateway, flags, three counters, mask.
    let four = std::fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
    for columns in four.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
        if let [name, "00000000", _, _, _, _, _, "00000000", ..] = columns[..] {
            leaving.insert(name.to_owned());
        }
    }
    // Columns: destination, its length, source, its length, next hop, four numbers, interface.
    let six = std::fs::read_to_string("/proc/thread-self/net/ipv6_route").unwrap_or_default();
    for columns in six.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
        if let [destination, "00", _, _, _, _, _, _, _, name] = columns[..]
            && destination.bytes().all(|digit| digit == b'0')
            && name != "lo"
        {
            leaving.insert(name.to_owned());
        }
    }
    let each = getifaddrs()?.filter_map(|interface| {
        let (address, mask) = (interface.address.as_ref()?, interface.netmask.as_ref()?);
        let to_data_network = leaving.contains(&interface.interface_name);
        if let (Some(address), Some(mask)) = (address.as_sockaddr_in(), mask.as_sockaddr_in()) {
            let (address, prefix) = (address.ip(), mask.ip().to_bits().leading_ones() as u8);
            return Some(OwnAddress { address: address.into(), prefix, to_data_network });
        }
        let (address, mask) = (address.as_sockaddr_in6()?.ip(), mask.as_sockaddr_in6()?.ip());
        let prefix = mask.to_bits().leading_ones() as u8;
        Some(OwnAddress { address: address.into(), prefix, to_data_network })
    });
    Ok(each.collect())
}

/// The addresses of the network namespaces of N3 and N6.
fn all_addresses(config: &UpfConfig) -> Result<BTreeSet<OwnAddress>, OpenError> {
    let network_instances: Vec<String> =
        config.n6.network_instances.iter().map(|instance| instance.interface.clone()).collect();
    let mut all = BTreeSet::new();
    for netns in namespaces(config) {
        all.extend(netns::within(netns, || {
            Ok(own_addresses(&network_instances).map_err(InterfaceError::Addresses)?)
        })?);
    }
    Ok(all)
}

fn namespaces(config: &UpfConfig) -> BTreeSet<Option<&str>> {
    [config.n3.netns.as_deref(), config.n6.netns.as_deref()].into()
}

/// A socket that reports changes in the calling thread's network namespace.
fn changes() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let protocol = SockProtocol::NetlinkRoute;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
    Ok(socket)
}

/// Whether one of the messages of a datagram may change the perimeter: it is about an address, or
/// about a default route.
fn matters(mut messages: &[u8]) -> bool {
    while let Some(header) = messages.first_chunk::<16>() {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let is_default = messages.get(17) == Some(&0);
        match u16::from_ne_bytes([header[4], header[5]]) {
            NEW_ADDRESS | DELETE_ADDRESS => return true,
            NEW_ROUTE | DELETE_ROUTE if is_default => return true,
            _ => {}
        }
        messages = messages.get(length.max(16).next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

/// The perimeter of a configuration. The addresses of the machine are known when this returns, and
/// followed for as long as the watcher lives.
pub fn follow(config: &UpfConfig) -> Result<(Arc<Perimeter>, Watcher), OpenError> {
    let perimeter = Arc::new(Perimeter::new(policy(config)));
    let watcher = Watcher::start(&perimeter, config)?;
    Ok((perimeter, watcher))
}

impl Watcher {
    fn start(perimeter: &Arc<Perimeter>, config: &UpfConfig) -> Result<Watcher, OpenError> {
        let sockets: Vec<OwnedFd> = namespaces(config)
            .into_iter()
            .map(|netns| netns::within(netns, || Ok(changes().map_err(InterfaceError::Addresses)?)))
            .collect::<Result<_, _>>()?;
        // Changes from here on are reported.
        perimeter.set_own(all_addresses(config)?);
        let (stop, stopped) = UnixStream::pair().map_err(OpenError::Threads)?;
        let (perimeter, config) = (perimeter.clone(), config.clone());
        let work = move || {
            while wait(&sockets, &stopped) {
                match all_addresses(&config) {
                    Ok(own) => {
                        perimeter.set_own(own);
                    }
                    Err(error) => tracing::warn!(%error, "perimeter of N6 not updated"),
                }
            }
        };
        let thread = std::thread::Builder::new().name("upf-addresses".into()).spawn(work);
        Ok(Watcher { stop: Some(stop), thread: Some(thread.map_err(OpenError::Threads)?) })
    }
}

/// Waits for a change of the perimeter; returns false at the end.
fn wait(sockets: &[OwnedFd], stopped: &UnixStream) -> bool {
    let mut buffer = vec![0; 65_536];
    loop {
        let mut waiting = vec![PollFd::new(stopped.as_fd(), PollFlags::POLLIN)];
        waiting.extend(sockets.iter().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
        match poll(&mut waiting, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            Err(error) => {
                tracing::error!(%error, "addresses of interfaces are no longer followed");
                return false;
            }
            Ok(_) => {}
        }
        if waiting[0].any().unwrap_or(true) {
            return false;
        }
        let mut change = false;
        for socket in sockets {
            loop {
                match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                    Ok(length) => change |= matters(buffer.get(..length).unwrap_or_default()),
                    // Reports were lost: one of them may have changed the perimeter.
                    Err(Errno::ENOBUFS) => change = true,
                    Err(_) => break,
                }
            }
        }
        if change {
            return true;
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn messages_about_addresses_and_default_routes_matter() {
        let message = |kind: u16, length: u8| {
            let mut bytes = 28u32.to_ne_bytes().to_vec();
            bytes.extend(kind.to_ne_bytes());
            bytes.resize(17, 0);
            bytes.push(length);
            bytes.resize(28, 0);
            bytes
        };
        assert!(matters(&message(NEW_ADDRESS, 24)) && matters(&message(DELETE_ROUTE, 0)));
        assert!(!matters(&message(NEW_ROUTE, 24)) && !matters(&[]));
        assert!(matters(&[message(NEW_ROUTE, 24), message(DELETE_ADDRESS, 24)].concat()));
    }

    #[test]
    fn loopback_is_among_the_addresses() {
        let own = own_addresses(&[]).expect("the addresses");
        let lo =
            OwnAddress { address: Ipv4Addr::LOCALHOST.into(), prefix: 8, to_data_network: false };
        let lo6 = OwnAddress { address: Ipv6Addr::LOCALHOST.into(), prefix: 128, ..lo };
        assert!(own.contains(&lo) || own.contains(&lo6), "{own:?}");
    }
}
