//! Packet filters of QoS rules, in the formats of UE, PCF and UPF (TS 24.501, 9.11.4.13; TS 29.512,
//! 5.6.2.14; TS 29.244, 8.2.5).
use martlet_nas::{QosPacketFilter, QosPacketFilterComponent, QosPacketFilterDirection};
use martlet_pfcp::ie::{CTag, EthernetPacketFilter, Ethertype, MacAddress, STag, SdfFilter, Tag};
use martlet_sbi_api::npcf_sm_policy_control::{
    EthFlowDescription, FlowDirection, FlowInformation, PacketFilterInfo,
};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A packet filter: a downlink `IPFilterRule` (RFC 6733, 4.3.1) and further fields. Field names are
/// part of the stored format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketFilter {
    /// Packet filter identifier at the UE, 1 to 15; 0 for its position in the rule.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub id: u8,
    /// The `IPFilterRule`; empty for a filter of frames.
    pub description: String,
    pub uplink: bool,
    pub downlink: bool,
    /// Type of service or traffic class, and its mask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_class: Option<[u8; 2]>,
    /// Security parameter index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spi: Option<u32>,
    /// IPv6 flow label, 20 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_label: Option<u32>,
    /// Filter of Ethernet frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameFilter>,
}

/// A filter of Ethernet frames, from the UE's point of view: its own address is local.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameFilter {
    pub local: Option<[u8; 6]>,
    pub remote: Option<[u8; 6]>,
    /// `None` matches any.
    pub ethertype: Option<u16>,
    /// VLAN identifiers of C-TAG and S-TAG.
    pub c_vid: Option<u16>,
    pub s_vid: Option<u16>,
    /// Priority code point of the C-TAG.
    pub c_pcp: Option<u8>,
}

fn is_zero(id: &u8) -> bool {
    *id == 0
}

/// Why a packet filter is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilterError(&'static str);

fn error<T>(text: &'static str) -> Result<T, FilterError> {
    Err(FilterError(text))
}

/// An `IPFilterRule` that matches every packet.
const MATCH_ALL: &str = "permit out ip from any to assigned";

impl PacketFilter {
    /// Reads a filter of a PCC rule.
    ///
    /// # Errors
    /// The filter is invalid or not supported.
    pub fn from_policy(info: &FlowInformation) -> Result<PacketFilter, FilterError> {
        if let Some(description) = &info.eth_flow_description {
            return PacketFilter::from_ethernet_policy(info, description);
        }
        let has_other_fields =
            info.tos_traffic_class.is_some() || info.spi.is_some() || info.flow_label.is_some();
        let description = match &info.flow_description {
            Some(description) => description.clone(),
            None if has_other_fields => MATCH_ALL.into(),
            None => return error("no flow description"),
        };
        let (uplink, downlink) = match info.flow_direction {
            Some(FlowDirection::Uplink) => (true, false),
            Some(FlowDirection::Downlink) => (false, true),
            _ => (true, true),
        };
        let hexadecimal = |text: &String| {
            u32::from_str_radix(text, 16).map_err(|_| FilterError("a field is not hexadecimal"))
        };
        let traffic_class = info.tos_traffic_class.as_ref().map(hexadecimal).transpose()?;
        let filter = PacketFilter {
            id: info
                .pack_filt_id
                .as_ref()
                .and_then(|id| id.parse().ok())
                .filter(|id| *id <= 15)
                .unwrap_or(0),
            description,
            uplink,
            downlink,
            traffic_class: traffic_class.map(|both| [(both >> 8) as u8, both as u8]),
            spi: info.spi.as_ref().map(hexadecimal).transpose()?,
            flow_label: info.flow_label.as_ref().map(hexadecimal).transpose()?,
            frame: None,
        };
        filter.components().map(|_| filter)
    }

    /// The filter in a request to the PCF.
    pub fn to_policy(&self) -> PacketFilterInfo {
        let direction = match (self.uplink, self.downlink) {
            (true, false) => FlowDirection::Uplink,
            (false, true) => FlowDirection::Downlink,
            _ => FlowDirection::Bidirectional,
        };
        PacketFilterInfo {
            pack_filt_id: Some(self.id.to_string()),
            pack_filt_cont: Some(self.description.clone()),
            tos_traffic_class: self
                .traffic_class
                .map(|[value, mask]| format!("{value:02x}{mask:02x}")),
            spi: self.spi.map(|spi| format!("{spi:08x}")),
            flow_label: self.flow_label.map(|label| format!("{label:05x}")),
            flow_direction: Some(direction),
        }
    }

