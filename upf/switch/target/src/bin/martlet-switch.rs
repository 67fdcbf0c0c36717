//! The switch process. `martlet switch run` starts it.
use clap::{Parser, Subcommand, ValueEnum};
use martlet_switch_target::access::Access;
use martlet_switch_target::bench::{self, Bench, TunnelOperation};
use martlet_switch_target::ports::Binding;
use martlet_switch_target::serve::{Settings, serve};
use martlet_switch_target::{Engine, ProcessError, in_kernel, issue, parent, sockets};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
#[command(
    name = "martlet-switch",
    about = "The programmable switch of the user plane, on DPDK's software switch or in XDP"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum Engines {
    /// DPDK with the fastest engine of this build; `swx` is another name
    #[value(alias = "swx")]
    Best,
    Interpreter,
    MachineCode,
    /// XDP programs in the kernel, on the ports' interfaces
    Xdp,
}

impl Engines {
    /// Engines on DPDK.
    fn engine(self) -> Engine {
        match self {
            Engines::Best | Engines::Xdp => Engine::best(),
            Engines::Interpreter => Engine::Interpreter,
            Engines::MachineCode => Engine::MachineCode,
        }
    }
}

#[derive(clap::Args)]
struct Run {
    /// Address of the P4Runtime server
    #[arg(long, default_value = "127.0.0.1:9559")]
    listen: SocketAddr,
    /// File of a token that each request has to have, for controllers on other machines
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// User ID that may control the switch, beside root and that of this process
    #[arg(long, value_name = "UID")]
    allow_user: Vec<u32>,
    /// Port towards gNBs: an interface (xdp:IF or packet:IF selects how frames are received), or
    /// capture files, pcap:IN,OUT
    #[arg(long, requires = "native_n3")]
    access: Option<Binding>,
    /// Port towards the native UPF, on the N3 wire
    #[arg(long, requires = "access")]
    native_n3: Option<Binding>,
    /// Port towards the data network
    #[arg(long, requires = "native_n6")]
    core: Option<Binding>,
    /// Port towards the native UPF, on the N6 wire
    #[arg(long, requires = "core")]
    native_n6: Option<Binding>,
    /// Folder for rules and counters that survive a restart
    #[arg(long)]
    state: Option<PathBuf>,
    /// File of initial rules, one per line
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Polling time before a sleep in microseconds; a large number keeps one CPU busy and latency
    /// low. Default: up to 100 where packets arrive that soon, else none
    #[arg(long)]
    spin_us: Option<u64>,
    /// MiB of memory for tables and packets
    #[arg(long, default_value_t = 768)]
    memory: u32,
    /// Engine of the pipeline
    #[arg(long, value_enum, default_value = "best")]
    engine: Engines,
    /// Device ID in P4Runtime
    #[arg(long, default_value_t = 1)]
    device: u64,
    /// Do not restart the switch when it fails
    #[arg(long)]
    once: bool,
    /// End when the parent process ends, which holds the other end of the standard input
    #[arg(long)]
    with_parent: bool,
}

