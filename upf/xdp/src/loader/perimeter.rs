//! The perimeter in the programs' tables: see `bpf/perimeter.h`.
use crate::loader::Programs;
use crate::loader::error::table_error;
use crate::loader::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use martlet_upf_datapath::perimeter::{Perimeter, Service};
use martlet_upf_rules::Prefix;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::net::IpAddr;
use std::sync::atomic::Ordering;

/// Tables for IPv4 and IPv6, and services.
pub(crate) struct PerimeterTables {
    pub classes: [MapHandle; 2],
    pub sources: [MapHandle; 2],
    pub services: MapHandle,
}

/// What the tables hold.
#[derive(Debug, Default)]
pub struct WrittenPerimeter {
    generation: u64,
    classes: BTreeMap<Prefix, u32>,
    sources: BTreeMap<Prefix, u32>,
    services: BTreeSet<Service>,
}

/// A prefix as the key of a longest prefix match.
fn key(prefix: &Prefix) -> Vec<u8> {
    let bytes = octets(prefix.network);
    [&u32::from(prefix.length).to_ne_bytes()[..], &bytes].concat()
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Brings the tables of both versions of IP from one state to another. New entries are written
/// first.
fn update(
    name: &'static str,
    maps: &[MapHandle; 2],
    before: &BTreeMap<Prefix, u32>,
    after: &BTreeMap<Prefix, u32>,
) -> Result<(), XdpError> {
    let map = |prefix: &Prefix| &maps[usize::from(prefix.network.is_ipv6())];
    for (prefix, value) in after.iter().filter(|(prefix, value)| before.get(prefix) != Some(value))
    {
        map(prefix)
            .update(&key(prefix), &value.to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| table_error(name, error))?;
    }
    for prefix in before.keys().filter(|prefix| !after.contains_key(prefix)) {
        map(prefix).delete(&key(prefix)).map_err(|error| table_error(name, error))?;
    }
    Ok(())
}

impl Programs {
    /// Writes what has changed of a perimeter.
    ///
    /// # Errors
    /// A table is full; then it denies more than it has to, or knows fewer peers.
    pub fn write_perimeter(
        &self,
        perimeter: &Perimeter,
        written: &mut WrittenPerimeter,
    ) -> Result<(), XdpError> {
        let generation = perimeter.generation();
        if written.generation == generation {
            return Ok(());
        }
        let classes = perimeter.entries().into_iter().map(|(p, class)| (p, class.into())).collect();
        update("perimeter", &self.perimeter.classes, &written.classes, &classes)?;
        let sources = perimeter.sources().into_iter().map(|(p, n)| (p, n.into())).collect();
        update("sources", &self.perimeter.sources, &written.sources, &sources)?;
        for service in perimeter.services().difference(&written.services) {
            self.write_service(service)?;
        }
        let known = self.globals.u32(0, offset_of!(types::globals, sources));
        known.store(sources.len() as u32, Ordering::Release);
        let services = perimeter.services().clone();
        *written = WrittenPerimeter { generation, classes, sources, services };
        // Next hops and senders are looked up again.
        self.forget_hops();
        Ok(())
    }

    fn write_service(&self, service: &Service) -> Result<(), XdpError> {
        const ICMPV6: u8 = 58;
        let Some(protocol) = service.protocol else { return Ok(()) };
        let mut address = [0; 16];
        let octets = octets(service.network.network);
        address[..octets.len()].copy_from_slice(&octets);
        let write = |port: u16, later: u8| {
            let key = [&address[..], &port.to_ne_bytes(), &[protocol, later]].concat();
            self.perimeter
                .services
                .update(&key, &1u32.to_ne_bytes(), MapFlags::ANY)
                .map_err(|error| table_error("services", error))
        };
        debug_assert_ne!(protocol, ICMPV6, "ICMP stands for ICMPv6");
        write(service.port.unwrap_or(0), 0)?;
        // Later fragments of services with a port.
        if service.port.is_some() { write(0, 1) } else { Ok(()) }
    }
}
