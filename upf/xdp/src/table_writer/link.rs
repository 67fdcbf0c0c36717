//! The veth pair between kernel and programs. The kernel routes downlink packets to the outer end;
//! the programs receive them at the inner end and pass packets to the kernel through it.
use crate::loader::LINK_MAC;
use martlet_interface::Feature;
use martlet_upf_config::{N6Mode, Pool, UpfConfig};
use martlet_upf_datapath::{InterfaceError, OpenError};
use martlet_upf_kernel::n6::{forward, forward6, without_redirects};
use martlet_upf_kernel::netlink::{Ipv4Setting, Netlink};
use martlet_upf_rules::Prefix;
use nix::net::if_::if_nametoindex;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// MTU of both ends: the largest that XDP supports on all interfaces, `LINK_MTU` of the programs.
/// UEs' packets are smaller: see n6.mtu.
pub(super) const LARGEST: u32 = 3498;

/// Addresses and routes of a kept pair that an earlier process has set, and this one has not.
#[derive(Default)]
pub(super) struct Left {
    /// Addresses with the lengths of their prefixes: of former pools, and former public ones.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Networks and metrics: of former pools, and framed routes.
    pub routes: Vec<(Prefix, u32)>,
}

/// The link, removed on drop.
pub(super) struct Link {
    /// The kernel's end.
    pub outer: u32,
    /// The programs' end.
    pub inner: u32,
    /// For each network instance: the kernel's end, and the programs' end.
    pub network_instances: Vec<(u32, u32)>,
    /// What is left of an earlier process.
    pub left: Left,
    /// The claim of the name, held while this is bound.
    _name: Socket,
}

/// The names of both ends: the kernel's, and the programs'.
pub(super) fn names(config: &UpfConfig) -> (String, String) {
    let outer = config.n6.interface.clone();
    let inner = format!("{}x", outer.chars().take(14).collect::<String>());
    (outer, inner)
}

/// The same for the n-th network instance.
pub(super) fn network_instance_names(config: &UpfConfig, n: usize) -> (String, String) {
    let outer = martlet_upf_kernel::network_instances::interface(&config.n6, n);
    let inner = format!("{}x", outer.chars().take(14).collect::<String>());
    (outer, inner)
}

impl Link {
    pub fn open(config: &UpfConfig) -> Result<Link, OpenError> {
        let (outer, inner) = names(config);
        let failed = |what: &str, error: io::Error| InterfaceError::setting(what, &outer, error);
        let name = own(&outer)?;
        let netlink = Netlink::open().map_err(|error| failed("the settings", error))?;
        let is_reused = create(config, &netlink, &outer, &inner)?;
        let index =
            |name: &str| if_nametoindex(name).map_err(|error| failed("the index", error.into()));
        let mut link = Link {
            outer: index(&outer)?,
            inner: index(&inner)?,
            network_instances: Vec::new(),
            left: Left::default(),
            _name: name,
        };
        link.set_up(config, &netlink, &outer, &inner)
            .map_err(|(what, error)| failed(&what, error))?;
        if is_reused {
            link.left = Left::of(config, &netlink, link.outer).unwrap_or_else(|error| {
                tracing::warn!(interface = outer, %error, "former addresses and routes not read");
                Left::default()
            });
        }
        if matches!(config.n6.mode, N6Mode::Nat | N6Mode::Routing) {
            forward()?;
            if !config.xdp.local_switching || config.ue_to_ue().any() {
                without_redirects(&outer);
            }
        }
        for n in 1..=config.n6.network_instances.len() {
            let (outer, inner) = network_instance_names(config, n);
            let failed =
                |source: io::Error| InterfaceError::Create { interface: outer.clone(), source };
            create(config, &netlink, &outer, &inner)?;
            let ends = (index(&outer)?, index(&inner)?);
            link.network_instances.push(ends);
            for (name, index) in [(&outer, ends.0), (&inner, ends.1)] {
                let _ =
                    std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/addr_gen_mode"), "1");
                netlink.up(index, LARGEST).map_err(failed)?;
            }
        }
        Ok(link)
    }