    /// The SDF filter for the UPF.
    pub fn to_sdf(&self) -> SdfFilter {
        SdfFilter {
            flow_description: Some(self.description.clone()),
            tos_traffic_class: self.traffic_class,
            security_parameter_index: self.spi,
            flow_label: self.flow_label.map(|label| {
                let [_, a, b, c] = label.to_be_bytes();
                [a, b, c]
            }),
            filter_id: None,
        }
    }

    /// The packet filter for the UE, whose remote side is the source of the `IPFilterRule`.
    /// `position` is its position in the rule, from 1.
    pub fn to_nas(&self, position: u8) -> QosPacketFilter {
        let direction = match (self.uplink, self.downlink) {
            (true, false) => QosPacketFilterDirection::Uplink,
            (false, true) => QosPacketFilterDirection::Downlink,
            _ => QosPacketFilterDirection::Bidirectional,
        };
        // Its components were valid when the filter was made.
        let components =
            self.components().unwrap_or_else(|_| vec![QosPacketFilterComponent::MatchAll]);
        QosPacketFilter::Match {
            direction,
            identifier: if self.id > 0 { self.id } else { position },
            components,
        }
    }

    /// Parses an Ethernet filter. Its addresses are those of downlink frames unless it states
    /// otherwise.
    fn from_ethernet_policy(
        info: &FlowInformation,
        description: &EthFlowDescription,
    ) -> Result<PacketFilter, FilterError> {
        let address = |text: &Option<String>| text.as_deref().map(mac).transpose();
        let (from, to) =
            (address(&description.source_mac_addr)?, address(&description.dest_mac_addr)?);
        if description.src_mac_addr_end.is_some() || description.dest_mac_addr_end.is_some() {
            return error("ranges of MAC addresses are not supported");
        }
        if description.f_desc.is_some() {
            return error("IP filters of frames are not supported");
        }
        let up = description.f_dir == Some(FlowDirection::Uplink);
        let (local, remote) = if up { (from, to) } else { (to, from) };
        let number = |text: &str| {
            u16::from_str_radix(text.trim_start_matches("0x"), 16)
                .map_err(|_| FilterError("an Ethertype or VLAN tag is not hexadecimal"))
        };
        let tags: Vec<u16> = description
            .vlan_tags
            .iter()
            .flatten()
            .map(|tag| number(tag))
            .collect::<Result<_, _>>()?;
        let ethertype = match description.eth_type.as_str() {
            "" => None,
            text => Some(number(text)?),
        };
        let vid = |n: usize| tags.get(n).map(|tag| tag & 0x0fff);
        let c_pcp = tags.first().map(|tag| (tag >> 13) as u8).filter(|pcp| *pcp > 0);
        let frame = FrameFilter { local, remote, ethertype, c_vid: vid(0), s_vid: vid(1), c_pcp };
        let (uplink, downlink) = match info.flow_direction {
            Some(FlowDirection::Uplink) => (true, false),
            Some(FlowDirection::Downlink) => (false, true),
            _ => (true, true),
        };
        Ok(PacketFilter { uplink, downlink, frame: Some(frame), ..PacketFilter::default() })
    }

    /// The Ethernet packet filter for the UPF, in one direction.
    pub fn to_ethernet(&self, uplink: bool) -> Option<EthernetPacketFilter> {
        let frame = self.frame?;
        let (source, destination) =
            if uplink { (frame.local, frame.remote) } else { (frame.remote, frame.local) };
        let addresses = MacAddress { source, destination, ..MacAddress::default() };
        let tag = Tag { pcp: frame.c_pcp, dei: None, vid: frame.c_vid };
        Some(EthernetPacketFilter {
            filter_id: None,
            properties: None,
            mac_addresses: if addresses == MacAddress::default() {
                vec![]
            } else {
                vec![addresses]
            },
            ethertype: frame.ethertype.map(Ethertype),
            c_tag: (tag != Tag::default()).then_some(CTag(tag)),
            s_tag: frame.s_vid.map(|vid| STag(Tag { vid: Some(vid), ..Tag::default() })),
            sdf_filters: vec![],
        })
    }

