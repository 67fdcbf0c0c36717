//! ICMP echo through a PDU session without an interface (RFC 792).
use crate::gnb::{Ue, UeError};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// Sends `count` echo requests from `source` and waits for each reply.
///
/// # Errors
/// No reply within `limit`, or the packet cannot be sent.
pub async fn ping(
    ue: &Ue,
    psi: u8,
    source: Ipv4Addr,
    target: Ipv4Addr,
    count: u32,
    limit: Duration,
) -> Result<(), UeError> {
    ping_together(ue, psi, (source, target), count, 1, limit).await
}

/// Sends `groups` groups of `group` echo requests, and waits for all replies of one before the
/// next. `addresses`: source and target. A group of more than 65,536 has sequence numbers twice.
///
/// # Errors
/// A reply is missing for `limit`, or a packet cannot be sent.
pub async fn ping_together(
    ue: &Ue,
    psi: u8,
    addresses: (Ipv4Addr, Ipv4Addr),
    groups: u32,
    group: u16,
    limit: Duration,
) -> Result<(), UeError> {
    let (source, target) = addresses;
    let identifier = (psi as u16) << 8 | 0x77;
    let mut first = 0u16;
    for _ in 0..groups {
        let mut missing = BTreeSet::new();
        for n in 0..group {
            let sequence = first.wrapping_add(n);
            ue.send_ip(psi, echo_request(source, target, identifier, sequence)).await?;
            missing.insert(sequence);
        }
        first = first.wrapping_add(group);
        let deadline = Instant::now() + limit;
        while !missing.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            match tokio::time::timeout(left, ue.recv_ip()).await {
                Ok(Ok((_, packet))) => {
                    missing.retain(|sequence| !is_reply(&packet, addresses, identifier, *sequence));
                }
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(UeError::Timeout(limit)),
            }
        }
    }
    Ok(())
}

/// An IPv4 packet with an echo request and 56 bytes of data.
fn echo_request(source: Ipv4Addr, target: Ipv4Addr, identifier: u16, sequence: u16) -> Vec<u8> {
    const DATA: usize = 56;
    const LENGTH: usize = 20 + 8 + DATA;
    let mut packet = Vec::with_capacity(LENGTH);
    packet.extend_from_slice(&[0x45, 0, 0, LENGTH as u8, 0, 0, 0x40, 0, 64, 1, 0, 0]);
    packet.extend_from_slice(&source.octets());
    packet.extend_from_slice(&target.octets());
    let header = checksum(&packet);
    packet[10..12].copy_from_slice(&header.to_be_bytes());
    let mut message = vec![8, 0, 0, 0];
    message.extend_from_slice(&identifier.to_be_bytes());
    message.extend_from_slice(&sequence.to_be_bytes());
    message.extend((0..DATA as u8).map(|n| n.wrapping_add(0x10)));
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    packet.extend_from_slice(&message);
    packet
}

/// Whether a packet is the reply to a request with these addresses, source and target. All UEs use
/// the same identifiers: the destination shows that the reply is not another UE's.
fn is_reply(
    packet: &[u8],
    addresses: (Ipv4Addr, Ipv4Addr),
    identifier: u16,
    sequence: u16,
) -> bool {
    let (source, target) = addresses;
    let Some(first) = packet.first() else { return false };
    let header = usize::from(first & 0x0f) * 4;
    let (Some(ends), Some(&[0, 0, _, _, i0, i1, s0, s1])) =
        (packet.get(12..20), packet.get(header..).and_then(|message| message.first_chunk::<8>()))
    else {
        return false;
    };
    packet.get(9) == Some(&1)
        && ends == [target.octets(), source.octets()].concat()
        && u16::from_be_bytes([i0, i1]) == identifier
        && u16::from_be_bytes([s0, s1]) == sequence
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_valid_checksums_and_its_reply_is_recognized() {
        let (source, target) = (Ipv4Addr::new(10, 60, 0, 2), Ipv4Addr::new(10, 60, 0, 1));
        let mut packet = echo_request(source, target, 0x177, 3);
        assert_eq!((checksum(&packet[..20]), checksum(&packet[20..])), (0, 0));
        let addresses = (source, target);
        assert!(!is_reply(&packet, addresses, 0x177, 3), "a request is not a reply");
        packet[12..16].copy_from_slice(&target.octets());
        packet[16..20].copy_from_slice(&source.octets());
        packet[20] = 0;
        assert!(is_reply(&packet, addresses, 0x177, 3));
        assert!(!is_reply(&packet, addresses, 0x177, 4));
        for length in 0..packet.len().min(28) {
            assert!(!is_reply(&packet[..length], addresses, 0x177, 3));
        }
        packet[19] = 3;
        assert!(!is_reply(&packet, addresses, 0x177, 3), "the reply to another UE");
    }
}
