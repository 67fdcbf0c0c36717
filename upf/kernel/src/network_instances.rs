//! Network instances of N6: packets of each enter the kernel by an interface of their own, and a
//! rule selects a routing table with the instance's default route.
use super::netlink::{Ipv4Setting, Netlink};
use martlet_upf_config::{N6Config, UpfConfig};
use martlet_upf_datapath::{InterfaceError, OpenError};
use nix::net::if_::if_nametoindex;
use std::net::Ipv4Addr;

/// Number of the first routing table; one for each instance.
const FIRST_TABLE: u32 = 7_700;

/// Interface name of the n-th network instance, from 1.
pub fn interface(n6: &N6Config, n: usize) -> String {
    format!("{}e{n}", n6.interface.chars().take(12).collect::<String>())
}

/// Rules and routes, removed on drop.
pub struct NetworkInstances {
    netns: Option<String>,
    /// Interfaces that packets enter by, with their tables.
    made: Vec<(String, u32)>,
}

impl NetworkInstances {
    /// Sets up rules and routes in the namespace of N6. The interfaces must exist.
    pub fn open(config: &UpfConfig) -> Result<NetworkInstances, OpenError> {
        let mut network_instances =
            NetworkInstances { netns: config.n6.netns.clone(), made: Vec::new() };
        super::netns::within(config.n6.netns.as_deref(), || {
            for (n, instance) in (1..).zip(&config.n6.network_instances) {
                let enters = interface(&config.n6, n);
                let failed = |what: &str, error: std::io::Error| InterfaceError::NetworkInstance {
                    setting: what.into(),
                    name: instance.network_instance.clone(),
                    index: n - 1,
                    source: error,
                };
                let oif = if_nametoindex(instance.interface.as_str()).map_err(|_| {
                    InterfaceError::Missing {
                        interface: instance.interface.clone(),
                        key: format!("upf.n6.network_instances[{}].interface", n - 1),
                    }
                })?;
                let netlink = Netlink::open().map_err(|error| failed("the settings", error))?;
                // Packets to UEs leave by another interface, so the reverse path filter must be
                // off, or loose with an address.
                let all = std::fs::read_to_string("/proc/sys/net/ipv4/conf/all/rp_filter");
                let filtered = all.is_ok_and(|all| all.trim() != "0");
                let index = if_nametoindex(enters.as_str())
                    .map_err(|error| failed("the interface", error.into()))?;
                if filtered {
                    let address = Ipv4Addr::new(169, 254, 77, 80 + n as u8);
                    netlink
                        .address(index, address, 32)
                        .map_err(|error| failed("the address", error))?;
                }
                let filter = (Ipv4Setting::ReversePathFilter, if filtered { 2 } else { 0 });
                netlink
                    .ipv4_settings(index, &[filter, (Ipv4Setting::Forwarding, 1)])
                    .map_err(|error| failed("the IPv4 settings", error))?;
                let table = FIRST_TABLE + n as u32;
                // Left by an earlier run that was killed.
                let _ = netlink.rule(false, &enters, table);
                let routed = netlink.default_route(table, oif, instance.via);
                routed.map_err(|error| {
                    failed(&format!("the route over {}", instance.interface), error)
                })?;
                netlink.rule(true, &enters, table).map_err(|error| failed("the rule", error))?;
                network_instances.made.push((enters, table));
                tracing::info!(
                    network_instance = instance.network_instance,
                    interface = instance.interface,
                    via = ?instance.via,
                    "N6 network instance up"
                );
            }
            Ok(())
        })?;
        Ok(network_instances)
    }
}

impl Drop for NetworkInstances {
    fn drop(&mut self) {
        if self.made.is_empty() {
            return;
        }
        let made = std::mem::take(&mut self.made);
        let undone = super::netns::within(self.netns.as_deref(), move || {
            let netlink = Netlink::open().map_err(InterfaceError::Route)?;
            for (enters, table) in made {
                netlink.rule(false, &enters, table).map_err(InterfaceError::Route)?;
                netlink.no_default_route(table).map_err(InterfaceError::Route)?;
            }
            Ok(())
        });
        if let Err(error) = undone {
            tracing::warn!(%error, "policy routes of N6 network instances not removed");
        }
    }
}

/// The index of a network instance from 1; 0 is the default.
pub fn network_instance_of(names: &[Vec<u8>], instance: Option<&[u8]>) -> usize {
    let Some(instance) = instance.filter(|_| !names.is_empty()) else { return 0 };
    names.iter().position(|name| name == instance).map_or(0, |n| n + 1)
}
