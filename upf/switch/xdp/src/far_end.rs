//! Monitors whether veth peers still accept redirected frames: the programs' transmit counters are
//! compared with the interfaces' counters.
use crate::attach::{Links, Wired};
use crate::switch::{PORTS, XdpSwitch};

/// Of the frames of one poll, this fraction plus this number may be missing, since they are in
/// flight.
const PART: u64 = 64;
const FEW: u64 = 16;
/// This many consecutive polls have to find frames missing.
const LOOKS: u32 = 2;

/// Packets that an interface has sent; 0 where the kernel does not report it.
pub(crate) fn sent_by(interface: &str) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        (name.trim() == interface).then(|| numbers.split_whitespace().nth(9)?.parse().ok())?
    };
    table.lines().find_map(line).unwrap_or(0)
}

/// The history of the peers.
#[derive(Debug, Default)]
pub struct FarEnds {
    before: Option<(u64, u64)>,
    missing: u32,
}

impl FarEnds {
    /// To be polled. Returns whether a peer drops redirected frames: then
    /// [attach](XdpSwitch::attach) the ports again.
    pub fn lose(&mut self, switch: &XdpSwitch, ports: &[Wired], links: &Links) -> bool {
        if !links.in_driver {
            return false;
        }
        let given =
            (0..PORTS).map(|port| switch.port(port)).map(|port| port.left + port.bypassed).sum();
        let sent = ports.iter().map(|port| sent_by(&port.interface)).sum();
        self.missing = match self.before.replace((given, sent)) {
            Some(before) if are_missing(before, (given, sent)) => self.missing + 1,
            _ => 0,
        };
        // An overloaded link loses frames too, so the peers are probed.
        self.missing >= LOOKS && {
            self.missing = 0;
            ports.iter().any(|port| !switch.is_taken(port))
        }
    }
}

/// Whether far fewer frames were sent than redirected.
fn are_missing(before: (u64, u64), now: (u64, u64)) -> bool {
    let given = now.0.saturating_sub(before.0);
    let sent = now.1.saturating_sub(before.1);
    sent + given / PART + FEW < given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_in_flight_are_not_missing() {
        assert!(!are_missing((0, 0), (FEW, 0)));
        assert!(are_missing((0, 0), (FEW + 2, 0)));
        assert!(!are_missing((1000, 5000), (101_000, 103_500)));
        assert!(are_missing((1000, 5000), (101_000, 103_000)));
        // Others send there, too.
        assert!(!are_missing((0, 0), (100, 1000)));
    }
}
