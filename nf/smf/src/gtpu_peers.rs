//! The owner of each GTP-U address: the cell of the gNB that sent it, or the UPF that allocated it.
//! The figures of the user plane use it to name the peers of a UPF.
use crate::user_plane_path::UserPlanePath;
use martlet_sbi_api::common::Ncgi;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

/// Addresses of each kind. Further ones have no name.
const MAX_ADDRESSES: usize = 4096;

#[derive(Default)]
struct Tables {
    /// A cell of the gNB that has the address: the last one from which it was used.
    cells: HashMap<IpAddr, Ncgi>,
    upfs: HashMap<IpAddr, SocketAddr>,
}

/// GTP-U addresses that sessions have had since the start.
#[derive(Default)]
pub struct GtpuPeers(Mutex<Tables>);

fn set<V: PartialEq + Clone>(table: &mut HashMap<IpAddr, V>, address: IpAddr, value: &V) {
    let has_room = table.len() < MAX_ADDRESSES;
    match table.get_mut(&address) {
        Some(known) if known == value => {}
        Some(known) => *known = value.clone(),
        None if has_room => drop(table.insert(address, value.clone())),
        None => {}
    }
}

impl GtpuPeers {
    /// A session has tunnels from a gNB through these UPFs, while its UE is in a cell of the gNB.
    pub fn seen(&self, gnb: IpAddr, cell: &Ncgi, path: UserPlanePath) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        set(&mut tables.cells, gnb, cell);
        for upf in [path.access(), path.anchor()] {
            set(&mut tables.upfs, upf.address, &upf.upf);
            if let Some(ipv6) = upf.ipv6 {
                set(&mut tables.upfs, ipv6.into(), &upf.upf);
            }
        }
    }

    /// For the northbound API: the PLMN and the NR cell identity by address of a gNB, and the N4
    /// address by that of a UPF.
    pub fn status(&self) -> Value {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = |(address, cell): (&IpAddr, &Ncgi)| {
            let value = json!({"plmn": cell.plmn_id.to_string(), "cell": *cell.nr_cell_id});
            (address.to_string(), value)
        };
        let upf =
            |(address, n4): (&IpAddr, &SocketAddr)| (address.to_string(), json!(n4.to_string()));
        json!({
            "cells": tables.cells.iter().map(cell).collect::<Map<String, Value>>(),
            "upfs": tables.upfs.iter().map(upf).collect::<Map<String, Value>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_owner_of_an_address_counts_and_the_table_is_bounded() {
        let mut table = HashMap::new();
        let at = |n: u32| IpAddr::from(n.to_be_bytes());
        set(&mut table, at(1), &1);
        set(&mut table, at(1), &2);
        assert_eq!(table.get(&at(1)), Some(&2));
        for n in 0..2 * MAX_ADDRESSES as u32 {
            set(&mut table, at(n), &3);
        }
        assert_eq!((table.len(), table.get(&at(1))), (MAX_ADDRESSES, Some(&3)));
    }
}
