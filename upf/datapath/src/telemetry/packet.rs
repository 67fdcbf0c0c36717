//! A one-line summary of a frame: addresses, tunnel, and inner packet.
use martlet_gtpu::Message;
use martlet_upf_rules::Flow;
use std::fmt::Write as _;

/// Bytes of the link header with its tags, and the protocol after it.
fn link(frame: &[u8]) -> Option<(usize, u16)> {
    let word = |at: usize| {
        frame.get(at..at + 2).and_then(|o| <[u8; 2]>::try_from(o).ok()).map(u16::from_be_bytes)
    };
    let mut at = 12;
    loop {
        match word(at)? {
            0x8100 | 0x88a8 if at < 20 => at += 4,
            protocol => return Some((at + 2, protocol)),
        }
    }
}

/// Summarizes a frame, which may be truncated. `length` is its original length.
pub fn summary(frame: &[u8], length: u32) -> String {
    let Some((at, protocol)) = link(frame) else { return format!("{length} bytes, cut off") };
    let packet = frame.get(at..).unwrap_or_default();
    let Some((flow, start)) = flow(packet) else {
        return format!("{length} bytes of protocol {protocol:#06x}");
    };
    let mut out = String::new();
    let udp = packet.get(start..start + 8);
    let is_gtpu = flow.protocol == 17
        && udp.is_some_and(|udp| udp.get(2..4) == Some(&martlet_gtpu::PORT.to_be_bytes()));
    if is_gtpu && let Some(message) = packet.get(start + 8..) {
        let _ = write!(out, "GTP-U {} > {}", flow.source, flow.destination);
        if let Some((teid, inner)) = tunnel(message) {
            let _ = write!(out, " TEID {teid:#010x}: ");
            match self::flow(inner) {
                Some((flow, start)) => of_flow(&mut out, &flow, inner, start),
                None => out.push_str("no IP inside"),
            }
            return out;
        }
        return out;
    }
    of_flow(&mut out, &flow, packet, start);
    out
}

/// The flow of a packet that may be cut off, and where its transport header is.
fn flow(packet: &[u8]) -> Option<(Flow, usize)> {
    // The parser needs complete packets: pad truncated ones.
    let length = match packet.first()? >> 4 {
        4 => usize::from(u16::from_be_bytes(packet.get(2..4)?.try_into().ok()?)),
        6 => 40 + usize::from(u16::from_be_bytes(packet.get(4..6)?.try_into().ok()?)),
        _ => return None,
    };
    let start = if packet.first()? >> 4 == 4 { usize::from(packet.first()? & 15) * 4 } else { 40 };
    let mut whole = packet.to_vec();
    whole.resize(length.max(packet.len()), 0);
    Some((Flow::of(&whole)?, start))
}

fn of_flow(out: &mut String, flow: &Flow, packet: &[u8], start: usize) {
    let port = |at: usize| {
        let bytes =
            packet.get(start + at..start + at + 2).and_then(|o| <[u8; 2]>::try_from(o).ok());
        bytes.map(u16::from_be_bytes)
    };
    let name = match flow.protocol {
        1 => "ICMP".to_string(),
        6 => "TCP".to_string(),
        17 => "UDP".to_string(),
        58 => "ICMPv6".to_string(),
        132 => "SCTP".to_string(),
        other => format!("protocol {other}"),
    };
    let _ = match (flow.protocol, port(0), port(2)) {
        (6 | 17 | 132, Some(from), Some(to)) => {
            write!(out, "{name} {}:{from} > {}:{to}", flow.source, flow.destination)
        }
        _ => write!(out, "{name} {} > {}", flow.source, flow.destination),
    };
    let _ = write!(out, ", {} bytes", flow.length);
}

/// Tunnel and packet of a G-PDU, which may be truncated.
fn tunnel(message: &[u8]) -> Option<(u32, &[u8])> {
    if message.get(1) != Some(&255) {
        return None;
    }
    let length = usize::from(u16::from_be_bytes(message.get(2..4)?.try_into().ok()?)) + 8;
    let mut whole = message.to_vec();
    whole.resize(length.max(message.len()), 0);
    match martlet_gtpu::decode(&whole) {
        Ok(Message::GPdu(pdu)) => {
            let at = (length.min(whole.len())).checked_sub(pdu.payload.len())?;
            Some((pdu.teid, message.get(at..)?))
        }
        _ => Some((u32::from_be_bytes(message.get(4..8)?.try_into().ok()?), &[])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{g_pdu, udp_packet};

    fn ethernet(packet: &[u8]) -> Vec<u8> {
        [&[0; 12][..], &[8, 0], packet].concat()
    }

    #[test]
    fn a_truncated_tunnelled_packet_has_a_summary() {
        let inner =
            udp_packet(([10, 45, 0, 2].into(), 9000), ([10, 98, 0, 2].into(), 7000), &[0; 300]);
        let outer = udp_packet(
            ([192, 168, 70, 2].into(), 2152),
            ([192, 168, 70, 1].into(), 2152),
            &g_pdu(7, Some(1), &inner),
        );
        let frame = ethernet(&outer);
        let expected = "GTP-U 192.168.70.2 > 192.168.70.1 TEID 0x00000007: UDP 10.45.0.2:9000 > \
                    10.98.0.2:7000, 328 bytes";
        assert_eq!(summary(&frame, frame.len() as u32), expected);
        assert_eq!(summary(&frame[..128], frame.len() as u32), expected);
    }

    #[test]
    fn every_frame_has_a_summary() {
        assert_eq!(summary(&[0; 10], 60), "60 bytes, cut off");
        assert_eq!(summary(&ethernet(&[])[..], 14), "14 bytes of protocol 0x0800");
        let packet = udp_packet(([10, 98, 0, 2].into(), 53), ([10, 45, 0, 2].into(), 9000), b"x");
        assert_eq!(summary(&ethernet(&packet), 43), "UDP 10.98.0.2:53 > 10.45.0.2:9000, 29 bytes");
        for length in 0..packet.len() {
            let _ = summary(&ethernet(&packet[..length]), 43);
        }
    }
}
