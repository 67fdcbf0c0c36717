//! Monitors whether veth peers still accept redirected frames: the programs' transmit counters are
//! compared with the interfaces' counters.
use crate::attach::{Links, Wired, sent_by};
use crate::ports::PORTS;
use crate::switch::XdpSwitch;

/// Of the frames of one poll, this fraction plus this number may be missing, since they are in
/// flight.
const IN_FLIGHT_FRACTION: u64 = 64;
const IN_FLIGHT_MIN: u64 = 16;
/// This many consecutive polls have to find frames missing.
const POLLS: u32 = 2;

/// The history of the peers.
#[derive(Debug, Default)]
pub struct PeerMonitor {
    before: Option<(u64, u64)>,
    missing: u32,
}

impl PeerMonitor {
    /// Polls the peers. Returns whether one drops redirected frames: then
    /// [attach](XdpSwitch::attach) the ports again.
    pub fn poll(&mut self, switch: &XdpSwitch, ports: &[Wired], links: &Links) -> bool {
        if !links.in_driver {
            return false;
        }
        let redirected =
            (0..PORTS).map(|port| switch.port(port)).map(|port| port.left + port.bypassed).sum();
        let sent = ports.iter().map(|port| sent_by(&port.interface)).sum();
        self.missing = match self.before.replace((redirected, sent)) {
            Some(before) if are_missing(before, (redirected, sent)) => self.missing + 1,
            _ => 0,
        };
        // An overloaded link loses frames too, so the peers are probed.
        self.missing >= POLLS && {
            self.missing = 0;
            ports.iter().any(|port| !switch.accepts_redirected(port))
        }
    }
}

/// Whether far fewer frames were sent than redirected.
fn are_missing(before: (u64, u64), now: (u64, u64)) -> bool {
    let redirected = now.0.saturating_sub(before.0);
    let sent = now.1.saturating_sub(before.1);
    sent + redirected / IN_FLIGHT_FRACTION + IN_FLIGHT_MIN < redirected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_in_flight_are_not_missing() {
        assert!(!are_missing((0, 0), (IN_FLIGHT_MIN, 0)));
        assert!(are_missing((0, 0), (IN_FLIGHT_MIN + 2, 0)));
        assert!(!are_missing((1000, 5000), (101_000, 103_500)));
        assert!(are_missing((1000, 5000), (101_000, 103_000)));
        // Other senders use the interface, too.
        assert!(!are_missing((0, 0), (100, 1000)));
    }
}
