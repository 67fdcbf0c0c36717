//! `martlet switch`: RPI, the rules parser and issue of the programmable switch.
mod commands;
mod shell;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use martlet_switch_control::client::Client;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of RPI.
#[derive(Args)]
pub struct SwitchArgs {
    /// Address of the switch's P4Runtime server
    #[arg(long, global = true, default_value = "127.0.0.1:9559")]
    switch: SocketAddr,
    /// Device ID in P4Runtime
    #[arg(long, global = true, default_value_t = 1)]
    device: u64,
    /// File of the switch's token, if it requires one
    #[arg(long, global = true, value_name = "FILE")]
    token: Option<PathBuf>,
    /// Election ID; replaces a primary controller with a lower one
    #[arg(long, global = true)]
    election: Option<u64>,
    #[command(subcommand)]
    command: Option<SwitchCommand>,
}

/// The commands; without one, the shell starts.
#[derive(Subcommand)]
enum SwitchCommand {
    /// Run the switch process; for its options see `martlet-switch run --help`
    #[command(trailing_var_arg = true, allow_hyphen_values = true, disable_help_flag = true)]
    Run {
        /// Arguments of martlet-switch
        arguments: Vec<String>,
    },
    /// Add, change, delete, list, load, save and compare rules
    #[command(subcommand)]
    Rule(RuleCommand),
    /// Show packets and bytes counted by rules
    Counters,
    /// Show counters and their rates repeatedly
    Watch {
        /// Interval in seconds
        #[arg(long, default_value_t = 1)]
        every: u64,
        /// Stop after this many rounds
        #[arg(long)]
        rounds: Option<u32>,
    },
    /// Set a session's meter: rate in bytes per second and burst in bytes; without them, unlimited
    Meter {
        /// Number of the meter
        number: u32,
        /// Bytes per second
        #[arg(long, requires = "burst")]
        rate: Option<u64>,
        /// Burst in bytes
        #[arg(long, requires = "rate")]
        burst: Option<u64>,
    },
    /// An interactive shell, with completion and history
    Shell,
}

/// Commands on rules.
#[derive(Subcommand)]
enum RuleCommand {
    /// Add a rule: decap teid 0x1000 ue 10.60.0.1 via 1
    #[command(trailing_var_arg = true)]
    Add {
        /// Dry run: show what would be written
        #[arg(long)]
        dry_run: bool,
        /// The rule
        #[arg(required = true)]
        rule: Vec<String>,
    },
    /// Show a rule in its table's form without writing it
    #[command(trailing_var_arg = true)]
    Try {
        /// The rule
        #[arg(required = true)]
        rule: Vec<String>,
    },
    /// Change an existing rule
    #[command(trailing_var_arg = true)]
    Set {
        /// The rule
        #[arg(required = true)]
        rule: Vec<String>,
    },
    /// Delete a rule by its key: decap teid 0x1000
    #[command(trailing_var_arg = true)]
    Del {
        /// The rule
        #[arg(required = true)]
        rule: Vec<String>,
    },
    /// List the rules of a kind, or all
    List {
        /// A kind, such as decap
        kind: Option<String>,
    },
    /// Add all rules of a file, or none of them
    Load {
        /// File with one rule per line
        file: PathBuf,
        /// Dry run: show what would be written
        #[arg(long)]
        dry_run: bool,
    },
    /// Write all rules to a file
    Save {
        /// The file
        file: PathBuf,
    },
    /// Compare a file with the switch: - only on the switch, + only in the file
    Diff {
        /// The file
        file: PathBuf,
    },
}

/// Runs a command on this thread.
///
/// # Errors
/// No switch responds, another controller is primary, or a rule is wrong.
pub fn run(args: SwitchArgs) -> Result<()> {
    if let Some(SwitchCommand::Run { arguments }) = &args.command {
        return start(arguments);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let read = |file: &PathBuf| {
            std::fs::read_to_string(file).with_context(|| file.display().to_string())
        };
        let token = args.token.as_ref().map(read).transpose()?;
        let mut client = Client::connect_with(args.switch, args.device, token.as_deref()).await?;
        let election = args.election;
        match args.command {
            None | Some(SwitchCommand::Shell) => shell::run(&mut client, election).await,
            Some(SwitchCommand::Run { .. }) => Ok(()),
            Some(SwitchCommand::Rule(command)) => {
                let line = |verb: &str, rule: &[String]| format!("rule {verb} {}", rule.join(" "));
                let text = match &command {
                    RuleCommand::Add { dry_run: true, rule } | RuleCommand::Try { rule } => {
                        line("try", rule)
                    }
                    RuleCommand::Add { rule, .. } => line("add", rule),
                    RuleCommand::Set { rule } => line("set", rule),
                    RuleCommand::Del { rule } => line("del", rule),
                    RuleCommand::List { kind } => {
                        format!("rule list {}", kind.as_deref().unwrap_or_default())
                    }
                    RuleCommand::Load { file, dry_run } => {
                        return commands::load(&mut client, election, file, *dry_run).await;
                    }
                    RuleCommand::Save { file } => return commands::save(&mut client, file).await,
                    RuleCommand::Diff { file } => return commands::diff(&mut client, file).await,
                };
                commands::line(&mut client, election, &text).await
            }
            Some(SwitchCommand::Counters) => commands::counters(&mut client).await,
            Some(SwitchCommand::Watch { every, rounds }) => {
                commands::watch(&mut client, every.max(1), rounds).await
            }
            Some(SwitchCommand::Meter { number, rate, burst }) => {
                client.become_primary(election).await?;
                Ok(client.set_meter(number, rate.zip(burst)).await?)
            }
        }
    })
}

/// Replaces this process by `martlet-switch`, the only program that needs DPDK.
fn start(arguments: &[String]) -> Result<()> {
    let own = std::env::current_exe().context("cannot determine the path of this program")?;
    let adjacent = own.with_file_name("martlet-switch");
    let program = if adjacent.exists() { adjacent } else { PathBuf::from("martlet-switch") };
    martlet_switch_control::build::check(&program)?;
    let error = std::os::unix::process::CommandExt::exec(
        std::process::Command::new(&program).arg("run").args(arguments),
    );
    bail!(
        "cannot run {} ({error}): build it with make release-switch, or put it next to martlet",
        program.display()
    )
}
