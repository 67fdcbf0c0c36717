//! Sets of sessions: fully qualified connection set identifiers (TS 23.007, 8.2.45).
use super::address::Reader;
use crate::{DecodeError, IeValue};

/// The node that assigned connection set identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CsidNode {
    /// A node with an IP address.
    Ip(std::net::IpAddr),
    /// A number: mobile country and network code, and a value of the operator.
    Number(u32),
}

/// Connection sets of a node, to one of which each of its sessions may belong (8.2.45).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FqCsid {
    /// The node that assigned them.
    pub node: CsidNode,
    /// At most 15.
    pub csids: Vec<u16>,
}

impl IeValue for FqCsid {
    const TYPE: u16 = 65;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let first = reader.u8()?;
        let node = match first >> 4 {
            0 => CsidNode::Ip(reader.ipv4()?.into()),
            1 => CsidNode::Ip(reader.ipv6()?.into()),
            2 => CsidNode::Number(reader.u32()?),
            _ => return Err(DecodeError::Incorrect(Self::TYPE)),
        };
        let csids = (0..first & 0x0f).map(|_| reader.u16()).collect::<Result<_, _>>()?;
        Ok(FqCsid { node, csids })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let csids = self.csids.get(..15).unwrap_or(&self.csids);
        let kind = match self.node {
            CsidNode::Ip(ip) if ip.is_ipv4() => 0,
            CsidNode::Ip(_) => 1,
            CsidNode::Number(_) => 2,
        };
        out.push(kind << 4 | csids.len() as u8);
        match self.node {
            CsidNode::Ip(ip) => super::address::write_ip(ip, out),
            CsidNode::Number(number) => out.extend(number.to_be_bytes()),
        }
        csids.iter().for_each(|csid| out.extend(csid.to_be_bytes()));
    }
}
