//! `martlet-lab lcs-upp`: transport time of LCS-UPP messages to the LMF and back, for each secure
//! channel, after "User Plane Positioning in 5G Networks: A Design Space Study for
//! Implementation". Both ends run on this host, or each on a host of its own (`--role`).
mod client;
mod control;
mod lmf;
mod path;
mod program;
mod report;
mod role;
mod server;
mod statistics;

pub use client::{LcsUppClientArgs, ask};
pub use path::PathKind;
pub use role::{Role, RoleArgs};
pub use server::{LcsUppServerArgs, serve};

use crate::core::CoreArgs;
use crate::process_usage::{Usage, resident_kb};
use crate::progress::Progress;
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use client::Client;
use control::{Control, conditions_of};
use martlet_lab_endpoint::{End, Variant};
use martlet_lcs_realtime::{Conditions, Wanted};
use path::Route;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use server::Server;
pub(crate) use statistics::Interval;
use std::rc::Rc;

/// Rounds of the paper. A shorter run judges no promise.
const ROUNDS: usize = 1000;

/// Measures the transport time of LCS-UPP: from the creation of an uplink message to the verified
/// downlink answer.
#[derive(Debug, Clone, Args)]
pub struct LcsUppArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// A run on two hosts.
    #[command(flatten)]
    pub role: RoleArgs,
    /// Channels to compare, such as rustls or wolfssl_default [default: all that this build and
    /// this machine support]
    #[arg(long, value_delimiter = ',')]
    pub channels: Vec<String>,
    /// Payload sizes in bytes [default: those of the paper]
    #[arg(long, value_delimiter = ',')]
    pub sizes: Vec<usize>,
    /// Rounds for each channel and size (1,000 in the paper)
    #[arg(long, default_value_t = ROUNDS)]
    pub rounds: usize,
    /// Connections to measure the setup time with
    #[arg(long, default_value_t = 50)]
    pub setups: usize,
    /// Path of the messages
    #[arg(long, value_enum, default_value = "loopback")]
    pub path: PathKind,
    /// Radio model, such as loss=0.01,request_ms=20; the other values are those of a small cell
    #[arg(long, default_value = "")]
    pub radio: String,
    /// Microseconds for which both ends poll before they sleep
    #[arg(long, default_value_t = 0)]
    pub spin: u64,
    /// MTU in bytes for QUIC and UDP [default: that of the path]
    #[arg(long)]
    pub mtu: Option<u16>,
    /// Run both ends with SCHED_FIFO priority 1, locked memory and CPUs at full speed, and check
    /// that all of it is in force
    #[arg(long)]
    pub realtime: bool,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

impl LcsUppArgs {
    fn end(&self, variant: Variant) -> End {
        let mtu = self.mtu.unwrap_or(self.path.mtu());
        End { variant, spin: self.spin, mtu, realtime: self.realtime }
    }

    /// The channels to measure, of which the LMF's end has those of `there`.
    fn variants(&self, there: Option<&[String]>) -> Result<Vec<Variant>> {
        let is_there = |variant: &Variant| there.is_none_or(|all| all.contains(&variant.name()));
        if self.channels.is_empty() {
            return Ok(Variant::all().into_iter().filter(is_there).collect());
        }
        let variant = |name: &String| {
            let all: Vec<_> = Variant::all().iter().map(|variant| variant.name()).collect();
            Variant::from_name(name).with_context(|| {
                format!("there is no channel {name:?}; there are {}", all.join(", "))
            })
        };
        let variants = self.channels.iter().map(variant).collect::<Result<Vec<_>>>()?;
        match variants.iter().find(|variant| !is_there(variant)) {
            None => Ok(variants),
            Some(missing) => bail!(
                "the LMF's end has no channel {}; it has {}",
                missing.name(),
                there.unwrap_or_default().join(", ")
            ),
        }
    }

