//! `martlet-lab upf`: cost of packets and sessions in the `xdp` datapath, beside minimal programs
//! and beside the `kernel` datapath.
//!
//! | file | content |
//! | --- | --- |
//! | `cost` | nanoseconds per packet, by BPF_PROG_TEST_RUN |
//! | `links` | packets over virtual links: throughput, loss, latency, CPU time |
//! | `n4` | N4: sessions per second, memory, and packets lost while rules change |
//! | `onboard` | the study of a satellite board: sessions, shares, memory contention, temperature |
//! | `external` | UPFs of any vendor, by N4, N3 and N6 |
//! | `smf` | a minimal SMF |
//! | `dut` | the device under test: a datapath with sessions, and its links |
//! | `frames` | a generator that sends frames at a constant rate |
//! | `report` | tables and plots |
mod cost;
mod dut;
mod external;
mod frames;
pub(crate) mod links;
mod n4;
pub(crate) mod onboard;
mod report;
mod smf;

use crate::{Output, RunArgs};
use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
pub(crate) use dut::raise_n3_mtu;
#[cfg(test)]
pub(crate) use dut::switch_run;
pub use external::{ExternalUpfArgs, Target};
pub use onboard::{BoardChoice, MemoryLoadArgs, UpfMemoryArgs, print_memory, use_memory};
use rand::{SeedableRng, rngs::StdRng};

/// A part of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Nanoseconds per packet
    Cost,
    /// Packets over virtual links
    Links,
    /// N4
    N4,
    /// The study of a satellite board
    Onboard,
}

/// Measures the cost of packets and sessions.
#[derive(Debug, Clone, Default, Args)]
pub struct UpfArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Parts to measure [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub parts: Vec<Part>,
    /// Part onboard: whose computing power and temperature are measured
    #[arg(long, value_enum, default_value_t, value_name = "BOARD")]
    pub board: BoardChoice,
    /// Part onboard: seconds for which each load is held before it is measured, so that a real
    /// board reaches its temperature
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    pub hold: u64,
    /// The least work that covers all code, for a test.
    #[arg(long, hide = true)]
    pub least: bool,
    /// UPFs of any vendor.
    #[command(flatten)]
    pub external: ExternalUpfArgs,
}

impl UpfArgs {
    /// A value for the full run, for --quick, or for a test.
    fn pick<T>(&self, full: T, quick: T, least: T) -> T {
        match (self.least, self.run.quick) {
            (true, _) => least,
            (_, true) => quick,
            _ => full,
        }
    }

    /// Points of a study; in a test the first and the last one only.
    fn points<T: Copy>(&self, all: &[T]) -> Vec<T> {
        match all {
            [first, .., last] if self.least => vec![*first, *last],
            _ => all.to_vec(),
        }
    }
}

/// Rules of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// One PDR with a FAR in each direction.
    Far,
    /// As `Far`, and a QER with a maximum bit rate.
    Qer,
    /// As `Far`, and a URR with a volume threshold.
    Urr,
    /// One PDR with FAR, QER and two URRs in each direction.
    Full,
    /// As `Full`, after 31 PDRs with filters that do not match.
    Full32,
    /// As `Far`, and NAT of the UE's address.
    Nat,
}

impl Rules {
    fn pdrs(self) -> u32 {
        if self == Rules::Full32 { 32 } else { 1 }
    }

    fn has_qer(self) -> bool {
        matches!(self, Rules::Qer | Rules::Full | Rules::Full32)
    }

    fn urrs(self) -> impl Iterator<Item = u32> {
        match self {
            Rules::Far | Rules::Qer | Rules::Nat => 1..1,
            Rules::Urr => 1..2,
            Rules::Full | Rules::Full32 => 1..3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Rules::Far => "far",
            Rules::Qer => "qer",
            Rules::Urr => "urr",
            Rules::Full => "full",
            Rules::Full32 => "pdrs32",
            Rules::Nat => "nat",
        }
    }
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace or to load programs, or a program does not
/// forward.
pub fn run(args: &UpfArgs) -> Result<String> {
    let wanted = |part| args.parts.is_empty() || args.parts.contains(&part);
    let header = "part,case,variant,direction,round,value,second";
    let mut output = Output::create("upf", &args.run, header)?.short(args.least);
    if args.external.target == Target::External {
        ensure!(args.parts.is_empty(), "--parts are for --target martlet");
        external::measure(&mut output, args)?;
        return output.finish();
    }
    let mut random = StdRng::seed_from_u64(args.run.seed);
    if wanted(Part::Cost) {
        let cases = cost::measure(&mut output, args, &mut random)?;
        report::cost(&mut output, &cases)?;
    }
    if wanted(Part::Links) {
        links::measure(&mut output, args)?;
        report::links(&mut output)?;
    }
    if wanted(Part::N4) {
        let sessions = n4::measure(&mut output, args)?;
        report::n4(&mut output, sessions);
    }
    if wanted(Part::Onboard) {
        onboard::measure(&mut output, args)?;
    }
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A debug build gives no meaningful values.
    #[test]
    fn cost_links_and_n4_write_raw_data_figures_and_plots() {
        if !nix::unistd::geteuid().is_root() {
            return println!("SKIPPED: network namespaces and eBPF programs need root");
        }
        let folder = std::env::temp_dir().join(format!("martlet-lab-upf-{}", std::process::id()));
        let options = RunArgs { out: Some(folder.clone()), quick: true, ..RunArgs::default() };
        // `reproduce` has a test that runs the study on a board.
        let parts = vec![Part::Cost, Part::Links, Part::N4];
        let args = UpfArgs { run: options, least: true, parts, ..UpfArgs::default() };
        let report = run(&args).unwrap();
        for heading in ["Cost of a packet", "Packets over links", "## N4"] {
            assert!(report.contains(heading), "no {heading:?} in {report}");
        }
        let summary: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.join("summary.json")).unwrap()).unwrap();
        let value = |id: &str| {
            let figures = summary["figures"].as_array().unwrap();
            let figure = figures.iter().find(|figure| figure["id"] == id);
            figure.unwrap_or_else(|| panic!("no figure {id}"))["value"].as_f64().unwrap()
        };
        assert!(value("ns_per_packet.xdp.uplink_1_sessions.median") > 0.0);
        assert!(value("pps.xdp.downlink_64.median") > 0.0);
        assert!(value("n4.xdp.delete_500") > 0.0);
        assert!(value("n4.xdp.session_beside_500_over_1") > 0.0);
        // 2 rules and more of 500 sessions in the tables, and the program itself.
        assert!(value("memory.xdp.sessions500") > 1.0);
        assert_eq!(value("lost.xdp.while_1000_modified"), 0.0);
        for plot in ["cost", "cost-of-rules", "loss", "cpu", "sizes"] {
            assert_eq!(
                &std::fs::read(folder.join(format!("{plot}.png"))).unwrap()[..4],
                b"\x89PNG"
            );
        }
        let raw = std::fs::read_to_string(folder.join("raw.csv")).unwrap();
        for part in ["cost,", "full_rate,", "rate,", "latency,", "control,"] {
            assert!(raw.lines().any(|line| line.starts_with(part)), "no {part} in raw.csv");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
