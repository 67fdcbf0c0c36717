//! Ports of fragmented datagrams: only the first fragment has them, and the later ones match the
//! same rules. The table is bounded, and so is the share of a session; the oldest datagram is
//! removed first.
use martlet_upf_rules::{Flow, Fragment};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// Datagrams at a time; as `bpf/maps.h` has it.
const MAX_FRAGMENTED: usize = 4096;

/// Datagrams of one session at a time; as `bpf/structs.h` has it.
const SESSION_FRAGMENTED: u32 = 64;

/// What the fragments of a datagram have in common.
type Datagram = (IpAddr, IpAddr, u32, u8);

/// The session of a datagram, by its SEID, and the last bits of the datagram's identification.
type Slot = (u64, u32);

/// Datagrams whose first fragment was received.
#[derive(Default)]
pub(super) struct Fragments {
    ports: HashMap<Datagram, (u16, u16)>,
    /// The datagram of each slot, and whether it was noted since the slot was last at the front.
    slots: HashMap<Slot, (Datagram, bool)>,
    order: VecDeque<Slot>,
}

impl Fragments {
    /// Gives a later fragment the ports of the first one.
    pub fn join(&self, flow: &mut Flow, fragment: Fragment) {
        if !fragment.first {
            flow.ports = flow.ports.or(self.ports.get(&key(flow, fragment)).copied());
        }
    }

    /// Notes the ports of a first fragment of a session. Returns whether another datagram of the
    /// session was removed for it.
    pub fn note(&mut self, seid: u64, flow: &Flow, fragment: Fragment) -> bool {
        let Some(ports) = flow.ports.filter(|_| fragment.first) else { return false };
        let key = key(flow, fragment);
        let slot = (seid, fragment.id % SESSION_FRAGMENTED);
        let before = match self.slots.get_mut(&slot) {
            Some(of_slot) => {
                let before = of_slot.0;
                *of_slot = (key, true);
                Some(before).filter(|before| *before != key)
            }
            None => {
                self.slots.insert(slot, (key, false));
                self.order.push_back(slot);
                None
            }
        };
        if let Some(before) = before {
            self.ports.remove(&before);
        }
        self.ports.insert(key, ports);
        while self.order.len() > MAX_FRAGMENTED {
            let Some(oldest) = self.order.pop_front() else { break };
            match self.slots.get_mut(&oldest) {
                Some((_, noted)) if *noted => {
                    *noted = false;
                    self.order.push_back(oldest);
                }
                _ => {
                    if let Some((datagram, _)) = self.slots.remove(&oldest) {
                        self.ports.remove(&datagram);
                    }
                }
            }
        }
        before.is_some()
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

    /// A fragment of a session; returns the ports that it has.
    fn join(fragments: &mut Fragments, seid: u64, id: u16, offset: u16) -> Option<(u16, u16)> {
        let mut flow = fragment(id, offset);
        let part = flow.fragment.unwrap();
        fragments.join(&mut flow, part);
        fragments.note(seid, &flow, part);
        flow.ports
    }

    #[test]
    fn later_fragments_have_the_ports_of_the_first() {
        let mut fragments = Fragments::default();
        assert_eq!(join(&mut fragments, 1, 1, 5), None);
        assert_eq!(join(&mut fragments, 1, 1, 0), Some((9000, 7000)));
        assert_eq!(join(&mut fragments, 1, 1, 5), Some((9000, 7000)));
        assert_eq!(join(&mut fragments, 1, 2, 5), None);
        // The table is bounded, and removes the oldest.
        for id in 2..2 + MAX_FRAGMENTED as u16 {
            join(&mut fragments, 1000 + u64::from(id), id, 0);
        }
        let sizes = (fragments.ports.len(), fragments.slots.len(), fragments.order.len());
        assert_eq!(sizes, (MAX_FRAGMENTED, MAX_FRAGMENTED, MAX_FRAGMENTED));
        assert_eq!(join(&mut fragments, 1, 1, 5), None);
        assert_eq!(join(&mut fragments, 1, 2, 5), Some((9000, 7000)));
    }

    /// The fragments of a session displace no others.
    #[test]
    fn attack_a_session_fills_the_table_of_fragments() {
        let mut fragments = Fragments::default();
        join(&mut fragments, 1, 1, 0);
        let mut removed = 0;
        for id in 100..20_000 {
            let flow = fragment(id, 0);
            removed += u32::from(fragments.note(2, &flow, flow.fragment.unwrap()));
        }
        assert_eq!(join(&mut fragments, 1, 1, 5), Some((9000, 7000)));
        assert_eq!(fragments.ports.len(), 1 + SESSION_FRAGMENTED as usize);
        assert_eq!(removed, 19_900 - SESSION_FRAGMENTED);
        // A slot that was noted again is not the oldest.
        join(&mut fragments, 1, 1, 0);
        for id in 0..MAX_FRAGMENTED as u16 - 1 {
            join(&mut fragments, 1000 + u64::from(id), 20_000 + id, 0);
        }
        assert_eq!(join(&mut fragments, 1, 1, 5), Some((9000, 7000)));
        assert_eq!(fragments.order.len(), MAX_FRAGMENTED);
    }
}
