//! `martlet lab lcs-upp`: how long LCS-UPP takes to carry a payload to the LMF and back, for each secure channel, after
//! "User Plane Positioning in 5G Networks: A Design Space Study for Implementation".
mod exchange;
mod proc_usage;
mod realtime;
mod report;
mod server;
mod statistics;

pub use server::{LcsUppServerArgs, serve};

use crate::progress::Progress;
use crate::{Figure, Output, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use exchange::{Client, Message};
use martlet_lcs_channel::{Kind, Options};
use proc_usage::Usage;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use server::Server;
use statistics::Interval;
use std::path::PathBuf;
use std::time::Duration;

/// Measures the transport time of LCS-UPP: from the making of an uplink message to the downlink answer, read and verified.
#[derive(Debug, Clone, Args)]
pub struct LcsUppArgs {
    /// Folder for raw data, report and plots (lab-results/lcs-upp-TIME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Few rounds and sizes, in under a minute, for a look
    #[arg(long)]
    pub quick: bool,
    /// Seed for the order of the runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Channels to compare; left out: all that this build has
    #[arg(long, value_delimiter = ',')]
    pub channels: Vec<String>,
    /// Rounds for each channel and size (1,000 in the paper)
    #[arg(long, default_value_t = 1000)]
    pub rounds: usize,
    /// Microseconds to look for an answer again and again before sleeping, at both ends
    #[arg(long, default_value_t = 0)]
    pub spin: u64,
    /// Octets of an IP packet of the path, for QUIC and UDP; the loopback interface has 65,535
    #[arg(long, default_value_t = 65_535)]
    pub mtu: u16,
    /// Leave small segments to Nagle's algorithm
    #[arg(long)]
    pub nagle: bool,
    /// SCHED_FIFO with priority 1, memory locked, processors at full speed: at both ends, each checked to be in force
    #[arg(long)]
    pub realtime: bool,
}

impl LcsUppArgs {
    fn options(&self) -> Options {
        Options {
            timeout: Duration::from_secs(10),
            spin: Duration::from_micros(self.spin),
            no_delay: !self.nagle,
            mtu: self.mtu,
        }
    }

    fn kinds(&self) -> Result<Vec<Kind>> {
        if self.channels.is_empty() {
            return Ok(Kind::ALL.to_vec());
        }
        let kind = |name: &String| {
            let all: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            Kind::from_name(name).with_context(|| format!("there is no channel {name:?}; there are {}", all.join(", ")))
        };
        self.channels.iter().map(kind).collect()
    }
}

/// Rounds of a channel before it is another one's turn.
const BLOCK: usize = 50;
/// Rounds that are not counted, at the start of each block.
const WARM_UP: usize = 5;

/// Payload sizes of the paper: the powers of two, and the largest payload.
fn sizes(quick: bool) -> Vec<usize> {
    match quick {
        true => vec![1, 1024, 16_384, 65_535],
        false => (0..16).map(|power| 1 << power).chain([65_535]).collect(),
    }
}

/// One channel with both ends, and what it gave.
struct Subject {
    kind: Kind,
    client: Client,
    server: Server,
    /// Milliseconds, for each size.
    samples: Vec<Vec<f64>>,
    client_used: Vec<Usage>,
    server_used: Vec<Usage>,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a channel does not come up, or an answer is wrong.
pub fn run(args: &LcsUppArgs) -> Result<String> {
    let kinds = args.kinds()?;
    ensure!(!kinds.is_empty() && args.rounds > 0, "name at least one of --channels and one round");
    namespace::enter_a_new_one()?;
    let mut output = Output::create("lcs-upp", args.out.as_deref(), "channel,n,round,transport_time_ms")?;
    let conditions = if args.realtime { realtime::enter()? } else { realtime::Conditions::ordinary() };
    let sizes = sizes(args.quick);
    let rounds = if args.quick { args.rounds.min(100) } else { args.rounds };
    let mut subjects = Vec::new();
    for kind in kinds {
        let server = Server::start(kind, args)?;
        let client = Client::connect(kind, server.address, &server.trust, &args.options())
            .with_context(|| format!("the channel {} does not come up", kind.name()))?;
        let empty = || vec![Vec::new(); sizes.len()];
        let none = || vec![Usage::default(); sizes.len()];
        subjects.push(Subject { kind, client, server, samples: empty(), client_used: none(), server_used: none() });
    }
    let mut random = StdRng::seed_from_u64(args.seed);
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    let blocks = rounds.div_ceil(BLOCK);
    let mut progress = Progress::new("blocks", (blocks * sizes.len()) as u64);
    for (at, &n) in sizes.iter().enumerate() {
        let message = Message::new(n);
        for block in 0..blocks {
            order.shuffle(&mut random);
            for &which in &order {
                let count = BLOCK.min(rounds - block * BLOCK);
                measure(&mut subjects[which], at, &message, count)?;
            }
            progress.step(&format!("n = {n}"));
        }
    }
    progress.done();
    for subject in &subjects {
        for (samples, n) in subject.samples.iter().zip(&sizes) {
            for (round, ms) in samples.iter().enumerate() {
                output.row(format_args!("{},{n},{round},{ms:.6}", subject.kind.name()))?;
            }
        }
    }
    figures(&mut output, &subjects, &sizes)?;
    report::write(&mut output, args, &conditions, &subjects, &sizes)?;
    output.finish()
}

/// A block of rounds of a channel.
fn measure(subject: &mut Subject, at: usize, message: &Message, count: usize) -> Result<()> {
    let name = subject.kind.name();
    let failed = || format!("{name}, n = {}", message.payload());
    for _ in 0..WARM_UP {
        subject.client.round(message).with_context(failed)?;
    }
    let pid = std::process::id();
    let before = (Usage::of(pid), Usage::of(subject.server.pid()));
    for _ in 0..count {
        let took = subject.client.round(message).with_context(failed)?;
        subject.samples[at].push(took.as_secs_f64() * 1000.0);
    }
    subject.client_used[at].add(&Usage::of(pid).since(&before.0));
    subject.server_used[at].add(&Usage::of(subject.server.pid()).since(&before.1));
    Ok(())
}

fn figures(output: &mut Output, subjects: &[Subject], sizes: &[usize]) -> Result<()> {
    for subject in subjects {
        for (samples, n) in subject.samples.iter().zip(sizes) {
            let interval = Interval::of(samples).context("no samples")?;
            output.figure(Figure {
                id: format!("transport_time.{}.n{n}_loopback.mean", subject.kind.name()),
                value: interval.mean,
                unit: "ms",
                low: interval.low(),
                high: interval.high(),
                n: samples.len(),
            });
            let median = crate::stats::median(samples).context("no samples")?;
            let id = format!("transport_time.{}.n{n}_loopback.p50", subject.kind.name());
            output.figure(Figure::of(id, "ms", median));
        }
    }
    Ok(())
}
