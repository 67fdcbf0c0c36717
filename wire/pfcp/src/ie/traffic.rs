//! Elements that match packets, and actions on them.
use super::address::Reader;
use crate::{DecodeError, IeValue};

/// Where packets come from or go to (8.2.2, 8.2.24).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Interface {
    /// Towards the UE.
    #[default]
    Access,
    /// Towards the data network, or another UP function.
    Core,
    /// The data network itself.
    SgiLan,
    /// The CP function.
    CpFunction,
    /// Another value.
    Other(u8),
}

impl From<u8> for Interface {
    fn from(value: u8) -> Self {
        match value & 0x0f {
            0 => Interface::Access,
            1 => Interface::Core,
            2 => Interface::SgiLan,
            3 => Interface::CpFunction,
            other => Interface::Other(other),
        }
    }
}

impl From<Interface> for u8 {
    fn from(value: Interface) -> u8 {
        match value {
            Interface::Access => 0,
            Interface::Core => 1,
            Interface::SgiLan => 2,
            Interface::CpFunction => 3,
            Interface::Other(other) => other & 0x0f,
        }
    }
}

macro_rules! interface {
    ($($(#[$meta:meta])* $name:ident = $type:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub Interface);
        impl IeValue for $name {
            const TYPE: u16 = $type;
            fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
                Ok($name(Reader::new(value, $type).u8()?.into()))
            }
            fn encode(&self, out: &mut Vec<u8>) { out.push(self.0.into()) }
        }
    )*};
}

interface! {
    /// Where packets come from (8.2.2).
    SourceInterface = 20;
    /// Where packets go to (8.2.24).
    DestinationInterface = 42;
}

/// A filter for packets of a service data flow (8.2.5).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SdfFilter {
    /// An `IPFilterRule` of RFC 6733, such as `permit out ip from 10.0.0.0/8 to assigned`.
    pub flow_description: Option<String>,
    /// Type of service and mask.
    pub tos_traffic_class: Option<[u8; 2]>,
    /// Security parameter index.
    pub security_parameter_index: Option<u32>,
    /// IPv6 flow label, 20 bits.
    pub flow_label: Option<[u8; 3]>,
    /// Names the filter for the other direction.
    pub filter_id: Option<u32>,
}

impl IeValue for SdfFilter {
    const TYPE: u16 = 23;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        reader.u8()?;
        let mut filter = SdfFilter::default();
        if flags & 1 != 0 {
            let length = reader.u16()?;
            let text = std::str::from_utf8(reader.take(usize::from(length))?);
            filter.flow_description =
                Some(text.map_err(|_| DecodeError::Incorrect(Self::TYPE))?.to_string());
        }
        if flags & 2 != 0 {
            filter.tos_traffic_class = Some(reader.chunk()?);
        }
        if flags & 4 != 0 {
            filter.security_parameter_index = Some(reader.u32()?);
        }
        if flags & 8 != 0 {
            filter.flow_label = Some(reader.chunk()?);
        }
        if flags & 16 != 0 {
            filter.filter_id = Some(reader.u32()?);
        }
        Ok(filter)
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let bits = [
            (self.flow_description.is_some(), 1),
            (self.tos_traffic_class.is_some(), 2),
            (self.security_parameter_index.is_some(), 4),
            (self.flow_label.is_some(), 8),
            (self.filter_id.is_some(), 16),
        ];
        out.push(bits.iter().map(|(set, bit)| if *set { *bit } else { 0 }).sum());
        out.push(0);
        if let Some(text) = &self.flow_description {
            let text = &text.as_bytes()[..text.len().min(4096)];
            out.extend((text.len() as u16).to_be_bytes());
            out.extend(text);
        }
        out.extend(self.tos_traffic_class.into_iter().flatten());
        self.security_parameter_index.into_iter().for_each(|index| out.extend(index.to_be_bytes()));
        out.extend(self.flow_label.into_iter().flatten());
        self.filter_id.into_iter().for_each(|id| out.extend(id.to_be_bytes()));
    }
}

/// The outer header to remove from a packet (8.2.64).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OuterHeaderRemoval {
    /// 0 GTP-U/UDP/IPv4, 1 GTP-U/UDP/IPv6, 6 GTP-U/UDP/IP, …
    pub description: u8,
}

impl IeValue for OuterHeaderRemoval {
    const TYPE: u16 = 95;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        Ok(OuterHeaderRemoval { description: Reader::new(value, Self::TYPE).u8()? })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.description);
    }
}

/// The actions on packets: a bit mask (8.2.26).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ApplyAction(pub u8);

impl ApplyAction {
    /// Drop.
    pub const DROP: ApplyAction = ApplyAction(1);
    /// Forward.
    pub const FORW: ApplyAction = ApplyAction(2);
    /// Buffer.
    pub const BUFF: ApplyAction = ApplyAction(4);
    /// Notify the CP function of the first packet; used with `BUFF`.
    pub const NOCP: ApplyAction = ApplyAction(8);
    /// Duplicate.
    pub const DUPL: ApplyAction = ApplyAction(16);
    /// Accept joins of IP multicast groups.
    pub const IPMA: ApplyAction = ApplyAction(32);
    /// Deny joins of IP multicast groups.
    pub const IPMD: ApplyAction = ApplyAction(64);
    /// Duplicate for redundant transmission.
    pub const DFRT: ApplyAction = ApplyAction(128);

    /// Whether these bits are set.
    pub fn has(self, other: ApplyAction) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for ApplyAction {
    type Output = ApplyAction;
    fn bitor(self, other: ApplyAction) -> ApplyAction {
        ApplyAction(self.0 | other.0)
    }
}

impl IeValue for ApplyAction {
    const TYPE: u16 = 44;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let action = ApplyAction(Reader::new(value, Self::TYPE).u8()?);
        // One of DROP, FORW and BUFF is set, and NOCP goes with BUFF (8.2.26).
        let main = (action.0 & 7).count_ones();
        let wrong = main != 1 || action.has(Self::NOCP) && !action.has(Self::BUFF);
        if wrong { Err(DecodeError::Incorrect(Self::TYPE)) } else { Ok(action) }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.0);
    }
}
