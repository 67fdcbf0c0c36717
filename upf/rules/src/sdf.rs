//! SDF filters: an `IPFilterRule` of RFC 6733, 4.3.1, as restricted by TS 29.212, 5.4.2, with the
//! other fields of TS 29.244, 8.2.5.
use super::{Direction, Flow};
use martlet_pfcp::ie::SdfFilter;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Protocols that some CP functions write by name. RFC 6733 has `ip` and numbers alone.
const NAMES: [(&str, u8); 6] =
    [("icmp", 1), ("tcp", 6), ("udp", 17), ("esp", 50), ("ipv6-icmp", 58), ("sctp", 132)];

/// Port ranges of one side of a rule.
const MAX_PORTS: usize = 16;

/// A rejected flow description, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the flow description {text:?} {fault}")]
pub struct SdfRuleError {
    text: String,
    fault: SdfFault,
}

/// What is wrong with a flow description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum SdfFault {
    #[error("does not begin with `permit`")]
    NoPermit,
    #[error("is not for direction `out`")]
    NotOut,
    #[error("names a protocol that is neither `ip` nor a number")]
    UnknownProtocol,
    #[error("ends before the protocol")]
    NoProtocol,
    #[error("has no `from` after the protocol")]
    NoFrom,
    #[error("has no `to`")]
    NoTo,
    #[error("lacks an address")]
    NoAddress,
    #[error("has options, which TS 29.212 does not allow")]
    Options,
    #[error("has an invalid address")]
    InvalidAddress,
    #[error("has a prefix length that is no number")]
    InvalidPrefix,
    #[error("has a prefix length beyond its address")]
    LongPrefix,
    #[error("has a port that is no number")]
    InvalidPort,
    #[error("has a range of ports that ends before it begins")]
    ReversedPorts,
    #[error("lists too many ports")]
    TooManyPorts,
}

/// A filter for packets of a service data flow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct SdfRule {
    /// IP protocol.
    pub protocol: Option<u8>,
    /// The data network's side.
    pub remote: Side,
    /// The UE's side.
    pub ue: Side,
    /// Type of service or traffic class: its value, and the mask of the bits that count.
    pub traffic_class: Option<[u8; 2]>,
    /// Security parameter index of IPsec.
    pub security_parameter_index: Option<u32>,
    /// Flow label of IPv6.
    pub flow_label: Option<u32>,
}

/// Address and ports of one side.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Side {
    /// `None` for `any` and `assigned`: the UE's own address is matched through the PDI.
    pub network: Option<Network>,
    /// Empty for all.
    pub ports: Vec<RangeInclusive<u16>>,
}

/// A network of a flow description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    /// Its address.
    pub address: IpAddr,
    /// Length of its prefix in bits.
    pub prefix: u8,
    /// Matches addresses outside of it.
    pub not: bool,
}

impl SdfRule {
    /// Parses the IE. A filter with an ID only refers to the filter with that ID in the session,
    /// which the caller looks up.
    pub fn of(filter: &SdfFilter) -> Result<SdfRule, SdfRuleError> {
        Self::read(filter, false)
    }

    /// The same for a filter that may have the name of a protocol
    /// ([`names_protocol`](Self::names_protocol)).
    pub fn tolerant(filter: &SdfFilter) -> Result<SdfRule, SdfRuleError> {
        Self::read(filter, true)
    }

    /// Whether a filter has the name of a protocol in place of its number, such as `udp`.
    pub fn names_protocol(filter: &SdfFilter) -> bool {
        let text = filter.flow_description.as_deref().unwrap_or_default();
        text.split_whitespace().nth(2).is_some_and(|word| number_of(word).is_some())
    }

    fn read(filter: &SdfFilter, takes_names: bool) -> Result<SdfRule, SdfRuleError> {
        let mut rule = match &filter.flow_description {
            Some(text) => parse(text, takes_names)?,
            None => SdfRule::default(),
        };
        rule.traffic_class = filter.tos_traffic_class;
        rule.security_parameter_index = filter.security_parameter_index;
        rule.flow_label =
            filter.flow_label.map(|[a, b, c]| u32::from_be_bytes([0, a & 0x0f, b, c]));
        Ok(rule)
    }

