//! Elements of forwarding beyond tunnels: marking, policies, redirection and duplication.
use super::address::Reader;
use super::{DestinationInterface, OuterHeaderCreation};
use crate::grouped::group;
use crate::{DecodeError, IeValue};

/// Transport Level Marking: the type of service, or traffic class, of the outer header, and the
/// mask of its bits that count (8.2.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TransportLevelMarking {
    /// Type of service, with the DSCP in the high 6 bits.
    pub traffic_class: u8,
    /// Bits of it that count: 0xfc.
    pub mask: u8,
}

impl IeValue for TransportLevelMarking {
    const TYPE: u16 = 30;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        Ok(TransportLevelMarking { traffic_class: reader.u8()?, mask: reader.u8()? })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.traffic_class, self.mask]);
    }
}

/// The identifier of a forwarding policy that the UP function has (8.2.23).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ForwardingPolicy(pub Vec<u8>);

impl ForwardingPolicy {
    /// From text.
    pub fn new(text: &str) -> Self {
        ForwardingPolicy(text.as_bytes().to_vec())
    }
}

impl IeValue for ForwardingPolicy {
    const TYPE: u16 = 41;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let length = reader.u8()?;
        Ok(ForwardingPolicy(reader.take(length.into())?.to_vec()))
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let text = self.0.get(..255).unwrap_or(&self.0);
        out.push(text.len() as u8);
        out.extend(text);
    }
}

/// Where a redirection leads (8.2.20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RedirectAddressType {
    /// An IPv4 address.
    #[default]
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// A URL.
    Url,
    /// A SIP URI.
    SipUri,
    /// An IPv4 address, and an IPv6 address as the other one.
    Ipv4AndIpv6,
    /// Another value, 4 bits.
    Other(u8),
}

impl From<u8> for RedirectAddressType {
    fn from(value: u8) -> Self {
        match value & 0x0f {
            0 => RedirectAddressType::Ipv4,
            1 => RedirectAddressType::Ipv6,
            2 => RedirectAddressType::Url,
            3 => RedirectAddressType::SipUri,
            4 => RedirectAddressType::Ipv4AndIpv6,
            other => RedirectAddressType::Other(other),
        }
    }
}

impl From<RedirectAddressType> for u8 {
    fn from(kind: RedirectAddressType) -> u8 {
        match kind {
            RedirectAddressType::Ipv4 => 0,
            RedirectAddressType::Ipv6 => 1,
            RedirectAddressType::Url => 2,
            RedirectAddressType::SipUri => 3,
            RedirectAddressType::Ipv4AndIpv6 => 4,
            RedirectAddressType::Other(other) => other & 0x0f,
        }
    }
}

/// Where traffic is redirected (8.2.20).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RedirectInformation {
    /// What the address is.
    pub kind: RedirectAddressType,
    /// The address, as text.
    pub address: Vec<u8>,
    /// The IPv6 address, where it leads to both.
    pub other: Option<Vec<u8>>,
}

impl IeValue for RedirectInformation {
    const TYPE: u16 = 38;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let kind = RedirectAddressType::from(reader.u8()?);
        let length = reader.u16()?;
        let address = reader.take(length.into())?.to_vec();
        let other = match kind {
            RedirectAddressType::Ipv4AndIpv6 => {
                let length = reader.u16()?;
                Some(reader.take(length.into())?.to_vec())
            }
            _ => None,
        };
        Ok(RedirectInformation { kind, address, other })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.kind.into());
        let other = self.other.iter().filter(|_| self.kind == RedirectAddressType::Ipv4AndIpv6);
        for text in std::iter::once(&self.address).chain(other) {
            let text = text.get(..4096).unwrap_or(text);
            out.extend((text.len() as u16).to_be_bytes());
            out.extend(text);
        }
    }
}

/// Maximum number of packets in a span of time, for each direction: the unit of time (0 minute, 1
/// six minutes, 2 hour, 3 day, 4 week) and the number (8.2.63).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PacketRate {
    /// From the UE.
    pub uplink: Option<(u8, u16)>,
    /// To the UE.
    pub downlink: Option<(u8, u16)>,
}

impl IeValue for PacketRate {
    const TYPE: u16 = 94;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        let mut next = |bit: u8| {
            let there = flags & bit != 0;
            there.then(|| Ok((reader.u8()? & 7, reader.u16()?))).transpose()
        };
        Ok(PacketRate { uplink: next(1)?, downlink: next(2)? })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.uplink.is_some()) | u8::from(self.downlink.is_some()) << 1);
        for (unit, packets) in [self.uplink, self.downlink].into_iter().flatten() {
            out.push(unit & 7);
            out.extend(packets.to_be_bytes());
        }
    }
}

group! {
    /// Where copies of packets go (7.5.2.3-3).
    #[derive(Default)]
    DuplicatingParameters = 5 {
        /** Where to. */ req destination_interface: DestinationInterface,
        /** Header to put before. */ opt outer_header_creation: OuterHeaderCreation,
        /** The DSCP of the outer header. */ opt transport_level_marking: TransportLevelMarking,
        /** A policy of the UP function. */ opt forwarding_policy: ForwardingPolicy,
    }
}

group! {
    /// Changes where copies of packets go (7.5.4.3-3).
    #[derive(Default)]
    UpdateDuplicatingParameters = 105 {
        /** Where to. */ opt destination_interface: DestinationInterface,
        /** Header to put before. */ opt outer_header_creation: OuterHeaderCreation,
        /** The DSCP of the outer header. */ opt transport_level_marking: TransportLevelMarking,
        /** A policy of the UP function. */ opt forwarding_policy: ForwardingPolicy,
    }
}
