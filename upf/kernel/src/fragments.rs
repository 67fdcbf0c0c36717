//! Ports of fragmented datagrams: only the first fragment has them, and the later ones match the
//! same rules. The table is bounded; the oldest datagram is removed first.
use martlet_upf_rules::{Flow, Fragment};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// Datagrams at a time; as `bpf/maps.h` has it.
const MAX_FRAGMENTED: usize = 4096;

/// What the fragments of a datagram have in common.
type Datagram = (IpAddr, IpAddr, u32, u8);

/// Datagrams whose first fragment was received.
#[derive(Default)]
pub(super) struct Fragments {
    ports: HashMap<Datagram, (u16, u16)>,
    order: VecDeque<Datagram>,
}

impl Fragments {
    /// Gives a later fragment the ports of the first one.
    pub fn join(&self, flow: &mut Flow, fragment: Fragment) {
        if !fragment.first {
            flow.ports = flow.ports.or(self.ports.get(&key(flow, fragment)).copied());
        }
    }

    /// Notes the ports of a first fragment.
    pub fn note(&mut self, flow: &Flow, fragment: Fragment) {
        let Some(ports) = flow.ports.filter(|_| fragment.first) else { return };
        let key = key(flow, fragment);
        if self.ports.insert(key, ports).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > MAX_FRAGMENTED {
            if let Some(oldest) = self.order.pop_front() {
                self.ports.remove(&oldest);
            }
        }
    }
}

fn key(flow: &Flow, fragment: Fragment) -> Datagram {
    (flow.source, flow.destination, fragment.id, flow.protocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(id: u16, offset: u16) -> Flow {
        let [high, low] = id.to_be_bytes();
        let more = (0x2000 | offset).to_be_bytes();
        let mut packet = vec![0x45, 0, 0, 28, high, low, more[0], more[1], 64, 17, 0, 0];
        packet.extend([10, 45, 0, 2, 10, 99, 0, 1, 0x23, 0x28, 0x1b, 0x58, 0, 8, 0, 0]);
        Flow::of(&packet).unwrap()
    }

    #[test]
    fn later_fragments_have_the_ports_of_the_first() {
        let mut fragments = Fragments::default();
        let join = |fragments: &mut Fragments, id, offset| {
            let mut flow = fragment(id, offset);
            let part = flow.fragment.unwrap();
            fragments.join(&mut flow, part);
            fragments.note(&flow, part);
            flow.ports
        };
        assert_eq!(join(&mut fragments, 1, 5), None);
        assert_eq!(join(&mut fragments, 1, 0), Some((9000, 7000)));
        assert_eq!(join(&mut fragments, 1, 5), Some((9000, 7000)));
        assert_eq!(join(&mut fragments, 2, 5), None);
        // The table is bounded, and removes the oldest.
        for id in 2..2 + MAX_FRAGMENTED as u16 {
            join(&mut fragments, id, 0);
        }
        assert_eq!(
            (fragments.ports.len(), fragments.order.len()),
            (MAX_FRAGMENTED, MAX_FRAGMENTED)
        );
        assert_eq!(join(&mut fragments, 1, 5), None);
        assert_eq!(join(&mut fragments, 2, 5), Some((9000, 7000)));
    }
}
