//! Whether the far ends of veth go on taking frames that programs send: what programs have given to
//! interfaces is compared with what these say that they have sent.
use crate::attach::{Links, Wired};
use crate::switch::{PORTS, XdpSwitch};

/// Of the frames of one look, this part and so many more may be missing: they are on their way.
const PART: u64 = 64;
const FEW: u64 = 16;
/// So many looks in succession have to find frames missing.
const LOOKS: u32 = 2;

/// Packets that an interface has sent; 0 where that is not told.
pub(crate) fn sent_by(interface: &str) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        (name.trim() == interface).then(|| numbers.split_whitespace().nth(9)?.parse().ok())?
    };
    table.lines().find_map(line).unwrap_or(0)
}

/// What was seen of far ends.
#[derive(Debug, Default)]
pub struct FarEnds {
    before: Option<(u64, u64)>,
    missing: u32,
}

impl FarEnds {
    /// To be called again and again. Whether frames of programs get lost at a far end: then the
    /// ports want to be [attached](XdpSwitch::attach) anew.
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
        // Frames get lost on a link that is overloaded, too: so they are asked.
        self.missing >= LOOKS && {
            self.missing = 0;
            ports.iter().any(|port| !switch.is_taken(port))
        }
    }
}

/// Whether what was sent does not come near to what was given.
fn are_missing(before: (u64, u64), now: (u64, u64)) -> bool {
    let given = now.0.saturating_sub(before.0);
    let sent = now.1.saturating_sub(before.1);
    sent + given / PART + FEW < given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_under_way_are_not_missing() {
        assert!(!are_missing((0, 0), (FEW, 0)));
        assert!(are_missing((0, 0), (FEW + 2, 0)));
        assert!(!are_missing((1000, 5000), (101_000, 103_500)));
        assert!(are_missing((1000, 5000), (101_000, 103_000)));
        // Others send there, too.
        assert!(!are_missing((0, 0), (100, 1000)));
    }
}