    /// Payload sizes of the paper: the powers of two, and the largest payload.
    fn payloads(&self) -> Vec<usize> {
        match (self.sizes.is_empty(), self.run.quick) {
            (false, _) => self.sizes.iter().map(|n| (*n).clamp(1, 65_535)).collect(),
            (true, true) => vec![1, 1024, 16_384, 65_535],
            (true, false) => (0..16).map(|power| 1 << power).chain([65_535]).collect(),
        }
    }
}

/// Kinds of new connections: full handshake, resumption, and resumption with 0-RTT data.
const SETUPS: [&str; 3] = ["setup", "resume", "early"];
/// Consecutive rounds of one channel.
const BLOCK: usize = 50;
/// Rounds at the start of each block that are not counted.
const WARM_UP: usize = 5;

/// A channel with both ends and its results.
struct Subject {
    variant: Variant,
    client: Client,
    server: Server,
    /// Transport times in milliseconds, for each size.
    samples: Vec<Vec<f64>>,
    client_used: Vec<Usage>,
    server_used: Vec<Usage>,
    /// Milliseconds from the start of each new connection to its first answer; as [`SETUPS`].
    setups: [Vec<f64>; 3],
    /// Milliseconds of each LPP procedure.
    procedures: Vec<f64>,
    /// Resident kilobytes of the client after its rounds and LPP procedures.
    resident: u64,
}