    /// The components for the UE. An `IPFilterRule` reads `permit out PROTOCOL from SOURCE [PORTS]
    /// to DESTINATION [PORTS]` (RFC 6733, 4.3.1; TS 29.212, 5.4.2).
    ///
    /// # Errors
    /// The `IPFilterRule` is invalid or not supported.
    pub fn components(&self) -> Result<Vec<QosPacketFilterComponent>, FilterError> {
        use QosPacketFilterComponent::*;
        if let Some(frame) = &self.frame {
            let all: Vec<_> = [
                frame.remote.map(DestinationMacAddress),
                frame.local.map(SourceMacAddress),
                frame.c_vid.map(CTagVid),
                frame.s_vid.map(STagVid),
                frame.c_pcp.map(|pcp| CTagPcpDei {
                    pcp_present: true,
                    dei_present: false,
                    pcp,
                    dei: false,
                }),
                frame.ethertype.map(QosPacketFilterComponent::Ethertype),
            ]
            .into_iter()
            .flatten()
            .collect();
            return Ok(if all.is_empty() { vec![MatchAll] } else { all });
        }
        let words: Vec<&str> = self.description.split_ascii_whitespace().collect();
        let [_, _, protocol, "from", rest @ ..] = words.as_slice() else {
            return error("the flow description is not an IPFilterRule");
        };
        if words[0] != "permit" || words[1] != "out" {
            return error("the flow description does not begin with permit out");
        }
        let to = rest
            .iter()
            .position(|word| *word == "to")
            .ok_or(FilterError("the flow description has no destination"))?;
        let (source, destination) = (&rest[..to], &rest[to + 1..]);
        let mut all = Vec::new();
        for (side, remote) in [(source, true), (destination, false)] {
            let (address, ports) = match side {
                [address] => (*address, None),
                [address, ports] => (*address, Some(*ports)),
                _ => return error("a side of the flow description is not an address with ports"),
            };
            if !matches!(address, "any" | "assigned") {
                all.push(network(address, remote)?);
            }
            if let Some(ports) = ports {
                all.push(range(ports, remote)?);
            }
        }
        if *protocol != "ip" {
            let number =
                protocol.parse().map_err(|_| FilterError("the protocol is not a number or ip"))?;
            all.push(ProtocolIdentifierOrNextHeader(number));
        }
        all.extend(
            self.traffic_class.map(|[value, mask]| TypeOfServiceOrTrafficClass { value, mask }),
        );
        all.extend(self.spi.map(SecurityParameterIndex));
        all.extend(self.flow_label.map(|label| {
            let [_, a, b, c] = label.to_be_bytes();
            FlowLabel([a, b, c])
        }));
        Ok(if all.is_empty() { vec![MatchAll] } else { all })
    }

