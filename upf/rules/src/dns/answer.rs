//! DNS responses (RFC 1035), as far as they contain addresses.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The port of name servers.
pub const DNS_PORT: u16 = 53;
/// Limit of records that are read per response.
const MAX_RECORDS: usize = 64;
/// Bytes of a name, and jumps within one.
const LONGEST: usize = 255;
const MAX_JUMPS: usize = 16;

/// Addresses in a DNS response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The queried name and the aliases that led to the addresses, in lower case.
    pub names: Vec<String>,
    /// Addresses, with the seconds for which they hold.
    pub addresses: Vec<(IpAddr, u32)>,
}

/// Parses the response in an IP packet from a name server; also returns the server's address.
/// `None` if it is malformed, truncated, an error, or without an address.
pub fn answer_in(packet: &[u8]) -> Option<(IpAddr, Answer)> {
    let word = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let (server, header): (IpAddr, usize) = match packet.first()? >> 4 {
        // No part of a packet, and no extension headers: resolvers send none.
        4 if *packet.get(9)? == 17 && word(6)? & 0x3fff == 0 => {
            let server = Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(12..16)?).ok()?);
            (server.into(), usize::from(packet.first()? & 0x0f) * 4)
        }
        6 if *packet.get(6)? == 17 => {
            (Ipv6Addr::from(<[u8; 16]>::try_from(packet.get(8..24)?).ok()?).into(), 40)
        }
        _ => return None,
    };
    if header < 20 || word(header)? != DNS_PORT {
        return None;
    }
    let length = usize::from(word(header + 4)?);
    let payload = packet.get(header + 8..header.checked_add(length)?)?;
    Some((server, read(payload)?))
}

/// Reads a message of DNS.
fn read(message: &[u8]) -> Option<Answer> {
    let word = |at: usize| Some(u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]));
    // A response, of a common query, not cut off, without an error.
    if word(2)? & 0xfa0f != 0x8000 {
        return None;
    }
    let (questions, records) = (word(4)?, usize::from(word(6)?));
    if questions != 1 {
        return None;
    }
    let (question, mut at) = name(message, 12)?;
    at += 4;
    let mut answer = Answer { names: vec![question], addresses: Vec::new() };
    for _ in 0..records.min(MAX_RECORDS) {
        let (owner, behind) = name(message, at)?;
        let (kind, class, length) =
            (word(behind)?, word(behind + 2)?, usize::from(word(behind + 8)?));
        let holds = u32::from_be_bytes(message.get(behind + 4..behind + 8)?.try_into().ok()?);
        let data = message.get(behind + 10..behind + 10 + length)?;
        at = behind + 10 + length;
        // Records of names that were not queried are ignored.
        if class != 1 || !answer.names.contains(&owner) {
            continue;
        }
        match kind {
            1 => answer
                .addresses
                .push((Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?).into(), holds)),
            28 => answer
                .addresses
                .push((Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?).into(), holds)),
            5 => answer.names.push(name(message, behind + 10)?.0),
            _ => {}
        }
    }
    (!answer.addresses.is_empty()).then_some(answer)
}

/// Reads a name; also returns the offset after it.
fn name(message: &[u8], start: usize) -> Option<(String, usize)> {
    let (mut at, mut behind, mut jumps) = (start, None, 0);
    let mut name = String::new();
    loop {
        let length = usize::from(*message.get(at)?);
        match length >> 6 {
            0 if length == 0 => return Some((name, behind.unwrap_or(at + 1))),
            0 => {
                let label = message.get(at + 1..at + 1 + length)?;
                if name.len() + length >= LONGEST {
                    return None;
                }
                if !name.is_empty() {
                    name.push('.');
                }
                name.extend(label.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
                at += 1 + length;
            }
            3 => {
                let to = (length & 0x3f) << 8 | usize::from(*message.get(at + 1)?);
                behind = behind.or(Some(at + 2));
                jumps += 1;
                if jumps > MAX_JUMPS {
                    return None;
                }
                at = to;
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::message;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_belong_to_the_queried_name() {
        let addresses: [IpAddr; 2] =
            [[192, 0, 2, 1].into(), [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into()];
        let answer =
            read(&message("WWW.example.com", Some("edge.example.net"), &addresses, 30)).unwrap();
        assert_eq!(answer.names, ["www.example.com", "edge.example.net"]);
        assert_eq!(answer.addresses, addresses.map(|address| (address, 30)));
        // Glue of another name.
        let mut foreign = message("www.example.com", None, &addresses[..1], 30);
        let at = foreign.len() - 16;
        foreign[at + 1] = 16;
        assert_eq!(read(&foreign), None);
    }

    #[test]
    fn invalid_responses_are_ignored() {
        let whole = message("a.example", None, &[[192, 0, 2, 1].into()], 30);
        for (at, value) in [(2, 0x01), (2, 0x83), (3, 0x83), (5, 2), (7, 0)] {
            let mut other = whole.clone();
            other[at] = value;
            assert_eq!(read(&other), None, "{at} {value}");
        }
        // A name that points to itself.
        let mut circle = whole.clone();
        (circle[12], circle[13]) = (0xc0, 12);
        assert_eq!(read(&circle), None);
        assert!((0..whole.len()).all(|length| read(&whole[..length]).is_none()));
    }

    proptest! {
        #[test]
        fn random_bytes_do_not_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            at in 0usize..200,
            value in any::<u8>(),
        ) {
            let _ = answer_in(&bytes);
            let mut near =
                message("www.example.com", Some("edge.example.net"), &[[192, 0, 2, 1].into()], 30);
            if let Some(byte) = near.get_mut(at) {
                *byte = value;
            }
            let _ = read(&near);
        }
    }
}
