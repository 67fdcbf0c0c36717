//! `martlet-lab sandbox`: what the sandbox costs. Two cores run side by side, one with a user of
//! its own, system call filters and Landlock, and one without, and rounds alternate between them in
//! random order. The difference is taken of each pair of rounds, so that disturbances of the
//! machine cancel out.
//!
//! Packets go through the datapath `kernel`, which makes system calls for each. The programs of
//! `xdp` make none.
use super::WARM_UP;
use super::metric::Metric;
use super::round;
use super::testbed::Testbed;
use crate::core::{CORES, CoreArgs, CoreSetup, Variant};
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use martlet_ran::scenario::ping_together;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use std::net::Ipv4Addr;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Measures procedures, packets, and the start of a core, with and without the sandbox.
#[derive(Debug, Clone, Args)]
pub struct SandboxArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Variants to measure
    #[arg(long, value_delimiter = ',', default_value = "local,fabric,http")]
    pub sbi: Vec<Variant>,
    /// Pairs of rounds for each variant
    #[arg(long)]
    pub rounds: Option<u32>,
    /// Pairs of starts for each variant
    #[arg(long)]
    pub starts: Option<u32>,
    /// Pairs of bursts of packets for each variant
    #[arg(long)]
    pub bursts: Option<u32>,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// The user of the sandboxed core, which no machine has.
const USER: u32 = 54_321;
/// The sandbox of a core.
const SANDBOXES: [(&str, &str); 2] = [
    ("on", "security: { user: \"54321\", seccomp: kill, landlock: true }\n"),
    ("off", "security: { seccomp: off, landlock: false }\n"),
];
/// Echo requests of a burst: each is a packet in each direction.
const PINGS: u32 = 256;
/// Echo requests at a time, and the names of what is measured: one packet waits for the one before,
/// or the datapath takes several with one system call, as under load.
const GROUPS: [(u16, &str, &str); 2] = [
    (1, "cpu_per_1000_packets", "round_trip"),
    (32, "cpu_per_1000_packets_together", "round_trip_together"),
];
/// Time limit of an echo reply.
const REPLY: Duration = Duration::from_secs(10);

/// The folder of both cores, which the user of the sandboxed one reaches.
struct Cores(PathBuf);

