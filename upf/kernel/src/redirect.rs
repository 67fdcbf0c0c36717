//! Redirection of HTTP to a URL (TS 29.244, 5.4.7): a UE's request is answered with status 302. The
//! server's end of TCP has no state: each response follows from the packet that it answers.
use martlet_upf_datapath::checksum;
use martlet_upf_rules::Flow;
use std::net::IpAddr;

const TCP: u8 = 6;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
/// Methods of HTTP (RFC 9110, 9) by their first letters.
const METHODS: [&[u8]; 7] =
    [b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"OPTIONS ", b"PATCH "];

/// The packet that answers one of a UE; `None` if there is none, as for other protocols.
pub(super) fn answer(packet: &[u8], flow: &Flow, url: &str) -> Option<Vec<u8>> {
    // A fragment is no whole segment.
    if flow.protocol != TCP || flow.fragment.is_some() {
        return None;
    }
    let at = match flow.source {
        IpAddr::V4(_) => usize::from(packet.first()? & 0x0f) * 4,
        // Behind extension headers there is no answer.
        IpAddr::V6(_) if packet.get(6) == Some(&TCP) => 40,
        IpAddr::V6(_) => return None,
    };
    let segment = packet.get(at..flow.length)?;
    let header = segment.first_chunk::<20>()?;
    let payload = segment.get(usize::from(header[12] >> 4) * 4..)?;
    let word = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let (sequence, acknowledged, flags) = (word(4)?, word(8)?, header[13]);
    let next = |more: usize| sequence.wrapping_add(more as u32);
    let (own, acknowledges, flags, content) = if flags & RST != 0 {
        return None;
    } else if flags & SYN != 0 {
        // Any number is valid: no state is stored, and the UE returns the number.
        (sequence.rotate_left(16) ^ 0x4d41_5254, next(1), SYN | ACK, Vec::new())
    } else if METHODS.iter().any(|method| payload.starts_with(method)) {
        let content = format!(
            "HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        );
        (acknowledged, next(payload.len()), FIN | PSH | ACK, content.into_bytes())
    } else if !payload.is_empty() {
        // No request of HTTP: TLS, for example.
        (acknowledged, next(payload.len()), RST | ACK, Vec::new())
    } else if flags & FIN != 0 {
        (acknowledged, next(1), ACK, Vec::new())
    } else {
        return None;
    };
    let mut tcp = Vec::with_capacity(20 + content.len());
    tcp.extend([header[2], header[3], header[0], header[1]]);
    tcp.extend(own.to_be_bytes());
    tcp.extend(acknowledges.to_be_bytes());
    tcp.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.extend(content);
    whole(flow, tcp)
}

/// A packet from the destination of the UE's packet, with its checksums.
fn whole(flow: &Flow, mut tcp: Vec<u8>) -> Option<Vec<u8>> {
    let length = u16::try_from(tcp.len()).ok()?;
    let addresses = match (flow.destination, flow.source) {
        (IpAddr::V4(from), IpAddr::V4(to)) => [from.octets(), to.octets()].concat(),
        (IpAddr::V6(from), IpAddr::V6(to)) => [from.octets(), to.octets()].concat(),
        _ => return None,
    };
    let pseudo = [&addresses[..], &[0, 0], &length.to_be_bytes(), &[0, TCP], &tcp].concat();
    let sum = checksum::internet(&pseudo).to_be_bytes();
    tcp.get_mut(16..18)?.copy_from_slice(&sum);
    let mut packet = if flow.source.is_ipv4() {
        let total = length.checked_add(20)?.to_be_bytes();
        let mut header = vec![0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, TCP, 0, 0];
        header.extend(addresses);
        let sum = checksum::internet(&header).to_be_bytes();
        header.get_mut(10..12)?.copy_from_slice(&sum);
        header
    } else {
        let length = length.to_be_bytes();
        [&[0x60, 0, 0, 0, length[0], length[1], TCP, 64][..], &addresses].concat()
    };
    packet.extend(tcp);
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use martlet_upf_config::KernelLimits;
    use martlet_upf_datapath::Change;
    use martlet_upf_datapath::conformance::{Rig, g_pdu, session};
    use martlet_upf_datapath::counters::DropReason;
    use martlet_upf_datapath::telemetry::balance;
    use martlet_upf_rules::Redirect;
    use std::sync::Arc;

    const URL: &str = "http://portal.example/";

    /// A segment from 10.45.0.2:5000 to 10.99.0.1:80.
    fn segment(flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 40 + payload.len() as u8, 0, 0, 0x40, 0, 64, TCP, 0, 0];
        packet.extend([10, 45, 0, 2, 10, 99, 0, 1]);
        packet.extend([0x13, 0x88, 0, 80, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        packet.extend(payload);
        packet
    }

    fn answered(flags: u8, payload: &[u8]) -> Option<Vec<u8>> {
        let packet = segment(flags, payload);
        answer(&packet, &Flow::of(&packet).unwrap(), URL)
    }

    fn word(packet: &[u8], at: usize) -> u32 {
        u32::from_be_bytes(packet[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_connection_gets_a_redirection_and_ends() {
        let opened = answered(SYN, &[]).unwrap();
        assert_eq!((opened[33], word(&opened, 28)), (SYN | ACK, 10));
        assert_eq!(opened[12..24], [10, 99, 0, 1, 10, 45, 0, 2, 0, 80, 0x13, 0x88]);
        let pseudo = [&opened[12..20], &[0, 6, 0, 20], &opened[20..]].concat();
        assert_eq!((checksum::internet(&opened[..20]), checksum::internet(&pseudo)), (0, 0));
        assert_eq!(answered(ACK, &[]), None);
        let found = answered(PSH | ACK, b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((found[33], word(&found, 24), word(&found, 28)), (FIN | PSH | ACK, 7, 27));
        let text = String::from_utf8(found[40..].to_vec()).unwrap();
        assert!(text.starts_with("HTTP/1.1 302 Found\r\nLocation: http://portal.example/\r\n"));
        let closed = answered(FIN | ACK, &[]).unwrap();
        assert_eq!((closed[33], word(&closed, 28)), (ACK, 10));
        // TLS is refused, and a reset is not answered.
        assert_eq!(answered(PSH | ACK, &[0x16, 3, 1]).unwrap()[33], RST | ACK);
        assert_eq!(answered(RST, &[]), None);
    }

    #[test]
    fn answers_are_counted_beside_their_requests() {
        let mut bench = Bench::new(KernelLimits::default());
        let mut session = session(&bench, 1, 7, bench.ue());
        let redirect = Some(Arc::new(Redirect::Url(URL.into())));
        session.fars.get_mut(&1).expect("FAR 1").redirect = redirect;
        bench.datapath().apply(&Change::to(&session)).expect("the session");
        let counters = bench.datapath().counters();
        let request = b"GET / HTTP/1.1\r\n\r\n";
        for (flags, payload) in [(SYN, &b""[..]), (ACK, &b""[..]), (PSH | ACK, &request[..])] {
            // The thread of the socket counts what it receives.
            counters.received_packets.add(1);
            bench.send_n3(&g_pdu(7, Some(1), &segment(flags, payload)));
        }
        // The segment without an answer is no usage.
        assert_eq!(bench.datapath().traffic(&[1])[0].uplink.packets, 2);
        assert_eq!(counters.drops(DropReason::Action).get(), 1);
        assert_eq!(balance(&counters, 0), (5, 5), "{:?}", counters.named());
    }

    #[test]
    fn malformed_segments_get_no_answer() {
        let packet = segment(PSH | ACK, b"GET /");
        for length in 0..packet.len() {
            let mut cut = packet[..length].to_vec();
            if length >= 4 {
                cut[3] = length as u8;
            }
            let _ = Flow::of(&cut).map(|flow| answer(&cut, &flow, URL));
        }
        let mut long = packet;
        long[32] = 0xf0;
        assert_eq!(answer(&long, &Flow::of(&long).unwrap(), URL), None);
    }
}