    fn set_up(
        &self,
        config: &UpfConfig,
        netlink: &Netlink,
        outer: &str,
        inner: &str,
    ) -> Result<(), (String, io::Error)> {
        for name in [outer, inner] {
            // Otherwise the kernel itself sends IPv6 on it. A kernel without IPv6 lacks this
            // setting.
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/addr_gen_mode"), "1");
        }
        // Packets on the inner end have our source address, to be forwarded or received by the
        // kernel. If the reverse path is filtered on all interfaces, the loose filter accepts them,
        // since an address is assigned.
        let filtered = std::fs::read_to_string("/proc/sys/net/ipv4/conf/all/rp_filter")
            .is_ok_and(|all| all.trim() != "0");
        let filter = (Ipv4Setting::ReversePathFilter, if filtered { 2 } else { 0 });
        if filtered {
            let set = netlink.address(self.inner, Ipv4Addr::new(169, 254, 77, 76), 32);
            set.map_err(|error| ("the address".into(), error))?;
        }
        let accept_local = (Ipv4Setting::AcceptLocal, 1);
        let settings =
            [accept_local, (Ipv4Setting::RouteLoopback, 1), filter, (Ipv4Setting::Forwarding, 1)];
        let set = netlink.ipv4_settings(self.inner, &settings);
        set.map_err(|error| (format!("the IPv4 settings of {inner}"), error))?;
        if config.n3.addresses().1.is_some() {
            let path = format!("/proc/sys/net/ipv6/conf/{outer}/forwarding");
            // A new interface has the value of all interfaces.
            if !std::fs::read_to_string(&path).is_ok_and(|value| value.trim() == "1") {
                std::fs::write(&path, "1").map_err(|error| (path, error))?;
            }
        }
        martlet_interface::set_feature(outer, Feature::TransmitChecksums, false)
            .map_err(|error| ("the checksums".into(), error))?;
        for index in [self.inner, self.outer] {
            netlink.up(index, LARGEST).map_err(|error| ("the state".into(), error))?;
        }
        if config.n6.mode == N6Mode::Nat && !config.xdp.nat.addresses.is_empty() {
            // Programs pass translated packets to the kernel, whose source is then an address of
            // its own.
            let set = netlink.ipv4_settings(self.outer, &[accept_local, filter]);
            set.map_err(|error| (format!("the IPv4 settings of {outer}"), error))?;
            // With it, the kernel answers neighbour requests for the address, and packets to ports
            // without a flow.
            for public in config.xdp.nat.addresses.iter().filter(|public| !is_ours(**public)) {
                let set = netlink.address(self.outer, *public, 32);
                set.map_err(|error| (format!("the public address {public}"), error))?;
            }
        }
        if config.n6.mode != N6Mode::None {
            for Pool { network, prefix } in config.pools() {
                let gateway = Pool { network, prefix }.gateway();
                let set = netlink.network(self.outer, gateway, prefix, u32::from(config.n6.mtu));
                set.map_err(|error| (format!("the network {network}/{prefix}"), error))?;
            }
            for (address, prefix) in config.pools6() {
                let mtu = u32::from(config.n6.mtu);
                if let Err(error) = netlink.network6(self.outer, address, prefix, mtu) {
                    // A kernel without IPv6 still serves UEs with IPv4.
                    tracing::warn!(
                        %address, prefix, %error,
                        "IPv6 address not set: IPv6 sessions reach each other only"
                    );
                }
            }
            if config.n6.mode != N6Mode::Local {
                forward6(&[outer, inner]);
            }
        }
        Ok(())
    }
}

impl Left {
    fn of(config: &UpfConfig, netlink: &Netlink, outer: u32) -> io::Result<Left> {
        let own = addresses(config);
        let networks: Vec<Prefix> =
            own.iter().map(|(address, length)| Prefix::of(*address, *length)).collect();
        let is_link_local =
            |address: &IpAddr| matches!(address, IpAddr::V6(ip) if ip.is_unicast_link_local());
        let (mut addresses, mut routes) = (netlink.addresses(outer)?, netlink.routes(outer)?);
        addresses.retain(|one| !own.contains(one) && !is_link_local(&one.0));
        routes.retain(|(route, _)| !networks.contains(route));
        Ok(Left { addresses, routes })
    }
}

