//! `martlet lab`: the experiments.
use anyhow::Result;
use clap::Subcommand;

/// The experiments; each leaves raw data, figures, a report and plots in a folder.
#[derive(Subcommand)]
pub enum LabCommand {
    /// Latency of control-plane procedures for one and for many UEs, for each way of running the core
    ControlPlane(martlet_lab::control_plane::ControlPlaneArgs),
}

/// Runs an experiment and prints its report.
///
/// # Errors
/// The experiment did not run to its end.
pub fn run(command: LabCommand) -> Result<()> {
    let report = match command {
        LabCommand::ControlPlane(args) => martlet_lab::control_plane::run(&args)?,
    };
    print!("{report}");
    Ok(())
}
