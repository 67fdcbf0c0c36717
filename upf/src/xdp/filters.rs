//! SDF filters as the programs read them.
use crate::rules::{Direction, Network, SdfRule, Side};
use martlet_upf_xdp::types::{candidate, filter, filter_flag as f, match_flag as m};
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Candidates that one filter may become: it has a range of ports each.
const MOST: usize = 64;

/// A filter: what is compared first, and the seldom asked rest, if there is any.
pub(super) struct Compiled {
    pub candidates: Vec<candidate>,
    pub rest: Option<filter>,
}

fn flag(of: m) -> u8 {
    of.0 as u8
}

/// A candidate that takes any packet.
pub(super) fn any(direction: Direction) -> candidate {
    candidate { up: u32::from(direction == Direction::Uplink), ..Default::default() }
}

/// A filter as candidates; the rule's index, the index of the rest and the end of the list are left to the caller.
pub(super) fn compile(rule: &SdfRule, direction: Direction) -> Result<Compiled, String> {
    let mut first = any(direction);
    let mut rest = filter::default();
    if let Some(protocol) = rule.protocol {
        (first.protocol, first.flags) = (protocol, first.flags | flag(m::MATCH_PROTOCOL));
    }
    if let Some([value, mask]) = rule.traffic_class {
        (first.tos, first.tos_mask, first.flags) = (value, mask, first.flags | flag(m::MATCH_TOS));
    }
    match rule.remote.network {
        None => {}
        Some(Network { address: IpAddr::V4(address), prefix, not }) => {
            first.remote = u32::from_ne_bytes(address.octets());
            first.remote_mask = mask4(prefix);
            first.flags |= flag(m::MATCH_REMOTE) | if not { flag(m::MATCH_NOT) } else { 0 };
        }
        Some(network) => {
            (rest.remote, rest.remote_mask) = words(network);
            rest.flags |= f::FILTER_REMOTE6.0 | if network.not { f::FILTER_REMOTE_NOT.0 } else { 0 };
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
        first.flags |= flag(m::MATCH_MORE);
    }
    let mut candidates = Vec::new();
    for remote in ranges(&rule.remote) {
        for ue in ranges(&rule.ue) {
            let mut candidate = first;
            if let Some(range) = &remote {
                (candidate.remote_low, candidate.remote_high) = (*range.start(), *range.end());
                candidate.flags |= flag(m::MATCH_REMOTE_PORT);
            }
            if let Some(range) = &ue {
                (candidate.ue_low, candidate.ue_high) = (*range.start(), *range.end());
                candidate.flags |= flag(m::MATCH_UE_PORT);
            }
            candidates.push(candidate);
        }
    }
    if candidates.len() > MOST {
        return Err(format!("has an SDF filter with {} combinations of ports; {MOST} are possible", candidates.len()));
    }
    Ok(Compiled { candidates, rest })
}

/// The port ranges that a side asks for, of which one has to match; one `None` where it asks for none. Empty ranges
/// match nothing, and a program would take them for others.
fn ranges(side: &Side) -> Vec<Option<RangeInclusive<u16>>> {
    match side.ports.as_slice() {
        [] => vec![None],
        ports => ports.iter().filter(|range| !range.is_empty()).cloned().map(Some).collect(),
    }
}

fn mask4(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0).to_be()
}

/// Address and mask as two words each, in the order of their octets.
fn words(network: Network) -> ([u64; 2], [u64; 2]) {
    match network.address {
        IpAddr::V4(address) => {
            ([u64::from(u32::from_ne_bytes(address.octets())), 0], [u64::from(mask4(network.prefix)), 0])
        }
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
        let rule = SdfRule::of(&SdfFilter { flow_description: Some(text.into()), ..Default::default() }).unwrap();
        compile(&rule, Direction::Downlink).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn ports_become_a_candidate_for_each_pair() {
        let compiled = of("permit out 17 from 8.8.0.0/16 53,1000-2000 to assigned 1-9");
        let ports: Vec<_> =
            compiled.candidates.iter().map(|c| (c.remote_low, c.remote_high, c.ue_low, c.ue_high)).collect();
        assert_eq!(ports, [(53, 53, 1, 9), (1000, 2000, 1, 9)]);
        assert_eq!(compiled.candidates[0].remote.to_ne_bytes(), [8, 8, 0, 0]);
        assert_eq!(compiled.candidates[0].remote_mask.to_ne_bytes(), [255, 255, 0, 0]);
        assert!(compiled.rest.is_none());
    }

    #[test]
    fn an_ipv6_network_is_in_the_rest() {
        let compiled = of("permit out ip from 2001:db8::/33 to any");
        let rest = compiled.rest.unwrap();
        assert_eq!(rest.remote_mask[0].to_ne_bytes(), [255, 255, 255, 255, 0x80, 0, 0, 0]);
        assert_eq!(rest.remote[0].to_ne_bytes(), [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0]);
    }
}
