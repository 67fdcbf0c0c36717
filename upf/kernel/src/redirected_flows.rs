//! Redirection of traffic to a server (TS 29.244, 5.4.7): a UE's packets get the server's address
//! as their destination, and the server's packets that of the original destination as their source.
use super::frame::Frame;
use martlet_upf_datapath::checksum;
use martlet_upf_rules::Flow;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
/// Maximum number of flows of one session; the oldest is removed first.
const MAX_FLOWS: usize = 1024;

/// Protocol, the UE's port, the server and its port.
type Key = (u8, u16, IpAddr, u16);

/// The original destinations of redirected flows.
#[derive(Default)]
pub(super) struct RedirectedFlows {
    originals: HashMap<Key, IpAddr>,
    order: VecDeque<Key>,
}

impl RedirectedFlows {
    /// Replaces the destination of a UE's packet by the server; false if that is not possible.
    pub fn out(&mut self, server: IpAddr, flow: &mut Flow, frame: &mut Frame<'_>) -> bool {
        let (near, far) = flow.ports.unwrap_or_default();
        let key = (flow.protocol, near, server, far);
        let original = flow.destination;
        if !replace(flow, frame, original, server, false) {
            return false;
        }
        if self.originals.insert(key, original).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > MAX_FLOWS {
            if let Some(oldest) = self.order.pop_front() {
                self.originals.remove(&oldest);
            }
        }
        flow.destination = server;
        true
    }

    /// Replaces the source of a server's packet to the UE by the original destination.
    pub fn back(&self, flow: &mut Flow, frame: &mut Frame<'_>) {
        let (far, near) = flow.ports.unwrap_or_default();
        let Some(original) = self.originals.get(&(flow.protocol, near, flow.source, far)) else {
            return;
        };
        if replace(flow, frame, flow.source, *original, true) {
            flow.source = *original;
        }
    }
}

/// Replaces an address in the header of a packet, and corrects the checksums.
fn replace(flow: &Flow, frame: &mut Frame<'_>, old: IpAddr, new: IpAddr, source: bool) -> bool {
    // Only the first fragment has the checksum that covers the address.
    if flow.fragment.is_some() {
        return false;
    }
    let packet = frame.packet_mut();
    let (at, header, old, new) = match (old, new) {
        (IpAddr::V4(old), IpAddr::V4(new)) => {
            let at = if source { 12 } else { 16 };
            let header = packet.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
            (at, header, old.octets().to_vec(), new.octets().to_vec())
        }
        // Behind extension headers there is no transport header to correct.
        (IpAddr::V6(old), IpAddr::V6(new)) if packet.get(6) == Some(&flow.protocol) => {
            let at = if source { 8 } else { 24 };
            (at, 40, old.octets().to_vec(), new.octets().to_vec())
        }
        _ => return false,
    };
    let mut correct = |at: usize, optional: bool| {
        let Some(place) = packet.get_mut(at..at + 2) else { return false };
        let sum = u16::from_be_bytes([place[0], place[1]]);
        if optional && sum == 0 {
            return true;
        }
        let sum = match checksum::replaced(sum, &old, &new) {
            0 if optional => 0xffff,
            sum => sum,
        };
        place.copy_from_slice(&sum.to_be_bytes());
        true
    };
    let transport = match flow.protocol {
        TCP => correct(header + 16, false),
        UDP => correct(header + 6, true),
        ICMPV6 => correct(header + 2, false),
        _ => true,
    };
    let whole = transport && (flow.source.is_ipv6() || correct(10, false));
    match packet.get_mut(at..at + new.len()).filter(|_| whole) {
        Some(place) => {
            place.copy_from_slice(&new);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_upf_datapath::conformance::udp_packet;

    #[test]
    fn a_flow_is_redirected_and_its_answer_changed() {
        let (ue, host) = ([10, 45, 0, 2].into(), [10, 99, 0, 9].into());
        let server = IpAddr::from([10, 99, 0, 1]);
        let mut flows = RedirectedFlows::default();
        let mut packet = udp_packet((ue, 9000), (host, 7000), b"up");
        let mut flow = Flow::of(&packet).unwrap();
        assert!(flows.out(server, &mut flow, &mut Frame::new(&mut packet, 0)));
        assert_eq!((flow.destination, packet[16..20].to_vec()), (server, vec![10, 99, 0, 1]));
        assert_eq!(checksum::internet(&packet[..20]), 0);
        let mut packet = udp_packet(([10, 99, 0, 1].into(), 7000), (ue, 9000), b"down");
        let mut flow = Flow::of(&packet).unwrap();
        flows.back(&mut flow, &mut Frame::new(&mut packet, 0));
        assert_eq!((flow.source, packet[12..16].to_vec()), (host.into(), host.octets().to_vec()));
        assert_eq!(checksum::internet(&packet[..20]), 0);
        // Another flow of the server's is left alone.
        let mut packet = udp_packet(([10, 99, 0, 1].into(), 7001), (ue, 9000), b"down");
        let before = packet.clone();
        let mut flow = Flow::of(&packet).unwrap();
        flows.back(&mut flow, &mut Frame::new(&mut packet, 0));
        assert_eq!(packet, before);
    }

    #[test]
    fn the_table_is_bounded() {
        let mut flows = RedirectedFlows::default();
        for port in 0..MAX_FLOWS as u16 + 9 {
            let mut packet =
                udp_packet(([10, 45, 0, 2].into(), port), ([10, 99, 0, 9].into(), 7), b"up");
            let mut flow = Flow::of(&packet).unwrap();
            let server = [10, 99, 0, 1].into();
            assert!(flows.out(server, &mut flow, &mut Frame::new(&mut packet, 0)));
        }
        assert_eq!((flows.originals.len(), flows.order.len()), (MAX_FLOWS, MAX_FLOWS));
    }
}