/// The addresses that the kernel's end has, with the lengths of their prefixes.
fn addresses(config: &UpfConfig) -> Vec<(IpAddr, u8)> {
    if config.n6.mode == N6Mode::None {
        return Vec::new();
    }
    let pools = config.pools().into_iter();
    let pools = pools.map(|pool| (IpAddr::V4(pool.gateway()), pool.prefix));
    let pools6 = config.pools6().into_iter().map(|(address, prefix)| (IpAddr::V6(address), prefix));
    let is_nat = config.n6.mode == N6Mode::Nat;
    let public = config.xdp.nat.addresses.iter().filter(|_| is_nat);
    pools.chain(pools6).chain(public.map(|public| (IpAddr::V4(*public), 32))).collect()
}

impl Drop for Link {
    fn drop(&mut self) {
        let outer = self.outer;
        let network_instances = self.network_instances.iter().map(|(outer, _)| *outer);
        let deleted = Netlink::open().and_then(|netlink| {
            [outer].into_iter().chain(network_instances).try_for_each(|outer| netlink.delete(outer))
        });
        if let Err(error) = deleted {
            tracing::warn!(%error, "N6 interface not removed");
        }
    }
}

/// Creates a pair. One of an earlier run that was killed is replaced, unless pinned programs
/// forward by it: they know its ends by their indices. Returns whether it is kept.
fn create(
    config: &UpfConfig,
    netlink: &Netlink,
    outer: &str,
    inner: &str,
) -> Result<bool, InterfaceError> {
    let failed = |what: &str, error: io::Error| InterfaceError::setting(what, outer, error);
    if let Ok(old) = if_nametoindex(outer) {
        let address = martlet_interface::address(outer);
        if address.map_err(|error| failed("the address", error))? != LINK_MAC {
            return Err(in_use(outer));
        }
        if is_pinned(config, outer, inner) {
            tracing::info!(interface = outer, "interface of pinned programs kept");
            return Ok(true);
        }
        netlink.delete(old).map_err(|error| failed("the end", error))?;
    }
    let made = netlink.pair([(outer, LINK_MAC), (inner, LINK_MAC)], LARGEST);
    made.map(|()| false).map_err(|error| match error.raw_os_error() {
        Some(libc::EEXIST) => in_use(inner),
        Some(libc::EOPNOTSUPP) => InterfaceError::NoVeth,
        Some(libc::EPERM) => InterfaceError::NoPermission { interface: outer.into() },
        _ => InterfaceError::Create { interface: outer.into(), source: error },
    })
}

/// Whether programs of an earlier process are pinned at both ends of a pair.
fn is_pinned(config: &UpfConfig, outer: &str, inner: &str) -> bool {
    let exists = |folder: &Path, name: &str| folder.join(name).exists();
    let pin = config.xdp.pin.as_deref();
    pin.is_some_and(|folder| exists(folder, outer) && exists(folder, inner))
        && martlet_interface::address(inner).is_ok_and(|address| address == LINK_MAC)
}

/// Whether an interface of this machine has an address.
fn is_ours(address: Ipv4Addr) -> bool {
    let all = nix::ifaddrs::getifaddrs();
    all.is_ok_and(|mut all| {
        all.any(|one| {
            one.address.as_ref().and_then(|a| a.as_sockaddr_in()).is_some_and(|a| a.ip() == address)
        })
    })
}

fn in_use(name: &str) -> InterfaceError {
    InterfaceError::InUse { interface: name.into() }
}

/// Two processes of one network namespace cannot both have the name.
fn own(outer: &str) -> Result<Socket, InterfaceError> {
    let bound = Socket::new(Domain::UNIX, Type::DGRAM, None).and_then(|socket| {
        socket.bind(&SockAddr::unix(format!("\0martlet-upf-{outer}"))?)?;
        Ok(socket)
    });
    bound.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => in_use(outer),
        _ => InterfaceError::Claim { interface: outer.into(), source: error },
    })
}