/// The hosts of both ends.
struct Hosts {
    /// Scheduling properties of this program.
    ue: Conditions,
    /// The control connection, where the LMF's end is on another host.
    control: Option<Rc<Control>>,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, the other host is not reached, a channel is not
/// established, or an answer is wrong.
pub fn run(args: &LcsUppArgs) -> Result<String> {
    let mut args = args.clone();
    let control = match (args.role.role, &args.role.peer) {
        (Some(Role::Lmf), _) => return lmf::wait_for_ues(&args.role),
        (Some(Role::Ue), Some(peer)) => {
            ensure!(
                args.role.listen.is_none() && !args.role.once,
                "--listen and --once are options of --role lmf"
            );
            ensure!(args.path == PathKind::Loopback, "--path is an option of a run on one host");
            args.path = PathKind::Peer;
            Some(Rc::new(Control::connect(peer)?))
        }
        _ => None,
    };
    let variants = args.variants(control.as_ref().map(|control| &control.greeting.channels[..]))?;
    ensure!(
        !variants.is_empty() && args.rounds > 0,
        "--channels must not be empty, and --rounds must be at least 1"
    );
    let radio = path::radio(&args.radio, args.run.seed)?;
    if control.is_none() {
        namespace::enter_new()?;
    }
    let mut output = Output::create("lcs-upp", &args.run, "channel,n,round,transport_time_ms")?
        .short(args.rounds < ROUNDS);
    let ue = match args.realtime {
        true => martlet_lcs_realtime::enter(Wanted::ALL)?,
        false => Conditions::now(),
    };
    let hosts = Hosts { ue, control };
    let sizes = args.payloads();
    let rounds = if args.run.quick { args.rounds.min(100) } else { args.rounds };
    // A round over the radio model is mostly waiting time, so each channel has a UE of its own and
    // all channels run at the same time.
    let simultaneous = args.path == PathKind::Radio;
    let ues = if simultaneous { variants.len() } else { 1 };
    let route = match &hosts.control {
        Some(control) => Route::to(control.peer()),
        None => Route::open(args.path, &args.core, &radio, ues, output.folder())?,
    };
    let mut subjects = Vec::new();
    for (n, variant) in variants.into_iter().enumerate() {
        let end = args.end(variant);
        let server = match &hosts.control {
            Some(control) => Server::start_there(control, &end)?,
            None => Server::start(route.server, &end)?,
        };
        let client = Client::start(&server, &end, &route, n)?;
        let none = || vec![Usage::default(); sizes.len()];
        subjects.push(Subject {
            variant,
            client,
            server,
            samples: vec![Vec::new(); sizes.len()],
            client_used: none(),
            server_used: none(),
            setups: Default::default(),
            procedures: Vec::new(),
            resident: 0,
        });
    }
    if args.realtime {
        check_realtime(&subjects)?;
    }
    let mut random = StdRng::seed_from_u64(args.run.seed);
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    let blocks = rounds.div_ceil(BLOCK);
    let mut progress = Progress::new("blocks", (blocks * sizes.len()) as u64);
    for (at, &n) in sizes.iter().enumerate() {
        for block in 0..blocks {
            let count = BLOCK.min(rounds - block * BLOCK);
            if simultaneous {
                measure(&mut output, &mut subjects.iter_mut().collect::<Vec<_>>(), at, n, count)?;
            } else {
                order.shuffle(&mut random);
                for &which in &order {
                    measure(&mut output, &mut [&mut subjects[which]], at, n, count)?;
                }
            }
            progress.step(&format!("n = {n}"));
        }
    }
    progress.done();
    for subjects in subjects.chunks_mut(if simultaneous { usize::MAX } else { 1 }) {
        let mut subjects: Vec<_> = subjects.iter_mut().collect();
        for subject in &mut subjects {
            // The memory that its work needs, without that of its start.
            subject.client.trim_memory()?;
        }
        let largest = sizes.iter().copied().max().unwrap_or(1);
        run_all(&mut subjects, &format!("rounds {largest} {}", BLOCK.min(rounds)))?;
        // Empty for a channel without LPP.
        let procedures = run_all(&mut subjects, &format!("procedures {}", WARM_UP + args.setups))?;
        for (subject, times) in subjects.iter_mut().zip(procedures) {
            subject.procedures = times.into_iter().skip(WARM_UP).collect();
            subject.resident = resident_kb(subject.client.pid());
        }
        let count = if args.run.quick { args.setups.min(5) } else { args.setups };
        for (which, how) in SETUPS.iter().enumerate() {
            // Empty for a channel that does not support it.
            let times = run_all(&mut subjects, &format!("{how} {count}"))?;
            subjects
                .iter_mut()
                .zip(times)
                .for_each(|(subject, times)| subject.setups[which] = times);
        }
    }
    if args.realtime {
        check_realtime(&subjects)?;
    }
    note(&mut output, &args, &hosts, &subjects, rounds)?;
    figures(&mut output, args.path, &subjects, &sizes)?;
    if let Some(counters) = route.counters.as_ref().filter(|_| simultaneous) {
        report::air(&mut output, counters);
    }
    report::write(&mut output, &args, &radio, &hosts, &subjects, &sizes)?;
    drop(subjects);
    route.close()?;
    output.finish()
}

/// Channels of the paper's five averages.
const OF_THE_PAPER: [&str; 5] = ["wolfssl", "mbedtls", "msquic", "ktls", "kernel_module"];

/// Why a channel of the paper is not measured.
fn absence(name: &str, args: &LcsUppArgs, control: Option<&Control>) -> String {
    let available = Variant::all();
    match Variant::from_name(name) {
        None => format!("this build has no {name}"),
        Some(variant) if !available.contains(&variant) => match name {
            "ktls" => "this kernel has no TLS".into(),
            _ => "this kernel has no TLS, or not Martlet's module".into(),
        },
        Some(_) if !args.channels.is_empty() => "it is not among --channels".into(),
        Some(_) if control.is_some() => "the LMF's end does not have it".into(),
        Some(_) => "no reason is known".into(),
    }
}

/// Records how it was measured.
fn note(
    output: &mut Output,
    args: &LcsUppArgs,
    hosts: &Hosts,
    subjects: &[Subject],
    rounds: usize,
) -> Result<()> {
    output.note("rounds", rounds);
    output.note("path", args.path.name());
    output.note("realtime", args.realtime);
    output.note("ue", hosts.ue.to_string());
    if let (Some(control), Some(subject)) = (&hosts.control, subjects.first()) {
        let machine = control.greeting.machine();
        output.note("lmf", format!("{machine}; {}", subject.server.conditions()?.0));
    }
    if let Ok(guest) = std::env::var("MARTLET_GUEST") {
        output.note("guest", guest);
    }
    let is_measured = |name: &str| {
        let of = |subject: &Subject| subject.variant.name().trim_end_matches("_default") == name;
        subjects.iter().any(of)
    };
    let absent: serde_json::Map<_, _> = OF_THE_PAPER
        .into_iter()
        .filter(|name| !is_measured(name))
        .map(|name| (name.to_string(), absence(name, args, hosts.control.as_deref()).into()))
        .collect();
    output.note("absent", absent);
    Ok(())
}

/// Checks that all threads of both ends, those of libraries included, have the real-time
/// properties.
fn check_realtime(subjects: &[Subject]) -> Result<()> {
    for subject in subjects {
        let both = [
            ("client", conditions_of(subject.client.pid())),
            ("server", subject.server.conditions()?),
        ];
        for (end, (_, missing)) in both {
            if let Some(error) = missing {
                bail!("{}, {end}: {error}", subject.variant.name());
            }
        }
    }
    Ok(())
}

/// Runs a command on several clients at the same time and returns their times in milliseconds.
fn run_all(subjects: &mut [&mut Subject], command: &str) -> Result<Vec<Vec<f64>>> {
    for subject in subjects.iter_mut() {
        subject.client.send(command).with_context(|| subject.variant.name())?;
    }
    let times = |subject: &mut &mut Subject| {
        let times = subject
            .client
            .times()
            .with_context(|| format!("{}, {command}", subject.variant.name()))?;
        Ok(times.iter().map(|time| time.as_secs_f64() * 1000.0).collect())
    };
    subjects.iter_mut().map(times).collect()
}

/// Runs a block of rounds on several clients at the same time. Its rows are flushed, so that an
/// aborted run keeps them.
fn measure(
    output: &mut Output,
    subjects: &mut [&mut Subject],
    at: usize,
    n: usize,
    count: usize,
) -> Result<()> {
    run_all(subjects, &format!("rounds {n} {WARM_UP}"))?;
    let used = |subject: &Subject| -> Result<(Usage, Usage)> {
        Ok((Usage::of(subject.client.pid()), subject.server.used()?))
    };
    let before = subjects.iter().map(|subject| used(subject)).collect::<Result<Vec<_>>>()?;
    let times = run_all(subjects, &format!("rounds {n} {count}"))?;
    for ((subject, times), before) in subjects.iter_mut().zip(times).zip(before) {
        let after = used(subject)?;
        for (ms, round) in times.iter().zip(subject.samples[at].len()..) {
            output.row(format_args!("{},{n},{round},{ms:.6}", subject.variant.name()))?;
        }
        subject.samples[at].extend(times);
        subject.client_used[at].add(&after.0.since(&before.0));
        subject.server_used[at].add(&after.1.since(&before.1));
    }
    output.flush()
}

fn figures(
    output: &mut Output,
    path: PathKind,
    subjects: &[Subject],
    sizes: &[usize],
) -> Result<()> {
    let path = path.name();
    for subject in subjects {
        let name = subject.variant.name();
        for (samples, n) in subject.samples.iter().zip(sizes) {
            let interval = Interval::of(samples).context("no samples")?;
            output.figure(Figure {
                id: format!("transport_time.{name}.n{n}_{path}.mean"),
                value: interval.mean,
                unit: "ms",
                low: interval.low(),
                high: interval.high(),
                low_is_open: false,
                high_is_open: false,
                n: samples.len(),
            });
            let median = crate::stats::median(samples).context("no samples")?;
            output.figure(Figure::of(
                format!("transport_time.{name}.n{n}_{path}.p50"),
                "ms",
                median,
            ));
        }
        for (how, setups) in SETUPS.iter().zip(&subject.setups) {
            if let Some(median) = crate::stats::median(setups) {
                output.figure(Figure::of(format!("{how}.{name}.{path}.p50"), "ms", median));
            }
        }
        if let Some(median) = crate::stats::median(&subject.procedures) {
            output.figure(Figure::of(format!("lpp_procedure.{name}.{path}.p50"), "ms", median));
        }
        output.figure(Figure::once(
            format!("resident.client.{name}.once"),
            "kB",
            subject.resident as f64,
        ));
    }
    Ok(())
}
