//! `martlet-lab upf --target external`: any UPF by its N4, N3 and N6 interfaces. An SMF of the lab
//! establishes sessions, and packets pass between a gNB and a data network of the lab.
mod jitter;
mod report;
mod testbed;
mod traffic;

use super::UpfArgs;
use crate::progress::Progress;
use crate::stats::{median, quantile};
use crate::{Figure, Output};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use testbed::Testbed;
use traffic::Round;

/// What `martlet-lab upf` measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Target {
    /// Martlet's datapaths, in the process of the lab
    #[default]
    Martlet,
    /// UPFs of any vendor, by N4, N3 and N6
    External,
}

/// UPFs of any vendor.
#[derive(Debug, Clone, Default, Args)]
pub struct ExternalUpfArgs {
    /// What is measured
    #[arg(long, value_enum, default_value_t)]
    pub target: Target,
    /// Program that starts a UPF in a network namespace of its own, writes the line `ready`, and
    /// stops it on SIGTERM; several are measured in alternating rounds
    #[arg(long, value_name = "FILE")]
    pub start: Vec<PathBuf>,
    /// Folder of the UPFs' programs, for --start
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,
    /// N4 address of a UPF that runs already
    #[arg(long, value_name = "ADDR", conflicts_with = "start")]
    pub n4: Option<Ipv4Addr>,
    /// Its N3 address
    #[arg(long, value_name = "ADDR", requires = "n4")]
    pub n3: Option<Ipv4Addr>,
    /// Interface of this machine towards its N6, for the route to the UEs
    #[arg(long, value_name = "INTERFACE", requires = "n4")]
    pub n6: Option<String>,
    /// Address of this machine for the SMF and the gNB
    #[arg(long, value_name = "ADDR", default_value = "10.3.0.1")]
    pub gnb: Option<Ipv4Addr>,
    /// Address of this machine for the host of the data network
    #[arg(long, value_name = "ADDR", default_value = "10.6.0.1")]
    pub host: Option<Ipv4Addr>,
    /// Sessions that are established [default: 200; part n4: 100000, or 20000 with --quick]
    #[arg(long)]
    pub sessions: Option<u32>,
}

impl ExternalUpfArgs {
    fn check(&self) -> Result<()> {
        ensure!(
            !self.start.is_empty() || self.n4.is_some() && self.n3.is_some() && self.n6.is_some(),
            "--target external: name the programs that start UPFs with --start, or a UPF that \
             runs already with --n4, --n3 and --n6"
        );
        Ok(())
    }

    /// The UPFs by name: that of the program, or `external`.
    fn upfs(&self) -> Vec<(String, Option<PathBuf>)> {
        let name = |path: &PathBuf| {
            path.file_stem().map_or("external".into(), |stem| stem.to_string_lossy().into_owned())
        };
        match self.start.is_empty() {
            true => vec![("external".into(), None)],
            false => self.start.iter().map(|path| (name(path), Some(path.clone()))).collect(),
        }
    }
}

/// Addresses of a testbed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    /// The SMF's and the gNB's.
    pub gnb: Ipv4Addr,
    /// The host of the data network.
    pub host: Ipv4Addr,
    /// The UPF's N4.
    pub n4: SocketAddr,
    /// The UPF's N3.
    pub n3: SocketAddr,
}

/// Length of a UE's packets in bytes.
const LENGTH: usize = 128;
/// Rate at which latency is measured, packets per second.
const QUIET_RATE: f64 = 5_000.0;
/// Rates of offered load, packets per second.
const RATES: [f64; 7] = [10_000.0, 20_000.0, 40_000.0, 80_000.0, 120_000.0, 160_000.0, 240_000.0];
const DIRECTIONS: [&str; 2] = ["uplink", "downlink"];

