//! Elements with addresses.
use crate::{DecodeError, IeValue};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reads values from the front of an element.
pub(crate) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub kind: u16,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], kind: u16) -> Self {
        Reader { bytes, kind }
    }
    pub fn chunk<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (chunk, rest) =
            self.bytes.split_first_chunk::<N>().ok_or(DecodeError::Length(self.kind))?;
        self.bytes = rest;
        Ok(*chunk)
    }
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) =
            self.bytes.split_at_checked(length).ok_or(DecodeError::Length(self.kind))?;
        self.bytes = rest;
        Ok(taken)
    }
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.chunk::<1>().map(|[octet]| octet)
    }
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.chunk().map(u16::from_be_bytes)
    }
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.chunk().map(u32::from_be_bytes)
    }
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.chunk().map(u64::from_be_bytes)
    }
    pub fn ipv4(&mut self) -> Result<Ipv4Addr, DecodeError> {
        self.chunk::<4>().map(Ipv4Addr::from)
    }
    pub fn ipv6(&mut self) -> Result<Ipv6Addr, DecodeError> {
        self.chunk::<16>().map(Ipv6Addr::from)
    }
}

pub(crate) fn write_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => out.extend(ip.octets()),
        IpAddr::V6(ip) => out.extend(ip.octets()),
    }
}

/// Names a CP or UP function (8.2.38).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NodeId {
    /// An address.
    Ip(IpAddr),
    /// A host name.
    Fqdn(String),
}

impl IeValue for NodeId {
    const TYPE: u16 = 60;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        Ok(match reader.u8()? & 0x0f {
            0 => NodeId::Ip(reader.ipv4()?.into()),
            1 => NodeId::Ip(reader.ipv6()?.into()),
            2 => {
                // Labels, each after its length (TS 23.003, 19.4.2.1).
                let mut labels = Vec::new();
                while let Ok(length) = reader.u8() {
                    let label = reader.take(usize::from(length))?;
                    let text = std::str::from_utf8(label)
                        .map_err(|_| DecodeError::Incorrect(Self::TYPE))?;
                    if text.is_empty() || text.contains('.') {
                        return Err(DecodeError::Incorrect(Self::TYPE));
                    }
                    labels.push(text);
                }
                if labels.is_empty() {
                    return Err(DecodeError::Length(Self::TYPE));
                }
                NodeId::Fqdn(labels.join("."))
            }
            _ => return Err(DecodeError::Incorrect(Self::TYPE)),
        })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            NodeId::Ip(ip) => {
                out.push(u8::from(ip.is_ipv6()));
                write_ip(*ip, out);
            }
            NodeId::Fqdn(name) => {
                out.push(2);
                for label in name.split('.') {
                    let label = &label.as_bytes()[..label.len().min(255)];
                    out.push(label.len() as u8);
                    out.extend(label);
                }
            }
        }
    }
}

/// A session endpoint: its identifier and address (8.2.37).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FSeid {
    /// Session endpoint identifier.
    pub seid: u64,
    /// IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

impl FSeid {
    /// With one address.
    pub fn new(seid: u64, ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => FSeid { seid, ipv4: Some(ip), ipv6: None },
            IpAddr::V6(ip) => FSeid { seid, ipv4: None, ipv6: Some(ip) },
        }
    }
}

impl IeValue for FSeid {
    const TYPE: u16 = 57;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        let seid = reader.u64()?;
        let ipv4 = (flags & 2 != 0).then(|| reader.ipv4()).transpose()?;
        let ipv6 = (flags & 1 != 0).then(|| reader.ipv6()).transpose()?;
        if ipv4.is_none() && ipv6.is_none() {
            return Err(DecodeError::Incorrect(Self::TYPE));
        }
        Ok(FSeid { seid, ipv4, ipv6 })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.ipv4.is_some()) << 1 | u8::from(self.ipv6.is_some()));
        out.extend(self.seid.to_be_bytes());
        self.ipv4.into_iter().for_each(|ip| out.extend(ip.octets()));
        self.ipv6.into_iter().for_each(|ip| out.extend(ip.octets()));
    }
}

/// A tunnel endpoint, or the request that the UP function allocates one (8.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FTeid {
    /// This one.
    Given {
        /// Tunnel endpoint identifier.
        teid: u32,
        /// IPv4 address.
        ipv4: Option<Ipv4Addr>,
        /// IPv6 address.
        ipv6: Option<Ipv6Addr>,
    },
    /// The UP function allocates one.
    Choose {
        /// With an IPv4 address.
        ipv4: bool,
        /// With an IPv6 address.
        ipv6: bool,
        /// The same one for all PDRs with this CHOOSE ID.
        choose_id: Option<u8>,
    },
}

impl IeValue for FTeid {
    const TYPE: u16 = 21;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        let (v4, v6) = (flags & 1 != 0, flags & 2 != 0);
        if !v4 && !v6 {
            return Err(DecodeError::Incorrect(Self::TYPE));
        }
        if flags & 4 != 0 {
            let choose_id = (flags & 8 != 0).then(|| reader.u8()).transpose()?;
            return Ok(FTeid::Choose { ipv4: v4, ipv6: v6, choose_id });
        }
        let teid = reader.u32()?;
        let ipv4 = v4.then(|| reader.ipv4()).transpose()?;
        let ipv6 = v6.then(|| reader.ipv6()).transpose()?;
        Ok(FTeid::Given { teid, ipv4, ipv6 })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            FTeid::Given { teid, ipv4, ipv6 } => {
                out.push(u8::from(ipv4.is_some()) | u8::from(ipv6.is_some()) << 1);
                out.extend(teid.to_be_bytes());
                ipv4.into_iter().for_each(|ip| out.extend(ip.octets()));
                ipv6.into_iter().for_each(|ip| out.extend(ip.octets()));
            }
            FTeid::Choose { ipv4, ipv6, choose_id } => {
                out.push(
                    u8::from(ipv4) | u8::from(ipv6) << 1 | 4 | u8::from(choose_id.is_some()) << 3,
                );
                out.extend(choose_id);
            }
        }
    }
}

