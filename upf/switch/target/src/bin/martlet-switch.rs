//! The switch process. `martlet switch run` starts it; see there.
use clap::{Parser, Subcommand, ValueEnum};
use martlet_switch_target::bench::{self, Bench, Way};
use martlet_switch_target::serve::{Settings, serve};
use martlet_switch_target::{Engine, issue, sockets};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(name = "martlet-switch", about = "The programmable switch of the user plane, on DPDK's software switch")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum Engines {
    Best,
    Interpreter,
    MachineCode,
}

impl Engines {
    fn engine(self) -> Engine {
        match self {
            Engines::Best => Engine::best(),
            Engines::Interpreter => Engine::Interpreter,
            Engines::MachineCode => Engine::MachineCode,
        }
    }
}

#[derive(clap::Args)]
struct Run {
    /// Where P4Runtime is served
    #[arg(long, default_value = "127.0.0.1:9559")]
    listen: SocketAddr,
    /// Interface towards gNBs
    #[arg(long, requires = "native_n3")]
    access: Option<String>,
    /// Interface towards the native UPF, on the wire of N3
    #[arg(long, requires = "access")]
    native_n3: Option<String>,
    /// Interface towards the data network
    #[arg(long, requires = "native_n6")]
    core: Option<String>,
    /// Interface towards the native UPF, on the wire of N6
    #[arg(long, requires = "core")]
    native_n6: Option<String>,
    /// Folder in which rules and counters are kept
    #[arg(long)]
    state: Option<PathBuf>,
    /// MiB for tables and packets
    #[arg(long, default_value_t = 768)]
    memory: u32,
    /// How the pipeline runs
    #[arg(long, value_enum, default_value = "best")]
    engine: Engines,
    /// Number of the device in P4Runtime
    #[arg(long, default_value_t = 1)]
    device: u64,
    /// Do not start the switch again when it fails
    #[arg(long)]
    once: bool,
    /// End when the process that started this one ends
    #[arg(long)]
    with_parent: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Run the switch, and start it again should it fail
    Run(Run),
    /// Take the kernel's own forwarding between two interfaces away, which stays when a switch ends
    Part { one: String, other: String },
    /// Have peers on veth send frames with their checksums, one packet each, as a wire would carry them
    Plain { interfaces: Vec<String> },
    /// Measure the pipeline in memory, and write what was measured as JSON
    Bench {
        /// Packets out of tunnels, or into them; or rules that are issued over P4Runtime while packets pass
        #[arg(value_parser = ["decap", "encap", "issue"])]
        way: String,
        #[arg(long, default_value_t = 1)]
        rules: u32,
        #[arg(long, default_value_t = 64)]
        frame: usize,
        #[arg(long, default_value_t = 10)]
        samples: u32,
        #[arg(long)]
        metered: bool,
        #[arg(long, value_enum, default_value = "best")]
        engine: Engines,
    },
}

fn run(arguments: &Run) -> Result<(), String> {
    let wire = |peer: &Option<String>, native: &Option<String>| Some((peer.clone()?, native.clone()?));
    let settings = Settings {
        listen: arguments.listen,
        n3: wire(&arguments.access, &arguments.native_n3),
        n6: wire(&arguments.core, &arguments.native_n6),
        state: arguments.state.clone(),
        memory: arguments.memory,
        engine: arguments.engine.engine(),
        device: arguments.device,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(serve(settings, async {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).expect("signals");
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    }))
}

/// Runs the switch as a child, and again when it fails. While there is none, the kernel forwards between the wires' ends.
fn watch() -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    loop {
        let started = Instant::now();
        let mut command = std::process::Command::new(&program);
        command.args(std::env::args_os().skip(1)).arg("--once");
        // SAFETY: prctl is safe between fork and exec. The child ends with us, however we end.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut command, || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let mut child = command.spawn().map_err(|error| format!("the switch cannot be started: {error}"))?;
        let status = child.wait().map_err(|error| error.to_string())?;
        if status.success() {
            return Ok(());
        }
        if started.elapsed() < Duration::from_secs(1) {
            return Err(format!("the switch ended at once ({status}); see what it said"));
        }
        tracing::warn!(%status, "the switch ended: packets take the native path, and it starts again");
    }
}

fn measure(bench: &Bench) -> Result<(), String> {
    let measured = bench::run(bench)?;
    let json = serde_json::json!({
        "way": format!("{:?}", bench.way), "rules": bench.rules, "frame": bench.frame, "engine": bench.engine.name(),
        "metered": bench.metered, "packets_per_second": measured.packets_per_second,
        "octets_out": measured.octets_out, "seconds_writing_rules": measured.writing,
    });
    println!("{json}");
    Ok(())
}

fn issue(rules: u32, samples: u32, engine: Engine) -> Result<(), String> {
    let issued = issue::run(rules, samples, engine)?;
    let json = serde_json::json!({
        "rules": rules, "engine": engine.name(), "seconds": issued.seconds, "packets": issued.sent,
        "lost": issued.lost, "overtaken": issued.overtaken,
    });
    println!("{json}");
    Ok(())
}

fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let outcome = match Arguments::parse().command {
        Command::Run(arguments) if arguments.once => run(&arguments),
        Command::Run(arguments) if arguments.with_parent => {
            let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM);
            watch()
        }
        Command::Run(_) => watch(),
        Command::Part { one, other } => {
            sockets::part(&one, &other);
            Ok(())
        }
        Command::Plain { interfaces } => {
            interfaces.iter().try_for_each(|interface| sockets::plain(interface)).map_err(|error| error.to_string())
        }
        Command::Bench { way, rules, samples, engine, .. } if way == "issue" => {
            issue(rules.max(1), samples, engine.engine())
        }
        Command::Bench { way, rules, frame, samples, metered, engine } => {
            let way = if way == "decap" { Way::Decapsulation } else { Way::Encapsulation };
            measure(&Bench { way, rules: rules.max(1), frame, samples, metered, engine: engine.engine() })
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("martlet-switch: {error}");
            ExitCode::FAILURE
        }
    }
}
