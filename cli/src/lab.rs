//! `martlet lab`: the experiments.
use anyhow::Result;
use clap::Subcommand;

/// The experiments; each leaves raw data, figures, a report and plots in a folder.
#[derive(Subcommand)]
pub enum LabCommand {
    /// Latency of control-plane procedures for one and for many UEs, for each way of running the
    /// core
    ControlPlane(martlet_lab::control_plane::ControlPlaneArgs),
    /// What one service call costs, for each way of carrying it between two processes
    Sbi(martlet_lab::sbi::SbiArgs),
    /// What a core uses that has nothing to do: processor time and memory of its functions
    Idle(martlet_lab::control_plane::IdleArgs),
    /// Many phones: a storm, registrations a second, memory, and how soon a killed core, AMF or SMF
    /// is there again
    Crowd(martlet_lab::control_plane::CrowdArgs),
    /// What a packet costs in the xdp datapath, beside programs that do the least
    Upf(martlet_lab::upf::UpfArgs),
    /// Packets a second of the programmable switch in memory, by frame size and number of rules
    Switch(martlet_lab::switch::SwitchArgs),
    /// How long LCS-UPP takes to carry a payload to the LMF and back, for each secure channel
    LcsUpp(martlet_lab::lcs_upp::LcsUppArgs),
    #[command(hide = true)]
    SbiServer(martlet_lab::sbi::SbiServerArgs),
    #[command(hide = true)]
    LcsUppServer(martlet_lab::lcs_upp::LcsUppServerArgs),
    #[command(hide = true)]
    LcsUppClient(martlet_lab::lcs_upp::LcsUppClientArgs),
}

/// Runs an experiment and prints its report.
///
/// # Errors
/// The experiment did not run to its end.
pub fn run(command: LabCommand) -> Result<()> {
    let report = match command {
        LabCommand::ControlPlane(args) => martlet_lab::control_plane::run(&args)?,
        LabCommand::Sbi(args) => martlet_lab::sbi::run(&args)?,
        LabCommand::Idle(args) => martlet_lab::control_plane::run_idle(&args)?,
        LabCommand::Crowd(args) => martlet_lab::control_plane::run_crowd(&args)?,
        LabCommand::Upf(args) => martlet_lab::upf::run(&args)?,
        LabCommand::Switch(args) => martlet_lab::switch::run(&args)?,
        LabCommand::LcsUpp(args) => martlet_lab::lcs_upp::run(&args)?,
        LabCommand::LcsUppServer(args) => return martlet_lab::lcs_upp::serve(args),
        LabCommand::LcsUppClient(args) => return martlet_lab::lcs_upp::ask(args),
        LabCommand::SbiServer(args) => {
            return crate::runtime::block_on(martlet_lab::sbi::serve(args));
        }
    };
    print!("{report}");
    Ok(())
}