// Constructed once.
#[allow(clippy::large_enum_variant)]
#[derive(Subcommand)]
enum Command {
    /// Run the switch, and restart it when it fails
    Run(Run),
    /// Print the build identity: martlet starts a switch of its own build only
    Build,
    /// Remove the kernel's forwarding between two interfaces, which remains when a switch ends
    Part { one: String, other: String },
    /// Configure the peers of veth interfaces to send complete checksums and no packets above the
    /// MTU
    Plain { interfaces: Vec<String> },
    /// Benchmark the pipeline in memory, and print the results as JSON
    Bench {
        /// Decapsulation, encapsulation, or issue: rules over P4Runtime while packets pass
        #[arg(value_parser = ["decap", "encap", "issue"])]
        operation: String,
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

fn run(arguments: &Run) -> Result<(), ProcessError> {
    let wire =
        |peer: &Option<Binding>, native: &Option<Binding>| Some((peer.clone()?, native.clone()?));
    let settings = Settings {
        listen: arguments.listen,
        access: Access::new(arguments.allow_user.clone(), arguments.token.as_deref())?,
        n3: wire(&arguments.access, &arguments.native_n3),
        n6: wire(&arguments.core, &arguments.native_n6),
        state: arguments.state.clone(),
        rules: arguments.rules.clone(),
        spin: arguments.spin_us.map(Duration::from_micros),
        memory: arguments.memory,
        engine: arguments.engine.engine(),
        device: arguments.device,
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(ProcessError::system("create the async runtime"))?;
    let _entered = runtime.enter();
    let mut terminate = signal(SignalKind::terminate())
        .map_err(ProcessError::system("register the handler of SIGTERM"))?;
    let end = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        parent::end_within(parent::TIMEOUT);
    };
    match arguments.engine {
        Engines::Xdp => runtime.block_on(in_kernel::serve(settings, end)),
        _ => runtime.block_on(serve(settings, end)),
    }
}

/// Runs the switch as a child process, and restarts it when it fails. Meanwhile the kernel forwards
/// between the wires' ends.
fn watch() -> Result<(), ProcessError> {
    let program = std::env::current_exe()
        .map_err(ProcessError::system("determine the path of this program"))?;
    loop {
        let started = Instant::now();
        let mut command = std::process::Command::new(&program);
        command.args(std::env::args_os().skip(1)).arg("--once");
        // The child ends with this process, in any case.
        let own = std::process::id() as i32;
        // SAFETY: prctl, getppid and _exit are async-signal-safe.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut command, move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                // The parent ended before the signal was set.
                if libc::getppid() != own {
                    libc::_exit(1);
                }
                Ok(())
            });
        }
        let mut child =
            command.spawn().map_err(ProcessError::system("start the switch process"))?;
        let status = child.wait().map_err(ProcessError::system("wait for the switch process"))?;
        if parent::was_terminated(status) {
            return Ok(());
        }
        if started.elapsed() < Duration::from_secs(1) {
            return Err(ProcessError::Ended(status));
        }
        tracing::warn!(
            %status,
            "switch process ended: native path in use, restarting"
        );
    }
}

fn measure(bench: &Bench) -> Result<(), ProcessError> {
    let measured = bench::run(bench)?;
    let json = serde_json::json!({
        "operation": format!("{:?}", bench.operation), "rules": bench.rules, "frame": bench.frame,
            "engine": bench.engine.name(),
        "metered": bench.metered, "packets_per_second": measured.packets_per_second,
        "bytes_out": measured.bytes_out, "seconds_writing_rules": measured.writing,
    });
    println!("{json}");
    Ok(())
}

fn issue(rules: u32, samples: u32, engine: Engine) -> Result<(), ProcessError> {
    let issued = issue::run(rules, samples, engine)?;
    let json = serde_json::json!({
        "rules": rules, "engine": engine.name(), "seconds": issued.seconds, "packets": issued.sent,
        "lost": issued.lost, "overtaken": issued.overtaken,
    });
    println!("{json}");
    Ok(())
}

fn main() -> ExitCode {
    let filter =
        tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let outcome = match Arguments::parse().command {
        Command::Run(arguments) => {
            if arguments.with_parent {
                parent::end_with_parent();
            }
            if arguments.once { run(&arguments) } else { watch() }
        }
        Command::Build => {
            println!("{}", martlet_switch_control::build::build());
            Ok(())
        }
        Command::Part { one, other } => {
            sockets::part(&one, &other);
            Ok(())
        }
        Command::Plain { interfaces } => interfaces
            .iter()
            .try_for_each(|interface| sockets::plain(interface))
            .map_err(ProcessError::from),
        Command::Bench { engine: Engines::Xdp, .. } => Err(ProcessError::Unsupported(
            "the engine xdp has no ports in memory: measure it with martlet lab switch \
                 --interfaces"
                .into(),
        )),
        Command::Bench { operation, rules, samples, engine, .. } if operation == "issue" => {
            issue(rules.max(1), samples, engine.engine())
        }
        Command::Bench { operation, rules, frame, samples, metered, engine } => {
            let operation = if operation == "decap" {
                TunnelOperation::Decapsulation
            } else {
                TunnelOperation::Encapsulation
            };
            measure(&Bench {
                operation,
                rules: rules.max(1),
                frame,
                samples,
                metered,
                engine: engine.engine(),
            })
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