    /// Makes a filter of the components that a UE requests, with a new identifier.
    ///
    /// # Errors
    /// The components are contradictory, or have no equivalent in a request to the PCF.
    pub fn from_nas(
        direction: QosPacketFilterDirection,
        components: &[QosPacketFilterComponent],
        id: u8,
    ) -> Result<PacketFilter, FilterError> {
        use QosPacketFilterComponent as C;
        let (uplink, downlink) = match direction {
            QosPacketFilterDirection::Uplink => (true, false),
            QosPacketFilterDirection::Downlink => (false, true),
            QosPacketFilterDirection::Bidirectional => (true, true),
            _ => return error("no direction"),
        };
        let mut filter = PacketFilter { id, uplink, downlink, ..PacketFilter::default() };
        let (mut remote, mut local, mut protocol) = (None, None, None);
        let (mut remote_ports, mut local_ports) = (None, None);
        let mut is_unique = true;
        fn put<T>(slot: &mut Option<T>, value: T, is_unique: &mut bool) {
            *is_unique &= slot.replace(value).is_none();
        }
        for component in components {
            match component {
                C::MatchAll => is_unique &= components.len() == 1,
                C::Ipv4RemoteAddress { address, mask } => {
                    put(&mut remote, ipv4(*address, *mask)?, &mut is_unique)
                }
                C::Ipv4LocalAddress { address, mask } => {
                    put(&mut local, ipv4(*address, *mask)?, &mut is_unique)
                }
                C::Ipv6RemoteAddressPrefix { address, prefix_length } => {
                    put(&mut remote, ipv6(*address, *prefix_length)?, &mut is_unique);
                }
                C::Ipv6LocalAddressPrefix { address, prefix_length } => {
                    put(&mut local, ipv6(*address, *prefix_length)?, &mut is_unique);
                }
                C::ProtocolIdentifierOrNextHeader(number) => {
                    put(&mut protocol, *number, &mut is_unique)
                }
                C::SingleLocalPort(port) => put(&mut local_ports, port.to_string(), &mut is_unique),
                C::SingleRemotePort(port) => {
                    put(&mut remote_ports, port.to_string(), &mut is_unique)
                }
                C::LocalPortRange { low, high } => {
                    put(&mut local_ports, ports(*low, *high)?, &mut is_unique)
                }
                C::RemotePortRange { low, high } => {
                    put(&mut remote_ports, ports(*low, *high)?, &mut is_unique)
                }
                C::SecurityParameterIndex(spi) => put(&mut filter.spi, *spi, &mut is_unique),
                C::TypeOfServiceOrTrafficClass { value, mask } => {
                    put(&mut filter.traffic_class, [*value, *mask], &mut is_unique);
                }
                C::FlowLabel([a, b, c]) => {
                    put(
                        &mut filter.flow_label,
                        u32::from_be_bytes([0, a & 0x0f, *b, *c]),
                        &mut is_unique,
                    );
                }
                _ => return error("a component has no equivalent in a policy for IP"),
            }
        }
        if components.is_empty() || !is_unique {
            return error("no components, or one of them twice");
        }
        let v6 = |side: &Option<String>| side.as_ref().map(|text| text.contains(':'));
        if let (Some(remote), Some(local)) = (v6(&remote), v6(&local))
            && remote != local
        {
            return error("addresses of two IP versions");
        }
        let side = |address: Option<String>, any: &str, ports: Option<String>| {
            let address = address.unwrap_or_else(|| any.to_string());
            ports.map_or_else(|| address.clone(), |ports| format!("{address} {ports}"))
        };
        let protocol = protocol.map_or_else(|| "ip".to_string(), |number| number.to_string());
        let (remote, local) =
            (side(remote, "any", remote_ports), side(local, "assigned", local_ports));
        filter.description = format!("permit out {protocol} from {remote} to {local}");
        Ok(filter)
    }
}

/// Reads a MAC address such as `02-00-00-00-00-01`, also with colons.
fn mac(text: &str) -> Result<[u8; 6], FilterError> {
    let bytes: Option<Vec<u8>> =
        text.split(['-', ':']).map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or(FilterError("invalid MAC address"))
}

fn ipv4(address: [u8; 4], mask: [u8; 4]) -> Result<String, FilterError> {
    let (address, mask) = (u32::from_be_bytes(address), u32::from_be_bytes(mask));
    if mask.leading_ones() + mask.trailing_zeros() < 32 {
        return error("the address mask is not a prefix");
    }
    Ok(format!("{}/{}", Ipv4Addr::from(address & mask), mask.leading_ones()))
}

fn ipv6(address: [u8; 16], length: u8) -> Result<String, FilterError> {
    match length <= 128 {
        true => Ok(format!("{}/{length}", Ipv6Addr::from(address))),
        false => error("the prefix is longer than 128 bits"),
    }
}

fn ports(low: u16, high: u16) -> Result<String, FilterError> {
    if low > high {
        error("the port range ends before it begins")
    } else {
        Ok(format!("{low}-{high}"))
    }
}

fn network(text: &str, remote: bool) -> Result<QosPacketFilterComponent, FilterError> {
    use QosPacketFilterComponent::*;
    let wrong = FilterError("invalid IP address");
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let length: Option<u8> = length.map(|text| text.parse().map_err(|_| wrong)).transpose()?;
    Ok(match address.parse::<IpAddr>().map_err(|_| wrong)? {
        IpAddr::V4(ip) => {
            let length = length.unwrap_or(32);
            if length > 32 {
                return Err(wrong);
            }
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0).to_be_bytes();
            match remote {
                true => Ipv4RemoteAddress { address: ip.octets(), mask },
                false => Ipv4LocalAddress { address: ip.octets(), mask },
            }
        }
        IpAddr::V6(ip) => {
            let (address, prefix_length) = (ip.octets(), length.unwrap_or(128));
            if prefix_length > 128 {
                return Err(wrong);
            }
            match remote {
                true => Ipv6RemoteAddressPrefix { address, prefix_length },
                false => Ipv6LocalAddressPrefix { address, prefix_length },
            }
        }
    })
}

