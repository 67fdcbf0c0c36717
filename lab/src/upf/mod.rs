//! `martlet lab upf`: what packets and sessions cost in the `xdp` datapath, beside programs that do the least, and beside
//! the `kernel` datapath.
//!
//! | file | what it measures |
//! | --- | --- |
//! | `cost` | nanoseconds for a packet, by running programs on packets |
//! | `wire` | packets over virtual links: how many, at which loss, how late, at what processor time |
//! | `control` | N4: sessions a second, memory, and packets lost while rules change |
//! | `onboard` | the satellite board: sessions, shares, contention for memory, heat |
//! | `bed`, `report` | datapaths with sessions in them; tables and plots |
mod bed;
mod control;
mod cost;
mod onboard;
mod report;
pub(crate) mod wire;

use crate::Output;
use anyhow::Result;
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
/// There is no right to make a network namespace or to load programs, or a program does not forward.
pub fn run(args: &UpfArgs) -> Result<String> {
    let wanted = |part| args.parts.is_empty() || args.parts.contains(&part);
    let mut output = Output::create("upf", args.out.as_deref(), "part,case,variant,direction,round,value,second")?;
    let mut random = StdRng::seed_from_u64(args.seed);
    if wanted(Part::Cost) {
        cost::measure(&mut output, args.quick, &mut random)?;
        report::cost(&mut output)?;
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
