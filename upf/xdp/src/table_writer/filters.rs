//! SDF filters as the programs read them.
use super::unsupported::Unsupported;
use crate::loader::types::{candidate, filter, filter_flag as f};
use martlet_upf_rules::{Network, SdfRule, Side};
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Limit of candidates of one filter: each has one range of ports.
const MAX_CANDIDATES: usize = 64;
/// As `bpf/structs.h` has them.
pub(super) const GROUP: usize = 7;
const MORE: u32 = 0x4000_0000;
pub(super) const RULE_ASKS: u32 = 0x2000_0000;
/// A packet without ports has this one, which no packet can have.
const NO_PORT: u64 = 0x1_0000;
const GUARD: u64 = 0x8000_0000_8000_0000;

/// A compiled filter: the candidate and its optional further fields.
pub(super) struct Compiled {
    pub candidates: Vec<candidate>,
    pub rest: Option<filter>,
}

/// A candidate that matches any packet.
pub(super) fn any() -> candidate {
    candidate { high: GUARD | NO_PORT << 32 | NO_PORT, ..Default::default() }
}

/// A candidate that matches none: its port range is empty.
pub(super) fn none() -> candidate {
    candidate { low: NO_PORT << 32 | NO_PORT, high: GUARD, ..Default::default() }
}

/// A filter as candidates; the rule's index and the end of the list are left to the caller.
pub(super) fn compile(rule: &SdfRule) -> Result<Compiled, Unsupported> {
    let mut first = any();
    let mut rest = filter::default();
    if let Some(protocol) = rule.protocol {
        first.kind |= 0xff << 16 | u32::from(protocol);
    }
    if let Some([value, mask]) = rule.traffic_class {
        first.kind |= u32::from(mask) << 24 | u32::from(value) << 8;
    }
    match rule.remote.network {
        None => {}
        // IPv4 filters, even for any address, do not match IPv6.
        Some(Network { address: IpAddr::V4(address), prefix, not: false }) if prefix > 0 => {
            first.remote = u32::from_ne_bytes(address.octets());
            first.remote_mask = mask4(prefix);
        }
        Some(network) => {
            (rest.remote, rest.remote_mask) = words(network);
            rest.flags |=
                if network.address.is_ipv4() { f::FILTER_REMOTE4.0 } else { f::FILTER_REMOTE6.0 };
            rest.flags |= if network.not { f::FILTER_REMOTE_NOT.0 } else { 0 };
        }
    }
    if let Some(network) = rule.ue.network {
        (rest.ue, rest.ue_mask) = words(network);
        rest.flags |= if network.address.is_ipv4() { f::FILTER_UE4.0 } else { f::FILTER_UE6.0 };
        rest.flags |= if network.not { f::FILTER_UE_NOT.0 } else { 0 };
    }
    if let Some(spi) = rule.security_parameter_index {
        (rest.spi, rest.flags) = (spi, rest.flags | f::FILTER_SPI.0);
    }
    if let Some(label) = rule.flow_label {
        (rest.label, rest.flags) = (label, rest.flags | f::FILTER_LABEL.0);
    }
    let rest = (rest.flags != 0).then_some(rest);
    if rest.is_some() {
        first.rule |= MORE;
    }
    let mut candidates = Vec::new();
    for remote in ranges(&rule.remote) {
        for ue in ranges(&rule.ue) {
            let mut candidate = first;
            for (range, shift) in [(&remote, 0), (&ue, 32)] {
                if let Some(range) = range {
                    candidate.low |= u64::from(*range.start()) << shift;
                    candidate.high &= !(0x7fff_ffff << shift);
                    candidate.high |= u64::from(*range.end()) << shift;
                }
            }
            candidates.push(candidate);
        }
    }
    if candidates.len() > MAX_CANDIDATES {
        let (count, max) = (candidates.len(), MAX_CANDIDATES);
        return Err(Unsupported::TooManyPorts { count, max });
    }
    Ok(Compiled { candidates, rest })
}

/// The union of the candidates' port ranges, per side.
pub(super) fn span(candidates: &[candidate]) -> (u64, u64) {
    const PORT: u64 = 0x7fff_ffff;
    let (mut low, mut high) = (0, GUARD);
    for shift in [0, 32] {
        let lowest = candidates.iter().map(|c| c.low >> shift & PORT).min().unwrap_or_default();
        let highest = candidates.iter().map(|c| c.high >> shift & PORT).max().unwrap_or_default();
        (low, high) = (low | lowest << shift, high | highest << shift);
    }
    (low, high)
}

/// The port ranges of a side, one of which must match; a single `None` without a condition. Empty
/// ranges never match and are removed, since the programs encode "any" alike.
fn ranges(side: &Side) -> Vec<Option<RangeInclusive<u16>>> {
    match side.ports.as_slice() {
        [] => vec![None],
        ports => ports.iter().filter(|range| !range.is_empty()).cloned().map(Some).collect(),
    }
}

fn mask4(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0).to_be()
}

/// Address and mask as two words each, in the order of their bytes.
fn words(network: Network) -> ([u64; 2], [u64; 2]) {
    match network.address {
        IpAddr::V4(address) => (
            [u64::from(u32::from_ne_bytes(address.octets())), 0],
            [u64::from(mask4(network.prefix)), 0],
        ),
        IpAddr::V6(address) => {
            let split = |bits: u128| [((bits >> 64) as u64).to_be(), (bits as u64).to_be()];
            let mask = u128::MAX.checked_shl(128 - u32::from(network.prefix)).unwrap_or(0);
            (split(address.to_bits()), split(mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::ie::SdfFilter;

    fn of(text: &str) -> Compiled {
        let rule =
            SdfRule::of(&SdfFilter { flow_description: Some(text.into()), ..Default::default() })
                .unwrap();
        compile(&rule).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn ports_become_a_candidate_for_each_pair() {
        let compiled = of("permit out 17 from 8.8.0.0/16 53,1000-2000 to assigned 1-9");
        let ports: Vec<_> = compiled.candidates.iter().map(|c| (c.low, c.high & !GUARD)).collect();
        assert_eq!(ports, [(1 << 32 | 53, 9 << 32 | 53), (1 << 32 | 1000, 9 << 32 | 2000)]);
        assert_eq!(compiled.candidates[0].remote.to_ne_bytes(), [8, 8, 0, 0]);
        assert_eq!(compiled.candidates[0].remote_mask.to_ne_bytes(), [255, 255, 0, 0]);
        assert!(compiled.rest.is_none());
    }

    #[test]
    fn a_group_spans_the_ports_of_its_candidates() {
        let one = of("permit out 17 from any 53 to assigned").candidates[0];
        let two = of("permit out 17 from any 1000-2000 to assigned 7").candidates[0];
        assert_eq!(span(&[one, two]), (53, GUARD | NO_PORT << 32 | 2000));
        assert_eq!(span(&[one, any()]), (0, GUARD | NO_PORT << 32 | NO_PORT));
    }

    #[test]
    fn an_ipv6_network_is_in_the_rest() {
        let compiled = of("permit out ip from 2001:db8::/33 to any");
        let rest = compiled.rest.unwrap();
        assert_eq!(rest.remote_mask[0].to_ne_bytes(), [255, 255, 255, 255, 0x80, 0, 0, 0]);
        assert_eq!(rest.remote[0].to_ne_bytes(), [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0]);
    }
}