/// What is measured of one UPF in all rounds.
#[derive(Default)]
struct Samples {
    /// Sessions per second.
    established: Vec<f64>,
    modified: Vec<f64>,
    deleted: Vec<f64>,
    /// By direction and rate.
    rounds: Vec<(usize, f64, Round)>,
    /// By direction and round, in microseconds.
    latencies: [Vec<Vec<f64>>; 2],
    /// Resident memory of its processes without and with the sessions, in MB.
    resident: Vec<(f64, f64)>,
}

/// Measures each UPF, in rounds whose order is random.
pub(super) fn measure(output: &mut Output, args: &UpfArgs) -> Result<()> {
    let external = &args.external;
    external.check()?;
    let upfs = external.upfs();
    let rounds = args.pick(5, 2, 1);
    let mut samples: Vec<Samples> = upfs.iter().map(|_| Samples::default()).collect();
    let mut progress = Progress::new("rounds", rounds * upfs.len() as u64);
    let mut random = StdRng::seed_from_u64(args.run.seed);
    let mut order: Vec<usize> = (0..upfs.len()).collect();
    for round in 0..rounds {
        order.shuffle(&mut random);
        for &which in &order {
            let ((name, program), samples) = (&upfs[which], &mut samples[which]);
            let folder = output.folder().join(format!("{name}-{round}"));
            // Each testbed has a thread, and with it a network namespace, of its own.
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    let mut testbed = Testbed::start(external, program.as_deref(), &folder)?;
                    one_round(&mut testbed, args, samples)?;
                    testbed.stop()
                });
                let done = thread.join();
                done.unwrap_or_else(|_| Err(anyhow::anyhow!("the measurement thread panicked")))
            })
            .with_context(|| name.clone())?;
            progress.step(name);
        }
    }
    progress.done();
    for ((name, _), samples) in upfs.iter().zip(&samples) {
        write(output, name, samples)?;
    }
    let names: Vec<String> = upfs.into_iter().map(|(name, _)| name).collect();
    report::write(output, &names)
}

fn one_round(testbed: &mut Testbed, args: &UpfArgs, samples: &mut Samples) -> Result<()> {
    let sessions = args.external.sessions.unwrap_or(args.pick(200, 200, 50));
    let time = Duration::from_millis(args.pick(1000, 300, 100));
    let resident = |testbed: &Testbed| testbed.usage().map(|u| u.resident_kb as f64 / 1e3);
    let before = resident(testbed);
    let per_second = |start: Instant| f64::from(sessions) / start.elapsed().as_secs_f64();
    let gnb = testbed.addresses.gnb;
    let start = Instant::now();
    let established = testbed.smf.establish(0..sessions, gnb)?;
    samples.established.push(per_second(start));
    samples.resident.extend(before.zip(resident(testbed)));
    let tunnels: Vec<u32> = established.iter().filter_map(|session| session.teid).collect();
    ensure!(
        tunnels.len() == established.len(),
        "the UPF names no uplink tunnel endpoint (Created PDR), which the lab asks it to choose"
    );
    let path = traffic::Path::open(testbed.addresses, tunnels)?;
    testbed.with_heartbeats(|| {
        for direction in 0..DIRECTIONS.len() {
            // The first packets are not counted: they make flows and neighbours known.
            path.round(direction, QUIET_RATE, time / 4)?;
            let round = path.round(direction, QUIET_RATE, time)?;
            samples.latencies[direction].push(round.latencies_us);
            for rate in args.points(&RATES) {
                let round = path.round(direction, rate, time)?;
                samples.rounds.push((direction, rate, round));
            }
        }
        Ok(())
    })?;
    let start = Instant::now();
    testbed.smf.modify(&established)?;
    samples.modified.push(per_second(start));
    let start = Instant::now();
    testbed.smf.delete(&established)?;
    samples.deleted.push(per_second(start));
    Ok(())
}

