//! What is measured over interfaces, and how its figures are called: for those who measure, and
//! those who report.
use crate::Output;
use martlet_upf::config::{DatapathChoice, SwitchEngine};

/// What is between the links. The first is a link alone: what the tester itself takes.
pub(super) const VARIANTS: [(&str, Option<DatapathChoice>, SwitchEngine); 5] = [
    ("tester", None, SwitchEngine::Swx),
    ("kernel", Some(DatapathChoice::Kernel), SwitchEngine::Swx),
    ("xdp", Some(DatapathChoice::Xdp), SwitchEngine::Swx),
    ("switch", Some(DatapathChoice::Switch), SwitchEngine::Swx),
    ("switch_xdp", Some(DatapathChoice::Switch), SwitchEngine::Xdp),
];
/// Users whose packets come, and rules of each way that are there.
pub(super) const LOADS: [(u32, u32); 4] = [(1, 1), (1, 1_000), (100, 1_000), (10_000, 100_000)];
/// Frames that are measured with every load.
pub(super) const FEW: [u32; 3] = [64, 512, 1518];
/// Of latencies.
pub(super) const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];
/// The least packet of a UE that has room for the time at which it was made.
const LEAST: u32 = 36;

/// Octets of a UE's packet in a frame of RFC 2544, which has its checksum of 4, on the side where
/// it comes in.
pub(super) fn packet(frame: u32, uplink: bool) -> u32 {
    frame.saturating_sub(18 + if uplink { 44 } else { 0 }).max(LEAST)
}

/// Octets of the frame that comes in, with its checksum.
pub(super) fn octets(frame: u32, uplink: bool) -> u32 {
    packet(frame, uplink) + 18 + if uplink { 44 } else { 0 }
}

/// A direction, a size of frames and a load, of which there are figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub direction: &'static str,
    pub frame: u32,
    pub load: (u32, u32),
}

/// Users and rules, as they are called in figures.
pub(super) fn load_name((users, rules): (u32, u32)) -> String {
    format!("{users}u_{rules}r")
}

impl Point {
    /// The figure of something at this point.
    pub fn id(&self, what: &str, variant: &str, statistic: &str) -> String {
        let Point { direction, frame, load } = self;
        format!("{what}.{variant}.{direction}_{frame}_{}_interface.{statistic}", load_name(*load))
    }

    /// Its value; not a number where it was not measured.
    pub fn value(&self, output: &Output, what: &str, variant: &str, statistic: &str) -> f64 {
        output.find(&self.id(what, variant, statistic)).map_or(f64::NAN, |figure| figure.value)
    }

    /// Packets a second without a loss, the tester's share in them.
    pub fn rate(&self, output: &Output, variant: &str) -> f64 {
        self.value(output, "pps", variant, "loss_free")
    }

    /// The same by what a variant takes of the processor by itself.
    pub fn own_rate(&self, output: &Output, variant: &str) -> f64 {
        self.value(output, "pps_own", variant, "loss_free")
    }

    /// Microseconds, less what tester and links take.
    pub fn latency(&self, output: &Output, variant: &str, quantile: &str) -> f64 {
        self.value(output, "latency", variant, quantile)
    }

    /// The same of the first load, which the tester alone is measured with.
    pub fn unloaded(self) -> Point {
        Point { load: LOADS[0], ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_of_rfc_2544() {
        assert_eq!((packet(1518, false), octets(1518, false)), (1500, 1518));
        assert_eq!((packet(1518, true), octets(1518, true)), (1456, 1518));
        assert_eq!((packet(64, false), octets(64, false)), (46, 64));
        // Smaller there is none in a tunnel.
        assert_eq!((packet(64, true), octets(64, true)), (36, 98));
    }
}
