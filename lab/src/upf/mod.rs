//! `martlet lab upf`: what packets and sessions cost in the `xdp` datapath, beside programs that do
//! the least, and beside the `kernel` datapath.
//!
//! | file | what it measures |
//! | --- | --- |
//! | `cost` | nanoseconds for a packet, by running programs on packets |
//! | `wire` | packets over virtual links: how many, at which loss, how late, at what processor time |
//! | `control` | N4: sessions a second, memory, and packets lost while rules change |
//! | `onboard` | the satellite board: sessions, shares, contention for memory, heat |
//! | `sender` | packets that are sent evenly |
//! | `bed`, `report` | datapaths with sessions in them; tables and plots |
mod bed;
mod control;
mod cost;
mod onboard;
mod report;
mod sender;
pub(crate) mod wire;

use crate::Output;
use anyhow::Result;
pub(crate) use bed::longest_frames;
use clap::{Args, ValueEnum};
use rand::{SeedableRng, rngs::StdRng};
use std::path::PathBuf;

/// A part of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Nanoseconds for a packet.
    Cost,
    /// Packets over virtual links.
    Wire,
    /// N4.
    Control,
    /// The study of the satellite board.
    Onboard,
}

/// Measures what packets and sessions cost.
#[derive(Debug, Clone, Args)]
pub struct UpfArgs {
    /// Folder for raw data, report and plots (lab-results/upf-TIME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Few rounds, in under a minute, for a look
    #[arg(long)]
    pub quick: bool,
    /// Seed for the order of the runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only these parts of it
    #[arg(long, value_enum, value_delimiter = ',')]
    pub parts: Vec<Part>,
    /// As little as shows that it works, for a test.
    #[arg(skip)]
    pub least: bool,
}

impl UpfArgs {
    /// One of three values: in full, for a look, and for a test.
    fn pick<T>(&self, full: T, quick: T, least: T) -> T {
        match (self.least, self.quick) {
            (true, _) => least,
            (_, true) => quick,
            _ => full,
        }
    }

    /// Points of a study; for a test the first and the last one.
    fn points<T: Copy>(&self, all: &[T]) -> Vec<T> {
        match all {
            [first, .., last] if self.least => vec![*first, *last],
            _ => all.to_vec(),
        }
    }
}

/// What rules the sessions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// One PDR each way, with a FAR.
    Far,
    /// And a QER with a maximum bit rate.
    Qer,
    /// One PDR with a FAR, and a URR with a volume threshold.
    Urr,
    /// One PDR each way, with FAR, QER and two URRs.
    Full,
    /// The same, behind 31 PDRs with filters that do not match.
    Full32,
    /// One PDR with a FAR, and translation of the UE's address.
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
    let mut output = Output::create(
        "upf",
        args.out.as_deref(),
        "part,case,variant,direction,round,value,second",
    )?;
    let mut random = StdRng::seed_from_u64(args.seed);
    if wanted(Part::Cost) {
        let cases = cost::measure(&mut output, args, &mut random)?;
        report::cost(&mut output, &cases)?;
    }
    if wanted(Part::Wire) {
        wire::measure(&mut output, args)?;
        report::wire(&mut output)?;
    }
    if wanted(Part::Control) {
        control::measure(&mut output, args)?;
        report::control(&mut output);
    }
    if wanted(Part::Onboard) {
        onboard::measure(&mut output, args)?;
    }
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every part runs to its end, and leaves data, figures and plots. What it measures is of no
    /// worth here.
    #[test]
    fn the_whole_study_runs() {
        if !nix::unistd::geteuid().is_root() {
            return println!("SKIPPED: network namespaces and programs of the kernel need root");
        }
        let folder = std::env::temp_dir().join(format!("martlet-lab-upf-{}", std::process::id()));
        let args =
            UpfArgs { out: Some(folder.clone()), quick: true, seed: 1, parts: vec![], least: true };
        let report = run(&args).unwrap();
        for heading in ["What a packet costs", "Packets over links", "## N4", "satellite board"] {
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
        assert_eq!(value("lost.xdp.while_1000_modified"), 0.0);
        // It never is 0: the generator alone takes something.
        assert!(value("onboard_busy.xdp.sessions500.median") > 0.0);
        assert!(value("same_load_busy.kernel.60.median") > 0.0);
        let plots = [
            "cost",
            "cost-of-rules",
            "loss",
            "processor",
            "sizes",
            "onboard-loss",
            "onboard-heat",
            "onboard-sessions",
        ];
        for plot in plots {
            assert_eq!(
                &std::fs::read(folder.join(format!("{plot}.png"))).unwrap()[..4],
                b"\x89PNG"
            );
        }
        let raw = std::fs::read_to_string(folder.join("raw.csv")).unwrap();
        for part in
            ["cost,", "flat_out,", "rate,", "latency,", "control,", "onboard,", "same_load,"]
        {
            assert!(raw.lines().any(|line| line.starts_with(part)), "no {part} in raw.csv");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
