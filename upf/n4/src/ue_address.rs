//! UE address allocation by the UP function
use super::settings::Settings;
use martlet_pfcp::IeValue;
use martlet_pfcp::ie::{FailedRuleId, NetworkInstance, Pdi, UeIpAddress};
use martlet_upf_rules::{RuleError, UeAddress};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A range of addresses or prefixes. Released ones are reused as late as possible.
struct Run {
    first: u64,
    count: u64,
    next: u64,
    free: VecDeque<u64>,
}

impl Run {
    fn new(first: u64, count: u64) -> Self {
        Run { first, count, next: 0, free: VecDeque::new() }
    }

    fn take(&mut self) -> Option<u64> {
        if self.next < self.count {
            self.next += 1;
            return Some(self.first + self.next - 1);
        }
        self.free.pop_front()
    }

    fn holds(&self, value: u64) -> bool {
        value >= self.first && value - self.first < self.count
    }
}

/// An address that a session has of us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lease {
    /// Position of its data network among the settings'.
    network: usize,
    pub address: UeAddress,
}

/// All addresses of the pools.
#[derive(Default)]
pub(super) struct Addresses {
    /// By data network: IPv4 addresses.
    v4: Vec<Vec<Run>>,
    /// IPv6 prefixes of 64 bits, of all data networks.
    v6: Vec<Run>,
}

impl Addresses {
    pub fn new(settings: &Settings) -> Self {
        // Without the network's own address, that of the device, and that of all.
        let v4 = |pool: &martlet_upf_config::Pool| {
            Run::new(
                u64::from(pool.network.to_bits()) + 2,
                (1 << (32 - u32::from(pool.prefix))) - 3,
            )
        };
        // The first prefix is the device's.
        let v6 = |(address, length): &(Ipv6Addr, u8)| {
            Run::new((address.to_bits() >> 64) as u64 + 1, (1u64 << (64 - u32::from(*length))) - 1)
        };
        let v6 = if settings.pools.is_empty() {
            Vec::new()
        } else {
            settings.pools6.iter().map(v6).collect()
        };
        Addresses {
            v4: settings.pools.iter().map(|(_, pools)| pools.iter().map(v4).collect()).collect(),
            v6,
        }
    }

    fn take(&mut self, network: usize, v6: bool) -> Option<Lease> {
        let address = match v6 {
            true => UeAddress::V6(self.v6.iter_mut().find_map(Run::take)?),
            false => {
                let value = self.v4.get_mut(network)?.iter_mut().find_map(Run::take)?;
                UeAddress::V4(Ipv4Addr::from_bits(u32::try_from(value).ok()?))
            }
        };
        Some(Lease { network, address })
    }

    pub fn release(&mut self, leases: impl IntoIterator<Item = Lease>) {
        for lease in leases {
            let (runs, value) = match lease.address {
                UeAddress::V4(address) => {
                    (self.v4.get_mut(lease.network), u64::from(address.to_bits()))
                }
                UeAddress::V6(prefix) => (Some(&mut self.v6), prefix),
            };
            if let Some(run) = runs.into_iter().flatten().find(|run| run.holds(value)) {
                run.free.push_back(value);
            }
        }
    }
}

/// The addresses of one request, until it is carried out or refused.
pub(super) struct Leasing<'a> {
    addresses: &'a mut Addresses,
    settings: &'a Settings,
    /// The leases that the session has.
    own: Vec<Lease>,
    taken: Vec<Lease>,
}

impl<'a> Leasing<'a> {
    pub fn new(addresses: &'a mut Addresses, settings: &'a Settings, own: Vec<Lease>) -> Self {
        Leasing { addresses, settings, own, taken: Vec::new() }
    }

    /// The addresses that a PDR asks the UPF to allocate, for its rules and for the response.
    pub fn choose(
        &mut self,
        pdr: u16,
        pdi: &Pdi,
    ) -> Result<(Vec<UeAddress>, Vec<UeIpAddress>), RuleError> {
        let (mut rules, mut allocated) = (Vec::new(), Vec::new());
        for ie in pdi.ue_ip_addresses.iter().filter(|ie| ie.choose_ipv4 || ie.choose_ipv6) {
            let network = self.network(pdr, pdi.network_instance.as_ref())?;
            let mut answer =
                UeIpAddress { is_destination: ie.is_destination, ..UeIpAddress::default() };
            for v6 in [(ie.choose_ipv4, false), (ie.choose_ipv6, true)]
                .into_iter()
                .filter(|(asked, _)| *asked)
            {
                let address = self.lease(network, v6.1)?;
                match address {
                    UeAddress::V4(address) => answer.ipv4 = Some(address),
                    UeAddress::V6(prefix) => {
                        answer.ipv6 = Some(Ipv6Addr::from_bits(u128::from(prefix) << 64))
                    }
                }
                rules.push(address);
            }
            allocated.push(answer);
        }
        Ok((rules, allocated))
    }

    /// Of all PDRs of a session it is the same (5.21.3).
    fn lease(&mut self, network: usize, v6: bool) -> Result<UeAddress, RuleError> {
        let fits = |lease: &&Lease| {
            lease.network == network && matches!(lease.address, UeAddress::V6(_)) == v6
        };
        if let Some(lease) = self.own.iter().chain(&self.taken).find(fits) {
            return Ok(lease.address);
        }
        let lease = self.addresses.take(network, v6).ok_or_else(|| RuleError {
            cause: martlet_pfcp::ie::Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED,
            ..RuleError::no_resources("no UE address is free")
        })?;
        let address = lease.address;
        self.taken.push(lease);
        Ok(address)
    }

    fn network(&self, pdr: u16, instance: Option<&NetworkInstance>) -> Result<usize, RuleError> {
        let pools = &self.settings.pools;
        let found = match instance {
            Some(instance) => {
                let name = instance.name();
                pools.iter().position(|(dnn, _)| dnn.as_bytes().eq_ignore_ascii_case(&name))
            }
            None => (pools.len() == 1).then_some(0),
        };
        found.ok_or_else(|| {
            let why = format!(
                "PDR {pdr} requests a UE address, but no dnns of the UPF with `allocate` matches \
                 its \
                 network"
            );
            RuleError {
                offending: Some(UeIpAddress::TYPE),
                ..RuleError::failure(FailedRuleId::Pdr(pdr), why)
            }
        })
    }

    /// The request is refused.
    pub fn release(self) {
        self.addresses.release(self.taken);
    }

    /// Commits the request: the session's present addresses.
    pub fn keep(self) -> Vec<Lease> {
        let mut all = self.own;
        all.extend(self.taken);
        all.shrink_to_fit();
        all
    }
}
