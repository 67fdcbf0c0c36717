//! User Plane IP Resource Information.
use super::address::Reader;
use super::numbers::NetworkInstance;
use super::traffic::Interface;
use crate::{DecodeError, IeValue};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Addresses and TEIDs of the UP function from which the CP function allocates F-TEIDs (8.2.82).
/// Later releases have no such element. What a short one lacks is left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct UserPlaneIpResource {
    /// Number of leading bits of a TEID that are given, 0 to 7.
    pub teid_bits: u8,
    /// The value of these bits.
    pub teid_range: u8,
    /// IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// The only network instance that it is for.
    pub network_instance: Option<NetworkInstance>,
    /// The only source interface that it is for.
    pub source_interface: Option<Interface>,
}

impl IeValue for UserPlaneIpResource {
    const TYPE: u16 = 116;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8().unwrap_or_default();
        let has = |bit: u8| flags & bit != 0;
        let (teid_bits, teid_range) = match (flags >> 2) & 7 {
            0 => (0, 0),
            bits => reader.u8().map_or((0, 0), |range| (bits, range)),
        };
        let ipv4 = if has(1) { reader.ipv4().ok() } else { None };
        let ipv6 = if has(2) { reader.ipv6().ok() } else { None };
        let mut rest = reader.bytes;
        let mut source_interface = None;
        if has(0x40)
            && let Some((last, before)) = rest.split_last()
        {
            source_interface = Some(Interface::from(*last));
            rest = before;
        }
        let network_instance =
            (has(0x20) && !rest.is_empty()).then(|| NetworkInstance(rest.to_vec()));
        Ok(UserPlaneIpResource {
            teid_bits,
            teid_range,
            ipv4,
            ipv6,
            network_instance,
            source_interface,
        })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let bits = self.teid_bits & 7;
        let flags = [
            (self.ipv4.is_some(), 1),
            (self.ipv6.is_some(), 2),
            (self.network_instance.is_some(), 0x20),
            (self.source_interface.is_some(), 0x40),
        ];
        let flags: u8 = flags.into_iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum();
        out.push(flags | (bits << 2));
        out.extend((bits > 0).then_some(self.teid_range));
        self.ipv4.into_iter().for_each(|ip| out.extend(ip.octets()));
        self.ipv6.into_iter().for_each(|ip| out.extend(ip.octets()));
        self.network_instance.iter().for_each(|instance| out.extend(&instance.0));
        out.extend(self.source_interface.map(u8::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_plane_ip_resources_are_read_whole_and_short() {
        let ipv4 = Some(Ipv4Addr::new(10, 0, 0, 8));
        // As SD-Core's UPF writes it: an address for the source interface access.
        let access = [0x41, 10, 0, 0, 8, 0];
        let source_interface = Some(Interface::Access);
        let resource = UserPlaneIpResource { ipv4, source_interface, ..Default::default() };
        let network_instance = Some(NetworkInstance::in_labels("internet"));
        let named = UserPlaneIpResource {
            teid_bits: 4,
            teid_range: 9,
            ipv6: Some(Ipv6Addr::LOCALHOST),
            network_instance,
            ..resource.clone()
        };
        let mut written = Vec::new();
        named.encode(&mut written);
        assert_eq!((written[0], written[1]), (0x73, 9));
        for (bytes, read) in [(&access[..], resource), (&written[..], named)] {
            assert_eq!(UserPlaneIpResource::decode(bytes, 0), Ok(read.clone()));
            let mut again = Vec::new();
            read.encode(&mut again);
            assert_eq!(again, bytes);
        }
        for short in [&[][..], &[0x41, 10], &[0x14]] {
            let read = UserPlaneIpResource::decode(short, 0).unwrap();
            assert_eq!((read.teid_bits, read.ipv4), (0, None), "{short:?}");
        }
    }
}
