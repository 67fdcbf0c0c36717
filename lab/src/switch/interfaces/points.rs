//! The points measured over interfaces, and the names of their figures.
use crate::Output;
use martlet_upf::config::{DatapathChoice, SwitchEngine};

/// The devices under test between the links. The first is a link alone, which gives the cost of the
/// tester.
pub(super) const VARIANTS: [(&str, Option<DatapathChoice>, SwitchEngine); 5] = [
    ("tester", None, SwitchEngine::Swx),
    ("kernel", Some(DatapathChoice::Kernel), SwitchEngine::Swx),
    ("xdp", Some(DatapathChoice::Xdp), SwitchEngine::Swx),
    ("switch", Some(DatapathChoice::Switch), SwitchEngine::Swx),
    ("switch_xdp", Some(DatapathChoice::Switch), SwitchEngine::Xdp),
];
/// The devices whose rates are confirmed by trials of full length: both engines, and the baseline
/// that they are compared with.
pub(super) const CONFIRMED: [&str; 3] = ["kernel", "switch", "switch_xdp"];
/// Users that send packets, and rules in each direction.
pub(super) const LOADS: [(u32, u32); 4] = [(1, 1), (1, 1_000), (100, 1_000), (10_000, 100_000)];
/// Frame sizes that are measured with every load.
pub(super) const COMMON_FRAMES: [u32; 3] = [64, 512, 1518];
/// Measured quantiles of latencies.
pub(super) const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];
/// The smallest packet of a UE with room for its timestamp.
const MIN_PACKET: u32 = 36;

/// Length in bytes of a UE's packet within a received frame of a size of RFC 2544, which includes
/// the FCS of 4 bytes.
pub(super) fn packet(frame: u32, uplink: bool) -> u32 {
    frame.saturating_sub(18 + if uplink { 44 } else { 0 }).max(MIN_PACKET)
}

/// Length in bytes of the received frame, with FCS.
pub(super) fn frame_length(frame: u32, uplink: bool) -> u32 {
    packet(frame, uplink) + 18 + if uplink { 44 } else { 0 }
}

/// A measured point: direction, frame size and load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub direction: &'static str,
    pub frame: u32,
    pub load: (u32, u32),
}

/// The name of a load in figures.
pub(super) fn load_name((users, rules): (u32, u32)) -> String {
    format!("{users}u_{rules}r")
}

impl Point {
    /// The ID of a figure at this point.
    pub fn id(&self, what: &str, variant: &str, statistic: &str) -> String {
        let Point { direction, frame, load } = self;
        format!("{what}.{variant}.{direction}_{frame}_{}_interface.{statistic}", load_name(*load))
    }

    /// The value of a figure; NaN where it was not measured.
    pub fn value(&self, output: &Output, what: &str, variant: &str, statistic: &str) -> f64 {
        output.find(&self.id(what, variant, statistic)).map_or(f64::NAN, |figure| figure.value)
    }

    /// Packets per second without loss, with the tester on the same CPU.
    pub fn rate(&self, output: &Output, variant: &str) -> f64 {
        self.value(output, "pps", variant, "loss_free")
    }

    /// Packets per second without loss, without the CPU time of the tester.
    pub fn own_rate(&self, output: &Output, variant: &str) -> f64 {
        self.value(output, "pps_own", variant, "loss_free")
    }

    /// Latency in microseconds, without that of tester and links.
    pub fn latency(&self, output: &Output, variant: &str, quantile: &str) -> f64 {
        self.value(output, "latency", variant, quantile)
    }

    /// The same point with the first load, the only one that the tester alone is measured with.
    pub fn unloaded(self) -> Point {
        Point { load: LOADS[0], ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_of_rfc_2544() {
        assert_eq!((packet(1518, false), frame_length(1518, false)), (1500, 1518));
        assert_eq!((packet(1518, true), frame_length(1518, true)), (1456, 1518));
        assert_eq!((packet(64, false), frame_length(64, false)), (46, 64));
        // The smallest frame with a tunnel.
        assert_eq!((packet(64, true), frame_length(64, true)), (36, 98));
    }
}
