//! N6: the device, its addresses and routes.
use super::netlink::Netlink;
use super::tun::Device;
use super::{netns, tun};
use martlet_upf_config::{N6Mode, UpfConfig};
use martlet_upf_datapath::{InterfaceError, OpenError};
use nix::net::if_::if_nametoindex;
use std::fs::File;

const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";

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
            let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1");
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
            Ok(device)
        };
        (1..=config.n6.network_instances.len()).map(open).collect()
    })
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

/// Enables forwarding between the interfaces of the machine, or of the namespace.
pub fn forward() -> Result<(), InterfaceError> {
    let on = std::fs::read_to_string(FORWARDING).is_ok_and(|value| value.trim() == "1");
    if on {
        return Ok(());
    }
    std::fs::write(FORWARDING, "1")
        .map_err(|source| InterfaceError::Forwarding { file: FORWARDING, source })
}