/// The address of a UE, or of its peer (8.2.62).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct UeIpAddress {
    /// Whether it is the destination of packets (else the source).
    pub is_destination: bool,
    /// IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// The UP function chooses an IPv4 address.
    pub choose_ipv4: bool,
    /// The UP function chooses an IPv6 prefix.
    pub choose_ipv6: bool,
    /// Length of the IPv6 prefix, where it is not 64.
    pub ipv6_prefix_length: Option<u8>,
}

impl IeValue for UeIpAddress {
    const TYPE: u16 = 93;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        let (choose_ipv4, choose_ipv6) = (flags & 0x10 != 0, flags & 0x20 != 0);
        let ipv4 = (flags & 2 != 0 && !choose_ipv4).then(|| reader.ipv4()).transpose()?;
        let ipv6 = (flags & 1 != 0 && !choose_ipv6).then(|| reader.ipv6()).transpose()?;
        if flags & 8 != 0 {
            // Prefix delegation bits; not used.
            reader.u8()?;
        }
        let ipv6_prefix_length = (flags & 0x40 != 0).then(|| reader.u8()).transpose()?;
        let is_destination = flags & 4 != 0;
        Ok(UeIpAddress { is_destination, ipv4, ipv6, choose_ipv4, choose_ipv6, ipv6_prefix_length })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let bits = [
            (self.ipv6.is_some() || self.choose_ipv6, 1),
            (self.ipv4.is_some() || self.choose_ipv4, 2),
            (self.is_destination, 4),
            (self.choose_ipv4, 0x10),
            (self.choose_ipv6, 0x20),
            (self.ipv6_prefix_length.is_some(), 0x40),
        ];
        out.push(bits.iter().map(|(set, bit)| if *set { *bit } else { 0 }).sum());
        self.ipv4.filter(|_| !self.choose_ipv4).into_iter().for_each(|ip| out.extend(ip.octets()));
        self.ipv6.filter(|_| !self.choose_ipv6).into_iter().for_each(|ip| out.extend(ip.octets()));
        out.extend(self.ipv6_prefix_length);
    }
}

/// The outer header to add to a packet (8.2.56).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OuterHeaderCreation {
    /// Description, a bit mask: 0x0100 GTP-U/UDP/IPv4, 0x0200 GTP-U/UDP/IPv6, 0x0400 UDP/IPv4,
    /// 0x0800 UDP/IPv6, …
    pub description: u16,
    /// Tunnel endpoint identifier, with GTP-U.
    pub teid: Option<u32>,
    /// IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// UDP port, without GTP-U.
    pub port: Option<u16>,
}

impl OuterHeaderCreation {
    /// UDP over IPv6, without GTP-U: the tunnel of an unstructured session on N6 (TS 29.561, 7.2).
    pub fn udp6(to: std::net::SocketAddrV6) -> Self {
        let (ipv6, port) = (Some(*to.ip()), Some(to.port()));
        OuterHeaderCreation { description: 0x0800, teid: None, ipv4: None, ipv6, port }
    }

    /// GTP-U to an address.
    pub fn gtpu(teid: u32, ip: IpAddr) -> Self {
        let none = OuterHeaderCreation {
            description: 0,
            teid: Some(teid),
            ipv4: None,
            ipv6: None,
            port: None,
        };
        match ip {
            IpAddr::V4(ip) => OuterHeaderCreation { description: 0x0100, ipv4: Some(ip), ..none },
            IpAddr::V6(ip) => OuterHeaderCreation { description: 0x0200, ipv6: Some(ip), ..none },
        }
    }
}

impl IeValue for OuterHeaderCreation {
    const TYPE: u16 = 84;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let description = reader.u16()?;
        let any = |bits: u16| description & bits != 0;
        let teid = any(0x0300).then(|| reader.u32()).transpose()?;
        let ipv4 = any(0x1500).then(|| reader.ipv4()).transpose()?;
        let ipv6 = any(0x2a00).then(|| reader.ipv6()).transpose()?;
        let port = any(0x0c00).then(|| reader.u16()).transpose()?;
        Ok(OuterHeaderCreation { description, teid, ipv4, ipv6, port })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.description.to_be_bytes());
        self.teid.into_iter().for_each(|teid| out.extend(teid.to_be_bytes()));
        self.ipv4.into_iter().for_each(|ip| out.extend(ip.octets()));
        self.ipv6.into_iter().for_each(|ip| out.extend(ip.octets()));
        self.port.into_iter().for_each(|port| out.extend(port.to_be_bytes()));
    }
}

/// The peer of a tunnel (8.2.70).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RemoteGtpuPeer {
    /// Its address.
    pub ip: IpAddr,
}

impl IeValue for RemoteGtpuPeer {
    const TYPE: u16 = 103;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        let ip = match flags & 3 {
            2 | 3 => reader.ipv4()?.into(),
            1 => reader.ipv6()?.into(),
            _ => return Err(DecodeError::Incorrect(Self::TYPE)),
        };
        Ok(RemoteGtpuPeer { ip })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(if self.ip.is_ipv4() { 2 } else { 1 });
        write_ip(self.ip, out);
    }
}