impl Cores {
    fn create() -> Result<Cores> {
        let name = format!("martlet-lab-sandbox-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Cores(folder))
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, or a procedure fails.
pub fn run(args: &SandboxArgs) -> Result<String> {
    ensure!(!args.sbi.is_empty(), "--sbi must not be empty");
    namespace::enter_new()?;
    let header = "what,sbi,sandbox,pair,latency_us";
    let mut output = Output::create("sandbox", &args.run, header)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut lines, mut retained) = (Vec::new(), Vec::new());
    let cores = Cores::create()?;
    runtime.block_on(async {
        let mut random = StdRng::seed_from_u64(args.run.seed);
        for (index, variant) in (0u8..).zip(&args.sbi) {
            let setups = setups(args, *variant, index, &cores.0)?;
            retained.extend(retained_rights(*variant, &setups[0])?);
            lines.extend(starts(args, *variant, &setups, &mut random, &mut output)?);
            lines.extend(rounds(args, *variant, &setups, &mut random, &mut output).await?);
        }
        anyhow::Ok(())
    })?;
    report(&mut output, args, &lines, &retained)?;
    output.finish()
}

/// The rights that processes of the sandboxed core could not give up, as in a container.
fn retained_rights(variant: Variant, setup: &CoreSetup) -> Result<Vec<String>> {
    let core = setup.start(variant)?;
    let status = core.status()?;
    core.stop()?;
    let of_processes = status["nfs"].as_array().into_iter().flatten();
    let all = of_processes.map(|nf| &nf["process"]["rights"]).chain([&status["rights"]]);
    let retained = all.flat_map(|rights| rights["kept"].as_array().into_iter().flatten());
    let retained: std::collections::BTreeSet<_> =
        retained.map(|what| format!("{}: {what}", variant.name())).collect();
    Ok(retained.into_iter().collect())
}

/// A core with the sandbox, and one without.
fn setups(args: &SandboxArgs, variant: Variant, index: u8, cores: &Path) -> Result<[CoreSetup; 2]> {
    let setup = |number: u8, (sandbox, more): (&str, &str)| {
        let name = format!("{}-{sandbox}", variant.name());
        let setup = CoreSetup::prepare(&args.core, number, &name, 1, cores)?;
        if sandbox == "on" {
            chown(cores.join(CORES).join(name), Some(USER), Some(USER))?;
        }
        anyhow::Ok(setup.with(more))
    };
    Ok([setup(2 * index, SANDBOXES[0])?, setup(2 * index + 1, SANDBOXES[1])?])
}

/// What was measured in pairs, with the sandbox and without, in milliseconds.
#[derive(Default)]
struct Pairs {
    on: Vec<f64>,
    off: Vec<f64>,
}

impl Pairs {
    fn add(&mut self, sandbox: usize, value: f64) {
        if sandbox == 0 { self.on.push(value) } else { self.off.push(value) }
    }

    /// A line of the report, and the figures.
    fn summarise(&self, what: &str, variant: Variant, output: &mut Output) -> Result<Line> {
        let differences: Vec<f64> =
            self.on.iter().zip(&self.off).map(|(on, off)| on - off).collect();
        let of = |sample: &[f64]| median(sample).context("no samples");
        let (on, off, difference) = (of(&self.on)?, of(&self.off)?, of(&differences)?);
        let id = |statistic: &str| format!("{what}.{}.{statistic}", variant.name());
        output.figure(Figure::of(id("on.p50"), "ms", on));
        output.figure(Figure::of(id("off.p50"), "ms", off));
        output.figure(Figure::of(id("difference.p50"), "ms", difference));
        Ok(Line { what: what.into(), variant, on, off, difference })
    }
}

/// A line of the report.
struct Line {
    what: String,
    variant: Variant,
    on: Estimate,
    off: Estimate,
    difference: Estimate,
}

/// Starts both cores in turn.
fn starts(
    args: &SandboxArgs,
    variant: Variant,
    setups: &[CoreSetup; 2],
    random: &mut StdRng,
    output: &mut Output,
) -> Result<Vec<Line>> {
    let count = args.starts.unwrap_or(if args.run.quick { 3 } else { 30 });
    let mut progress = Progress::new("starts", u64::from(count));
    let (mut pairs, mut order) = (Pairs::default(), [0, 1]);
    for pair in 0..count {
        order.shuffle(random);
        for sandbox in order {
            let core = setups[sandbox].start(variant)?;
            let ready = core.ready.as_secs_f64() * 1e3;
            core.stop()?;
            pairs.add(sandbox, ready);
            let (name, _) = SANDBOXES[sandbox];
            output.row(format_args!(
                "start,{},{name},{pair},{:.1}",
                variant.name(),
                ready * 1e3
            ))?;
        }
        progress.step(variant.title());
    }
    progress.done();
    if count == 0 { Ok(Vec::new()) } else { Ok(vec![pairs.summarise("start", variant, output)?]) }
}

/// Runs pairs of rounds with one UE.
async fn rounds(
    args: &SandboxArgs,
    variant: Variant,
    setups: &[CoreSetup; 2],
    random: &mut StdRng,
    output: &mut Output,
) -> Result<Vec<Line>> {
    let count = args.rounds.unwrap_or(if args.run.quick { 40 } else { 500 });
    let mut progress = Progress::new("rounds", u64::from(count + WARM_UP));
    let testbeds =
        [Testbed::of(&setups[0], variant, 1).await?, Testbed::of(&setups[1], variant, 1).await?];
    let (mut metrics, mut order) = (Metric::ALL.map(|metric| (metric, Pairs::default())), [0, 1]);
    for pair in 0..count + WARM_UP {
        order.shuffle(random);
        for sandbox in order {
            let latencies = round::run(&testbeds[sandbox], 1).await?;
            if pair < WARM_UP {
                continue;
            }
            for (metric, pairs) in &mut metrics {
                for latency in latencies.of(*metric) {
                    pairs.add(sandbox, latency.latency);
                    let (what, (name, _)) = (metric.name(), SANDBOXES[sandbox]);
                    let (sbi, pair) = (variant.name(), pair - WARM_UP);
                    let microseconds = latency.latency * 1e3;
                    output.row(format_args!("{what},{sbi},{name},{pair},{microseconds:.1}"))?;
                }
            }
        }
        progress.step(variant.title());
    }
    progress.done();
    let of_packets = packets(args, variant, &testbeds, random, output).await?;
    for testbed in testbeds {
        testbed.stop().await?;
    }
    let lines =
        metrics.iter().map(|(metric, pairs)| pairs.summarise(metric.name(), variant, output));
    let mut lines = lines.collect::<Result<Vec<_>>>()?;
    lines.extend(of_packets);
    Ok(lines)
}

/// Runs pairs of bursts of packets: the CPU time of the core for 1,000 packets, and the round trip.
async fn packets(
    args: &SandboxArgs,
    variant: Variant,
    testbeds: &[Testbed; 2],
    random: &mut StdRng,
    output: &mut Output,
) -> Result<Vec<Line>> {
    let count = args.bursts.unwrap_or(if args.run.quick { 20 } else { 200 });
    let bursts = (count + WARM_UP) * GROUPS.len() as u32;
    let mut progress = Progress::new("packets", u64::from(bursts));
    let mut sessions = Vec::new();
    for testbed in testbeds {
        let ue = testbed.ues.first().context("the testbed has no UE")?;
        ue.register().await?;
        let session = ue.establish_pdu_session(testbed.session.clone()).await?;
        sessions.push((ue, session.psi, session.ipv4.context("a session without an address")?));
    }
    let mut lines = Vec::new();
    for (group, cpu, round_trip) in GROUPS {
        let names = [cpu, round_trip];
        let (mut pairs, mut order) = ([Pairs::default(), Pairs::default()], [0, 1]);
        for pair in 0..count + WARM_UP {
            order.shuffle(random);
            for sandbox in order {
                let (ue, psi, own) = sessions[sandbox];
                let [a, b, ..] = own.octets();
                let addresses = (own, Ipv4Addr::new(a, b, 0, 1));
                let groups = PINGS / u32::from(group);
                let (before, started) = (testbeds[sandbox].usage().cpu_ns, Instant::now());
                ping_together(ue, psi, addresses, groups, group, REPLY).await?;
                let (elapsed, after) = (started.elapsed(), testbeds[sandbox].usage().cpu_ns);
                if pair < WARM_UP {
                    continue;
                }
                // In milliseconds, as all values.
                let cpu = after.saturating_sub(before) as f64 / 1e6 * 1000.0 / f64::from(2 * PINGS);
                let round_trip = elapsed.as_secs_f64() * 1e3 / f64::from(groups);
                for ((what, pairs), value) in names.iter().zip(&mut pairs).zip([cpu, round_trip]) {
                    pairs.add(sandbox, value);
                    let ((name, _), sbi) = (SANDBOXES[sandbox], variant.name());
                    let pair = pair - WARM_UP;
                    output.row(format_args!("{what},{sbi},{name},{pair},{:.1}", value * 1e3))?;
                }
            }
            progress.step(variant.title());
        }
        for (what, pairs) in names.iter().zip(&pairs) {
            lines.push(pairs.summarise(what, variant, output)?);
        }
    }
    progress.done();
    Ok(lines)
}

fn report(
    output: &mut Output,
    args: &SandboxArgs,
    lines: &[Line],
    retained: &[String],
) -> Result<()> {
    let mut text = format!(
        "{} Each value is a median in milliseconds; `difference` is the median of the differences \
         of pairs, with its 95 % interval. Promised: at most 2 % of a registration, nothing \
         measurable for a packet, and 1.5 times the start. `cpu_per_1000_packets` is CPU time of \
         all processes of the core; of 1,000 packets, half are uplink. `together` has 32 echo \
         requests at a time, and the round trip is that of the last.\n\n\
         | what | SBI | on | off | difference | % of off |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        if args.run.quick { "Few rounds." } else { "" }
    );
    for Line { what, variant, on, off, difference } in lines {
        text += &format!(
            "| {what} | {} | {:.3} | {:.3} | {:+.3} ({:+.3} to {:+.3}) | {:+.1} |\n",
            variant.name(),
            on.value,
            off.value,
            difference.value,
            difference.low,
            difference.high,
            100.0 * difference.value / off.value
        );
    }
    for what in retained {
        text += &format!("\nThe sandboxed core retained a right: {what}\n");
    }
    output.text(&text);
    Ok(())
}
