//! Elements of Ethernet PDU sessions (TS 29.244, 8.2.93 to 8.2.102), and networks that are routed
//! to a UE (8.2.109 to 8.2.111).
use super::SdfFilter;
use super::address::Reader;
use crate::grouped::group;
use crate::{DecodeError, IeValue};

/// Whether a PDR is for all traffic of an Ethernet PDU session, in bit 1 (8.2.102).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EthernetPduSessionInformation(pub u8);

/// Properties of an Ethernet packet filter: bit 1, bidirectional (8.2.99).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EthernetFilterProperties(pub u8);

macro_rules! octet {
    ($($name:ident = $type:literal;)*) => {$(
        impl IeValue for $name {
            const TYPE: u16 = $type;
            fn decode(value: &[u8], _: usize) -> Result<Self,
                DecodeError> { Ok($name(Reader::new(value, $type).u8()?)) }
            fn encode(&self, out: &mut Vec<u8>) { out.push(self.0) }
        }
    )*};
}

octet! {
    EthernetPduSessionInformation = 142;
    EthernetFilterProperties = 139;
}

/// Identifies an Ethernet packet filter in its session (8.2.98).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EthernetFilterId(pub u32);

impl IeValue for EthernetFilterId {
    const TYPE: u16 = 138;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        Ok(EthernetFilterId(Reader::new(value, Self::TYPE).u32()?))
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.0.to_be_bytes());
    }
}

/// EtherType (8.2.96).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ethertype(pub u16);

impl IeValue for Ethertype {
    const TYPE: u16 = 136;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        Ok(Ethertype(Reader::new(value, Self::TYPE).u16()?))
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.0.to_be_bytes());
    }
}

/// Addresses of a frame; with an upper address, a range (8.2.93).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MacAddress {
    /// Of the sender.
    pub source: Option<[u8; 6]>,
    /// Of the receiver.
    pub destination: Option<[u8; 6]>,
    /// The last of a range of senders.
    pub upper_source: Option<[u8; 6]>,
    /// The last of a range of receivers.
    pub upper_destination: Option<[u8; 6]>,
}

impl IeValue for MacAddress {
    const TYPE: u16 = 133;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        let mut next = |bit: u8| (flags & bit != 0).then(|| reader.chunk::<6>()).transpose();
        Ok(MacAddress {
            source: next(1)?,
            destination: next(2)?,
            upper_source: next(4)?,
            upper_destination: next(8)?,
        })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let all = [self.source, self.destination, self.upper_source, self.upper_destination];
        out.push(all.iter().enumerate().map(|(n, address)| u8::from(address.is_some()) << n).sum());
        all.into_iter().flatten().for_each(|address| out.extend(address));
    }
}

/// The fields of a VLAN tag to match (8.2.94, 8.2.95).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tag {
    /// Priority, 3 bits.
    pub pcp: Option<u8>,
    /// The drop eligible indicator.
    pub dei: Option<bool>,
    /// Virtual LAN, 12 bits.
    pub vid: Option<u16>,
}

impl Tag {
    fn read(value: &[u8], kind: u16) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, kind);
        let (flags, high, low) = (reader.u8()?, reader.u8()?, reader.u8()?);
        Ok(Tag {
            pcp: (flags & 1 != 0).then_some(high & 7),
            dei: (flags & 2 != 0).then_some(high & 8 != 0),
            vid: (flags & 4 != 0).then_some(u16::from(high >> 4) << 8 | u16::from(low)),
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let vid = self.vid.unwrap_or(0) & 0x0fff;
        out.push(
            u8::from(self.pcp.is_some())
                | u8::from(self.dei.is_some()) << 1
                | u8::from(self.vid.is_some()) << 2,
        );
        let (high, dei) = ((vid >> 4) as u8 & 0xf0, u8::from(self.dei == Some(true)) << 3);
        out.push(high | dei | (self.pcp.unwrap_or(0) & 7));
        out.push(vid as u8);
    }
}

macro_rules! tag {
    ($($(#[$meta:meta])* $name:ident = $type:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub Tag);
        impl IeValue for $name {
            const TYPE: u16 = $type;
            fn decode(value: &[u8], _: usize) -> Result<Self,
                DecodeError> { Tag::read(value, $type).map($name) }
            fn encode(&self, out: &mut Vec<u8>) { self.0.write(out) }
        }
    )*};
}

tag! {
    /// The customer's tag (8.2.94).
    CTag = 134;
    /// The service's tag (8.2.95).
    STag = 135;
}

group! {
    /// A filter for frames (7.5.2.2-3).
    #[derive(Default)]
    EthernetPacketFilter = 132 {
        /** Its identifier. */ opt filter_id: EthernetFilterId,
        /** How it is to be read. */ opt properties: EthernetFilterProperties,
        /** Addresses, of which one fits. */ list mac_addresses: MacAddress,
        /** Type. */ opt ethertype: Ethertype,
        /** The customer's tag. */ opt c_tag: CTag,
        /** The service's tag. */ opt s_tag: STag,
        /** Of frames with IP packets, of which one fits. */ list sdf_filters: SdfFilter,
    }
}

macro_rules! text {
    ($($(#[$meta:meta])* $name:ident = $type:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(pub String);
        impl IeValue for $name {
            const TYPE: u16 = $type;
            fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
                let text = std::str::from_utf8(value).map_err(|_| DecodeError::Incorrect($type))?;
                Ok($name(text.to_string()))
            }
            fn encode(&self, out: &mut Vec<u8>) { out.extend(self.0.bytes().take(1024)) }
        }
    )*};
}

text! {
    /// An IPv4 network behind a UE, as RFC 2865, 5.22 has it: `10.60.0.0/16 0.0.0.0 1` (8.2.109).
    FramedRoute = 153;
    /// An IPv6 network behind a UE, as RFC 3162, 2.5 has it (8.2.111).
    FramedIpv6Route = 155;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let filter = EthernetPacketFilter {
            filter_id: Some(EthernetFilterId(7)),
            properties: Some(EthernetFilterProperties(1)),
            mac_addresses: vec![MacAddress {
                source: Some([2, 0, 0, 0, 0, 1]),
                upper_source: Some([2, 0, 0, 0, 0, 9]),
                ..Default::default()
            }],
            ethertype: Some(Ethertype(0x88f7)),
            c_tag: Some(CTag(Tag { pcp: Some(5), dei: Some(true), vid: Some(0xabc) })),
            s_tag: Some(STag(Tag { pcp: None, dei: None, vid: Some(1) })),
            sdf_filters: vec![],
        };
        let mut bytes = Vec::new();
        filter.encode(&mut bytes);
        assert_eq!(EthernetPacketFilter::decode(&bytes, 0).unwrap(), filter);
        let mut tag = Vec::new();
        filter.c_tag.unwrap().encode(&mut tag);
        assert_eq!(tag, [7, 0xad, 0xbc]);
        assert!(MacAddress::decode(&[1, 2, 3], 0).is_err() && CTag::decode(&[7, 0], 0).is_err());
        assert!(FramedRoute::decode(&[0xff], 0).is_err());
    }
}
