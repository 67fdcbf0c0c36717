//! N6: the device, its addresses and routes.
use super::netlink::{Ipv4Setting, Netlink};
use super::tun::Device;
use super::{netns, tun};
use martlet_upf_config::{N6Mode, UpfConfig};
use martlet_upf_datapath::{InterfaceError, OpenError};
use nix::net::if_::{if_nameindex, if_nametoindex};
use std::fs::File;
use std::io::Write;

const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";
/// IPv6 settings of interfaces.
const SETTINGS6: &str = "/proc/sys/net/ipv6/conf";

/// Creates the TUN device with the first address of each pool, or none with mode `none`.
pub(super) fn open(config: &UpfConfig) -> Result<Option<Device>, OpenError> {
    if config.n6.mode == N6Mode::None {
        tracing::info!("N6 disabled: UEs reach each other only");
        return Ok(None);
    }
    netns::within(config.n6.netns.as_deref(), || {
        let name = config.n6.interface.as_str();
        let device = tun::create_with(name, config.kernel.offload)?;
        let failed = |what: &str, error: std::io::Error| InterfaceError::setting(what, name, error);
        // Otherwise the kernel itself sends IPv6 on the device. A kernel without IPv6 lacks this
        // setting.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/addr_gen_mode"), "1");
        let index = if_nametoindex(name).map_err(|error| failed("the index", error.into()))?;
        let netlink = Netlink::open().map_err(|error| failed("the settings", error))?;
        netlink
            .up(index, u32::from(config.n6.mtu))
            .map_err(|error| failed("the MTU and state", error))?;
        lengthen_queue(&netlink, index, name, config);
        for pool in config.pools() {
            let set = netlink.address(index, pool.gateway(), pool.prefix);
            set.map_err(|error| {
                failed(&format!("the address {}/{}", pool.gateway(), pool.prefix), error)
            })?;
        }
        for (address, prefix) in config.pools6() {
            if let Err(error) = netlink.address6(index, address, prefix) {
                // A kernel without IPv6 still serves UEs with IPv4.
                tracing::warn!(
                    %address, prefix, %error,
                    "IPv6 address not set: IPv6 sessions reach each other only"
                );
            }
        }
        if config.n6.mode != N6Mode::Local {
            forward()?;
            forward6(&[name]);
            if !config.kernel.local_switching || config.ue_to_ue().any() {
                without_redirects(name);
            }
        }
        tracing::info!(
            interface = name, netns = config.n6.netns, mode = ?config.n6.mode,
            "N6 interface up"
        );
        Ok(Some(device))
    })
}

/// Creates a TUN device for each network instance.
pub(super) fn open_instance_devices(config: &UpfConfig) -> Result<Vec<File>, OpenError> {
    netns::within(config.n6.netns.as_deref(), || {
        let netlink = Netlink::open().map_err(InterfaceError::NetworkInstances)?;
        let open = |n: usize| {
            let name = super::network_instances::interface(&config.n6, n);
            let device = tun::create(&name)?;
            let failed =
                |source: std::io::Error| InterfaceError::SetUp { interface: name.clone(), source };
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/addr_gen_mode"), "1");
            let index = if_nametoindex(name.as_str()).map_err(|error| failed(error.into()))?;
            netlink.up(index, u32::from(config.n6.mtu)).map_err(failed)?;
            lengthen_queue(&netlink, index, &name, config);
            Ok(device)
        };
        (1..=config.n6.network_instances.len()).map(open).collect()
    })
}

/// Sets how many downlink packets wait for this process. A device with a shorter queue works too.
fn lengthen_queue(netlink: &Netlink, index: u32, interface: &str, config: &UpfConfig) {
    let packets = config.kernel.device_queue;
    if let Err(error) = netlink.queue(index, packets) {
        tracing::warn!(interface, packets, %error, "queue length of the N6 interface not set");
    }
}

/// Disables ICMP redirects: packets between UEs leave and enter by the same device. The kernel
/// disables them only if both settings are 0.
pub fn without_redirects(interface: &str) {
    for of in ["all", interface] {
        if let Err(error) =
            std::fs::write(format!("/proc/sys/net/ipv4/conf/{of}/send_redirects"), "0")
        {
            tracing::warn!(%error, of, "ICMP redirects not disabled");
        }
    }
}

/// Enables forwarding of IPv6, unless the kernel has no IPv6. A kernel that forwards ignores Router
/// Advertisements and removes the default routes that it has from them, except at interfaces with
/// the value 2 in `accept_ra`: there the machine keeps its addresses and routes. `own` are the
/// interfaces of N6, to which no router is connected.
pub fn forward6(own: &[&str]) {
    let all = format!("{SETTINGS6}/all/forwarding");
    let Ok(value) = std::fs::read_to_string(&all) else { return };
    if value.trim() == "1" {
        return;
    }
    let not_forwarded = |error: std::io::Error| {
        tracing::warn!(
            %error,
            "IPv6 is not forwarded, and UEs reach the data network over IPv4 alone: set \
             net.ipv6.conf.all.forwarding to 1"
        );
    };
    // Nothing is changed without the right to switch forwarding on, as in containers.
    let mut forwarding = match File::options().write(true).open(&all) {
        Ok(file) => file,
        Err(error) => return not_forwarded(error),
    };
    let not_here = |name: &str| own.contains(&name) || matches!(name, "all" | "default" | "lo");
    for interface in std::fs::read_dir(SETTINGS6).into_iter().flatten().flatten() {
        let name = interface.file_name().to_string_lossy().into_owned();
        let setting = interface.path().join("accept_ra");
        let accepts = std::fs::read_to_string(&setting).is_ok_and(|value| value.trim() == "1");
        if not_here(&name) || !accepts {
            continue;
        }
        if let Err(error) = std::fs::write(&setting, "2") {
            tracing::warn!(
                interface = name, %error,
                "accept_ra not set: the machine may lose its IPv6 routes on this interface"
            );
        }
    }
    if let Err(error) = forwarding.write_all(b"1") {
        not_forwarded(error);
    }
}

/// Enables forwarding between the interfaces of the machine, or of the namespace. In a container
/// with a read-only `/proc/sys`, it is those that exist now.
pub fn forward() -> Result<(), InterfaceError> {
    let on = std::fs::read_to_string(FORWARDING).is_ok_and(|value| value.trim() == "1");
    if on {
        return Ok(());
    }
    std::fs::write(FORWARDING, "1")
        .or_else(|error| forward_at_each().map_err(|_| error))
        .map_err(|source| InterfaceError::Forwarding { file: FORWARDING, source })
}

fn forward_at_each() -> std::io::Result<()> {
    let netlink = Netlink::open()?;
    for interface in &if_nameindex()? {
        let set = netlink.ipv4_settings(interface.index(), &[(Ipv4Setting::Forwarding, 1)]);
        // An interface with a tiny MTU has no IPv4.
        if let Err(error) = set
            && error.raw_os_error() != Some(libc::EAFNOSUPPORT)
        {
            return Err(error);
        }
    }
    Ok(())
}
