//! The `martlet-lab` program: experiments that measure Martlet and what it is compared with.
#![forbid(unsafe_code)]

use anyhow::Result;
use clap::{Parser, Subcommand};
use martlet_lab::{
    console, control_plane, crowd, idle, instructions, lcs_upp, memory, provisioning, reproduce,
    sbi, scale, serve, switch, upf,
};
use martlet_program::log::LogArgs;
use std::process::ExitCode;

/// Experiments with Martlet: each one measures, keeps raw data, and writes a report with plots.
///
/// Most of them need root: they make network namespaces and interfaces, and remove them again.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Latency of control-plane procedures, for each SBI binding and number of UEs
    ControlPlane(control_plane::ControlPlaneArgs),
    /// Cost of the sandbox: latency and start of a core with and without system call filters and
    /// Landlock
    Sandbox(control_plane::SandboxArgs),
    /// Two builds against each other: latency of procedures, CPU time and memory
    Compare(control_plane::CompareArgs),
    /// Cost of one service call between two processes, for each transport
    Sbi(sbi::SbiArgs),
    /// The northbound API and the console: time of pages, first paint, CPU time of viewers, memory,
    /// and registrations beside them
    Console(console::ConsoleArgs),
    /// CPU time and memory of an idle core
    Idle(idle::IdleArgs),
    /// Instructions of codecs, service calls and procedures, counted by valgrind
    Instructions(instructions::InstructionsArgs),
    /// Memory of a UE at each network function, by its state
    Memory(memory::MemoryArgs),
    /// Many registered UEs at one core: memory of each, and the registration of one more
    Crowd(crowd::CrowdArgs),
    /// Import of many subscribers, and the start of a core with them
    Provisioning(provisioning::ProvisioningArgs),
    /// Many UEs: a registration storm, registrations per second, memory, recovery after a crash
    Scale(scale::ScaleArgs),
    /// Cost of packets and sessions in the user plane
    Upf(upf::UpfArgs),
    /// Packets per second of the programmable switch, by frame size and number of rules
    Switch(switch::SwitchArgs),
    /// Transport time of LCS-UPP messages to the LMF and back, for each secure channel
    LcsUpp(lcs_upp::LcsUppArgs),
    /// The figures of the four papers in one report, beside the papers' values
    Reproduce(reproduce::ReproduceArgs),
    /// Quick runs that the console requests
    Serve(serve::ServeArgs),
    #[command(hide = true)]
    ConsoleViewers(console::ViewersArgs),
    #[command(hide = true)]
    InstructionLoad(instructions::InstructionLoadArgs),
    #[command(hide = true)]
    MemoryLoad(upf::MemoryLoadArgs),
    #[command(hide = true)]
    UpfMemory(upf::UpfMemoryArgs),
    #[command(hide = true)]
    SbiServer(sbi::SbiServerArgs),
    #[command(hide = true)]
    LcsUppServer(lcs_upp::LcsUppServerArgs),
    #[command(hide = true)]
    LcsUppClient(lcs_upp::LcsUppClientArgs),
}

impl Command {
    /// Whether this is a part of an experiment, which another process starts and ends.
    fn is_part(&self) -> bool {
        matches!(
            self,
            Command::ConsoleViewers(_)
                | Command::InstructionLoad(_)
                | Command::MemoryLoad(_)
                | Command::UpfMemory(_)
                | Command::SbiServer(_)
                | Command::LcsUppServer(_)
                | Command::LcsUppClient(_)
        )
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match martlet_program::log::start(&cli.log).and_then(|()| run(cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("martlet-lab: {}", martlet_program::error_text(&error));
            ExitCode::FAILURE
        }
    }
}

/// Runs an experiment and prints its report.
fn run(command: Command) -> Result<()> {
    if !command.is_part() {
        martlet_lab::interruption::end_programs_on_signals()?;
    }
    let report = match command {
        Command::ControlPlane(args) => control_plane::run(&args)?,
        Command::Compare(args) => control_plane::compare(&args)?,
        Command::Sandbox(args) => control_plane::sandbox(&args)?,
        Command::Sbi(args) => sbi::run(&args)?,
        Command::Console(args) => console::run(&args)?,
        Command::Idle(args) => idle::run(&args)?,
        Command::Instructions(args) => instructions::run(&args)?,
        Command::Memory(args) => memory::run(&args)?,
        Command::Crowd(args) => crowd::run(&args)?,
        Command::Provisioning(args) => provisioning::run(&args)?,
        Command::Scale(args) => scale::run(&args)?,
        Command::Upf(args) => upf::run(&args)?,
        Command::Switch(args) => switch::run(&args)?,
        Command::LcsUpp(args) => lcs_upp::run(&args)?,
        Command::Reproduce(args) => reproduce::run(&args)?,
        Command::Serve(args) => return serve::run(&args),
        Command::LcsUppServer(args) => return lcs_upp::serve(args),
        Command::LcsUppClient(args) => return lcs_upp::ask(args),
        Command::ConsoleViewers(args) => return console::view(&args),
        Command::InstructionLoad(args) => return instructions::load(&args),
        Command::MemoryLoad(args) => return upf::use_memory(&args),
        Command::UpfMemory(args) => return upf::print_memory(&args),
        Command::SbiServer(args) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            return runtime.block_on(sbi::serve(args));
        }
    };
    print!("{report}");
    Ok(())
}