fn range(text: &str, remote: bool) -> Result<QosPacketFilterComponent, FilterError> {
    use QosPacketFilterComponent::*;
    let port = |text: &str| {
        text.parse::<u16>()
            .map_err(|_| FilterError("a port is not a number up to 65535, or not a range"))
    };
    Ok(match (text.split_once('-'), remote) {
        (Some((low, high)), true) => RemotePortRange { low: port(low)?, high: port(high)? },
        (Some((low, high)), false) => LocalPortRange { low: port(low)?, high: port(high)? },
        (None, true) => SingleRemotePort(port(text)?),
        (None, false) => SingleLocalPort(port(text)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_the_ue_is_unchanged_after_the_pcf_has_granted_it() {
        use QosPacketFilterComponent::*;
        let both = QosPacketFilterDirection::Bidirectional;
        let back = |components: &[QosPacketFilterComponent]| {
            let filter = PacketFilter::from_nas(both, components, 3)?;
            let asked = filter.to_policy();
            let info = FlowInformation {
                flow_description: asked.pack_filt_cont,
                pack_filt_id: asked.pack_filt_id,
                tos_traffic_class: asked.tos_traffic_class,
                spi: asked.spi,
                flow_label: asked.flow_label,
                flow_direction: asked.flow_direction,
                ..Default::default()
            };
            assert_eq!(PacketFilter::from_policy(&info).as_ref(), Ok(&filter));
            match filter.to_nas(1) {
                QosPacketFilter::Match { components, identifier: 3, .. } => {
                    Ok::<_, FilterError>(components)
                }
                other => panic!("{other:?}"),
            }
        };
        for same in [
            vec![MatchAll],
            vec![SingleRemotePort(53), ProtocolIdentifierOrNextHeader(17)],
            vec![
                Ipv4RemoteAddress { address: [10, 1, 0, 0], mask: [255, 255, 0, 0] },
                RemotePortRange { low: 1, high: 9 },
                Ipv4LocalAddress { address: [10, 45, 0, 2], mask: [255; 4] },
                SingleLocalPort(7),
                TypeOfServiceOrTrafficClass { value: 0xb8, mask: 0xfc },
            ],
            vec![SecurityParameterIndex(0x1234_5678), FlowLabel([0x0f, 1, 2])],
        ] {
            assert_eq!(back(&same).unwrap(), same);
        }
        for wrong in [
            vec![],
            vec![MatchAll, SingleLocalPort(1)],
            vec![SingleLocalPort(1), LocalPortRange { low: 1, high: 2 }],
            vec![RemotePortRange { low: 2, high: 1 }],
            vec![Ipv4RemoteAddress { address: [10, 1, 0, 0], mask: [255, 0, 255, 0] }],
            vec![Ethertype(0x88f7)],
        ] {
            assert!(back(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn ip_filter_rules_become_components_for_the_ue() {
        use QosPacketFilterComponent::*;
        let read = |text: &str| {
            PacketFilter {
                description: text.into(),
                uplink: true,
                downlink: true,
                ..PacketFilter::default()
            }
            .components()
        };
        assert_eq!(read("permit out ip from any to assigned").unwrap(), [MatchAll]);
        assert_eq!(
            read("permit out 17 from 10.1.0.0/16 53 to assigned 1000-2000").unwrap(),
            [
                Ipv4RemoteAddress { address: [10, 1, 0, 0], mask: [255, 255, 0, 0] },
                SingleRemotePort(53),
                LocalPortRange { low: 1000, high: 2000 },
                ProtocolIdentifierOrNextHeader(17)
            ]
        );
        for wrong in [
            "",
            "permit in ip from any to any",
            "permit out ip from any",
            "permit out tcp from any to any",
            "permit out ip from 10.0.0.0/33 to any",
            "permit out ip from any 70000 to any",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