/// Raw data and figures of one UPF.
fn write(output: &mut Output, name: &str, samples: &Samples) -> Result<()> {
    for (what, rates) in [
        ("establish", &samples.established),
        ("modify", &samples.modified),
        ("delete", &samples.deleted),
    ] {
        for (round, rate) in rates.iter().enumerate() {
            output.row(format_args!("external_n4,{what},{name},,{round},{rate:.0},"))?;
        }
        let rate = median(rates).context("no samples")?;
        output.figure(Figure::of(format!("n4.{name}.{what}"), "sessions/s", rate));
    }
    for (direction, at) in DIRECTIONS.iter().enumerate() {
        for rate in RATES {
            let of = |(to, offered, _): &&(usize, f64, Round)| *to == direction && *offered == rate;
            let rounds: Vec<&Round> = samples.rounds.iter().filter(of).map(|r| &r.2).collect();
            for (n, round) in rounds.iter().enumerate() {
                let (loss, missed) = (round.loss(), round.missed);
                output
                    .row(format_args!("external_rate,{rate:.0},{name},{at},{n},{loss},{missed}"))?;
            }
            // A round whose load was not offered has no result for the UPF.
            let losses: Vec<f64> =
                rounds.iter().filter(|r| r.missed < 0.02).map(|r| r.loss()).collect();
            if let Some(loss) = median(&losses) {
                let id = format!("loss.{name}.{at}_{rate:.0}");
                output.figure(Figure::of(id, "share", loss));
            }
            let discarded = (rounds.len() - losses.len()) as f64;
            let id = format!("rate_discarded.{name}.{at}_{rate:.0}");
            output.figure(Figure::once(id, "rounds", discarded));
        }
        for (statistic, q) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
            // The median over rounds: one second in which this machine stalls is one round of
            // several, but a large part of all late packets.
            let mut values = Vec::new();
            for (n, round) in samples.latencies[direction].iter().enumerate() {
                // A UPF that forwards nothing has a loss, but no latency.
                let Some(value) = quantile(round, q).map(|value| value.value) else { continue };
                output
                    .row(format_args!("external_latency,{statistic},{name},{at},{n},{value},"))?;
                values.push(value);
            }
            let Some(value) = median(&values) else { continue };
            output.figure(Figure::of(format!("latency.{name}.{at}.{statistic}"), "us", value));
            let worst = values.iter().copied().fold(0.0, f64::max);
            let id = format!("latency_worst_round.{name}.{at}.{statistic}");
            output.figure(Figure::once(id, "us", worst));
        }
    }
    write_jitter(output, name, samples)?;
    let (empty, full): (Vec<f64>, Vec<f64>) = samples.resident.iter().copied().unzip();
    if let Some((empty, full)) = median(&empty).zip(median(&full)) {
        output.figure(Figure::of(format!("resident.{name}.empty"), "MB", empty));
        output.figure(Figure::of(format!("resident.{name}.sessions"), "MB", full));
    }
    Ok(())
}

/// Raw data and figures of the jitter of one UPF, as medians over rounds.
fn write_jitter(output: &mut Output, name: &str, samples: &Samples) -> Result<()> {
    for (direction, at) in DIRECTIONS.iter().enumerate() {
        let rounds = &samples.latencies[direction];
        let pdv = |round: &Vec<f64>| {
            let beyond = jitter::beyond_smallest(round);
            Some(quantile(&beyond, 0.999)?.value)
        };
        for (what, values) in [
            ("mean", rounds.iter().filter_map(|round| jitter::mean_change(round)).collect()),
            ("pdv_p999", rounds.iter().filter_map(pdv).collect::<Vec<f64>>()),
        ] {
            for (n, value) in values.iter().enumerate() {
                output.row(format_args!("external_jitter,{what},{name},{at},{n},{value},"))?;
            }
            // A UPF that forwards nothing has no jitter.
            let Some(value) = median(&values) else { continue };
            output.figure(Figure::of(format!("jitter.{name}.{at}.{what}"), "us", value));
        }
    }
    Ok(())
}
