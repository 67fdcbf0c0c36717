//! The switch process. `martlet switch run` starts it; see there.
use clap::{Parser, Subcommand, ValueEnum};
use martlet_switch_target::bench::{self, Bench, Way};
use martlet_switch_target::ports::Binding;
use martlet_switch_target::serve::{Settings, serve};
use martlet_switch_target::{Engine, in_kernel, issue, parent, sockets};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(
    name = "martlet-switch",
    about = "The programmable switch of the user plane, on DPDK's software switch"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum Engines {
    /// On DPDK, the better way that this build has
    #[value(alias = "swx")]
    Best,
    Interpreter,
    MachineCode,
    /// In the kernel, at the entrances of the ports: XDP
    Xdp,
}

impl Engines {
    /// On DPDK.
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
    /// Where P4Runtime is served
    #[arg(long, default_value = "127.0.0.1:9559")]
    listen: SocketAddr,
    /// Port towards gNBs: an interface (xdp:IF or packet:IF say how its frames are taken), or
    /// captures, pcap:IN,OUT
    #[arg(long, requires = "native_n3")]
    access: Option<Binding>,
    /// Port towards the native UPF, on the wire of N3
    #[arg(long, requires = "access")]
    native_n3: Option<Binding>,
    /// Port towards the data network
    #[arg(long, requires = "native_n6")]
    core: Option<Binding>,
    /// Port towards the native UPF, on the wire of N6
    #[arg(long, requires = "core")]
    native_n6: Option<Binding>,
    /// Folder in which rules and counters are kept
    #[arg(long)]
    state: Option<PathBuf>,
    /// File of rules that it begins with, one a line
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Microseconds for which it looks for packets before it sleeps; a large number keeps one
    /// processor busy, and latency low. Without it, up to 100 where packets come that soon,
    /// and none where they do not
    #[arg(long)]
    spin_us: Option<u64>,
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
    /// End when the process that started this one ends, which holds the other end of its standard
    /// input
    #[arg(long)]
    with_parent: bool,
}

// There is one in a process, for a moment.
#[allow(clippy::large_enum_variant)]
#[derive(Subcommand)]
enum Command {
    /// Run the switch, and start it again should it fail
    Run(Run),
    /// Say of which build it is: martlet starts a switch of its own build alone
    Build,
    /// Take the kernel's own forwarding between two interfaces away, which stays when a switch ends
    Part { one: String, other: String },
    /// Have peers on veth send frames with their checksums, one packet each, as a wire would carry
    /// them
    Plain { interfaces: Vec<String> },
    /// Measure the pipeline in memory, and write what was measured as JSON
    Bench {
        /// Packets out of tunnels, or into them; or rules that are issued over P4Runtime while
        /// packets pass
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
    let wire =
        |peer: &Option<Binding>, native: &Option<Binding>| Some((peer.clone()?, native.clone()?));
    let settings = Settings {
        listen: arguments.listen,
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
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let end = async {
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
                .expect("signals");
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        parent::end_within(parent::PATIENCE);
    };
    match arguments.engine {
        Engines::Xdp => runtime.block_on(in_kernel::serve(settings, end)),
        _ => runtime.block_on(serve(settings, end)),
    }
}

/// Runs the switch as a child, and again when it fails. While there is none, the kernel forwards
/// between the wires' ends.
fn watch() -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    loop {
        let started = Instant::now();
        let mut command = std::process::Command::new(&program);
        command.args(std::env::args_os().skip(1)).arg("--once");
        // The child ends with us, however we end.
        let own = std::process::id() as i32;
        // SAFETY: prctl, getppid and _exit are safe between fork and exec.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut command, move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                // Ended before that was asked for.
                if libc::getppid() != own {
                    libc::_exit(1);
                }
                Ok(())
            });
        }
        let mut child =
            command.spawn().map_err(|error| format!("the switch cannot be started: {error}"))?;
        let status = child.wait().map_err(|error| error.to_string())?;
        if parent::was_told_to(status) {
            return Ok(());
        }
        if started.elapsed() < Duration::from_secs(1) {
            return Err(format!("the switch ended at once ({status}); see what it said"));
        }
        tracing::warn!(
            %status,
            "the switch ended: packets take the native path, and it starts again"
        );
    }
}

fn measure(bench: &Bench) -> Result<(), String> {
    let measured = bench::run(bench)?;
    let json = serde_json::json!({
        "way": format!("{:?}", bench.way), "rules": bench.rules, "frame": bench.frame,
            "engine": bench.engine.name(),
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
    let filter =
        tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let outcome = match Arguments::parse().command {
        Command::Run(arguments) => {
            if arguments.with_parent {
                parent::end_with_it();
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
            .map_err(|error| error.to_string()),
        Command::Bench { engine: Engines::Xdp, .. } => {
            Err("the engine xdp is in the entrances of interfaces, and has no ports in memory: \
                 martlet lab switch --interfaces measures it"
                .into())
        }
        Command::Bench { way, rules, samples, engine, .. } if way == "issue" => {
            issue(rules.max(1), samples, engine.engine())
        }
        Command::Bench { way, rules, frame, samples, metered, engine } => {
            let way = if way == "decap" { Way::Decapsulation } else { Way::Encapsulation };
            measure(&Bench {
                way,
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