    /// Whether a packet belongs to the flow. The description is written for the downlink; an uplink
    /// packet is matched with its sides exchanged.
    pub fn matches(&self, flow: &Flow, direction: Direction) -> bool {
        let ports = flow
            .ports
            .map_or((None, None), |(source, destination)| (Some(source), Some(destination)));
        let (remote, ue) = match direction {
            Direction::Downlink => ((flow.source, ports.0), (flow.destination, ports.1)),
            Direction::Uplink => ((flow.destination, ports.1), (flow.source, ports.0)),
        };
        self.protocol.is_none_or(|protocol| protocol == flow.protocol)
            && self.remote.matches(remote)
            && self.ue.matches(ue)
            && self
                .traffic_class
                .is_none_or(|[value, mask]| flow.traffic_class & mask == value & mask)
            && (self.security_parameter_index.is_none()
                || self.security_parameter_index == flow.security_parameter_index)
            && (self.flow_label.is_none() || self.flow_label == flow.flow_label)
    }
}

impl Side {
    fn matches(&self, (address, port): (IpAddr, Option<u16>)) -> bool {
        let in_network =
            self.network.is_none_or(|network| network.contains(address) != network.not);
        // A packet without ports, such as a later fragment, matches no filter with ports.
        in_network
            && (self.ports.is_empty()
                || port.is_some_and(|p| self.ports.iter().any(|range| range.contains(&p))))
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

/// The number of a protocol in [`NAMES`].
fn number_of(word: &str) -> Option<u8> {
    NAMES.iter().find(|(name, _)| *name == word).map(|(_, number)| *number)
}

fn parse(text: &str, takes_names: bool) -> Result<SdfRule, SdfRuleError> {
    let wrong = |fault| SdfRuleError { text: text.chars().take(200).collect(), fault };
    let mut words = text.split_whitespace().peekable();
    let mut next = || words.next();
    if next() != Some("permit") {
        return Err(wrong(SdfFault::NoPermit));
    }
    if next() != Some("out") {
        return Err(wrong(SdfFault::NotOut));
    }
    let protocol = match next() {
        Some("ip") => None,
        Some(word) => {
            let named = number_of(word).filter(|_| takes_names);
            let number = named.or_else(|| word.parse().ok());
            Some(number.ok_or(wrong(SdfFault::UnknownProtocol))?)
        }
        None => return Err(wrong(SdfFault::NoProtocol)),
    };
    if next() != Some("from") {
        return Err(wrong(SdfFault::NoFrom));
    }
    let rest: Vec<&str> = words.collect();
    let to = rest.iter().position(|word| *word == "to").ok_or(wrong(SdfFault::NoTo))?;
    let (from, to) = (rest.get(..to).unwrap_or_default(), rest.get(to + 1..).unwrap_or_default());
    let side = |words: &[&str]| match words {
        [address] => Ok(Side { network: network(address).map_err(wrong)?, ports: Vec::new() }),
        [address, ports] => Ok(Side {
            network: network(address).map_err(wrong)?,
            ports: port_list(ports).map_err(wrong)?,
        }),
        [] => Err(wrong(SdfFault::NoAddress)),
        _ => Err(wrong(SdfFault::Options)),
    };
    Ok(SdfRule { protocol, remote: side(from)?, ue: side(to)?, ..SdfRule::default() })
}

fn network(text: &str) -> Result<Option<Network>, SdfFault> {
    if text == "any" || text == "assigned" {
        return Ok(None);
    }
    let (not, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| SdfFault::InvalidAddress)?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.map_or(Ok(max), str::parse).map_err(|_| SdfFault::InvalidPrefix)?;
    if prefix > max {
        return Err(SdfFault::LongPrefix);
    }
    Ok(Some(Network { address, prefix, not }))
}

fn port_list(text: &str) -> Result<Vec<RangeInclusive<u16>>, SdfFault> {
    let port = |text: &str| text.parse::<u16>().map_err(|_| SdfFault::InvalidPort);
    let range = |text: &str| match text.split_once('-') {
        Some((low, high)) => match (port(low)?, port(high)?) {
            (low, high) if low > high => Err(SdfFault::ReversedPorts),
            (low, high) => Ok(low..=high),
        },
        None => port(text).map(|port| port..=port),
    };
    let ranges: Vec<_> =
        text.split(',').take(MAX_PORTS + 1).map(range).collect::<Result<_, _>>()?;
    if ranges.len() > MAX_PORTS { Err(SdfFault::TooManyPorts) } else { Ok(ranges) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(text: &str) -> Result<SdfRule, SdfRuleError> {
        SdfRule::of(&SdfFilter { flow_description: Some(text.into()), ..Default::default() })
    }

    fn flow(
        source: [u8; 4],
        destination: [u8; 4],
        protocol: u8,
        ports: Option<(u16, u16)>,
    ) -> Flow {
        Flow {
            source: source.into(),
            destination: destination.into(),
            protocol,
            ports,
            traffic_class: 0,
            security_parameter_index: None,
            flow_label: None,
            length: 100,
            ethernet: None,
            fragment: None,
        }
    }

    #[test]
    fn a_rule_is_written_for_the_downlink_and_turned_for_the_uplink() {
        let rule = rule("permit out 17 from 8.8.0.0/16 53,1000-2000 to assigned").unwrap();
        let down = flow([8, 8, 4, 4], [10, 45, 0, 2], 17, Some((53, 40000)));
        assert!(rule.matches(&down, Direction::Downlink));
        assert!(!rule.matches(&down, Direction::Uplink));
        let up = flow([10, 45, 0, 2], [8, 8, 4, 4], 17, Some((40000, 1500)));
        assert!(rule.matches(&up, Direction::Uplink));
        assert!(
            !rule
                .matches(&flow([10, 45, 0, 2], [8, 9, 4, 4], 17, Some((4, 53))), Direction::Uplink)
        );
        assert!(
            !rule.matches(&flow([10, 45, 0, 2], [8, 8, 4, 4], 6, Some((4, 53))), Direction::Uplink)
        );
        assert!(
            !rule
                .matches(&flow([10, 45, 0, 2], [8, 8, 4, 4], 17, Some((4, 54))), Direction::Uplink)
        );
        // A later fragment has no ports.
        assert!(!rule.matches(&flow([10, 45, 0, 2], [8, 8, 4, 4], 17, None), Direction::Uplink));
    }

    #[test]
    fn any_matches_all_and_not_excludes() {
        let any = rule("permit out ip from any to assigned").unwrap();
        assert!(any.matches(&flow([1, 2, 3, 4], [10, 45, 0, 2], 1, None), Direction::Downlink));
        let not = rule("permit out ip from !1.2.3.0/24 to any").unwrap();
        assert!(!not.matches(&flow([1, 2, 3, 4], [10, 45, 0, 2], 1, None), Direction::Downlink));
        assert!(not.matches(&flow([1, 2, 4, 4], [10, 45, 0, 2], 1, None), Direction::Downlink));
        let all = rule("permit out ip from 0.0.0.0/0 to any").unwrap();
        assert!(all.matches(&flow([1, 2, 3, 4], [10, 45, 0, 2], 1, None), Direction::Downlink));
    }

    #[test]
    fn invalid_filters_are_reported() {
        for (text, why) in [
            ("deny out ip from any to assigned", "does not begin with `permit`"),
            ("permit in ip from any to assigned", "is not for direction `out`"),
            (
                "permit out tcp from any to assigned",
                "names a protocol that is neither `ip` nor a number",
            ),
            ("permit out ip from any", "has no `to`"),
            ("permit out ip from 1.2.3.4/33 to any", "has a prefix length beyond its address"),
            ("permit out ip from any 99999 to any", "has a port that is no number"),
            (
                "permit out 17 from any 2000-1000 to assigned",
                "has a range of ports that ends before it begins",
            ),
            (
                "permit out ip from any to any 1 established",
                "has options, which TS 29.212 does not allow",
            ),
        ] {
            assert_eq!(rule(text).unwrap_err().fault.to_string(), why, "{text}");
        }
    }

    /// As pfcpsim and operators of Open5GS write them.
    #[test]
    fn a_protocol_may_be_named_where_that_is_tolerated() {
        let filter =
            |text: &str| SdfFilter { flow_description: Some(text.into()), ..SdfFilter::default() };
        for (named, numbered) in [
            (
                "permit out udp from 10.0.0.0/8 to assigned 80-88",
                "permit out 17 from 10.0.0.0/8 to assigned 80-88",
            ),
            ("permit out icmp from any to assigned", "permit out 1 from any to assigned"),
        ] {
            assert_eq!(SdfRule::tolerant(&filter(named)), rule(numbered));
            assert!(SdfRule::names_protocol(&filter(named)) && rule(named).is_err());
            assert!(!SdfRule::names_protocol(&filter(numbered)));
        }
        assert!(SdfRule::tolerant(&filter("permit out egp from any to assigned")).is_err());
        assert!(!SdfRule::names_protocol(&filter("permit out ip from any to assigned")));
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "(permit out )?.*") {
            let _ = rule(&text);
        }
    }
}
