//! `martlet-lab sbi`: cost of one service call between two processes, for each transport.
mod http1;
#[cfg(feature = "iceoryx2")]
mod iceoryx;
mod report;
mod service;
mod sockets;
mod transport;

pub(crate) use service::body as echo_body;
pub use transport::{SbiServerArgs, Variant, serve};

use crate::progress::Progress;
use crate::stats::{median, quantile};
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use martlet_fabric::{Manager, ManagerConfig};
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(crate) use transport::{Message, Pair};

/// Measures calls that echo a body of 1.7 KB between two processes.
#[derive(Debug, Clone, Args)]
pub struct SbiArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Transports to compare
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_values_t = Variant::value_variants().iter().copied()
    )]
    pub variants: Vec<Variant>,
}

/// A load under which calls are measured.
#[derive(Debug, Clone, Copy)]
struct Load {
    name: &'static str,
    title: &'static str,
    in_flight: usize,
    gap: Duration,
    /// Calls of a block.
    calls: usize,
    /// Calls before each block that are not counted. The scheduler places both processes
    /// meanwhile.
    warm_up: usize,
}

const LOADS: [Load; 4] = [
    Load {
        name: "inflight1",
        title: "1 in flight",
        in_flight: 1,
        gap: Duration::ZERO,
        calls: 1000,
        warm_up: 200,
    },
    Load {
        name: "inflight16",
        title: "16 in flight",
        in_flight: 16,
        gap: Duration::ZERO,
        calls: 1600,
        warm_up: 200,
    },
    Load {
        name: "inflight1_gap3ms",
        title: "1 in flight, 3 ms gaps",
        in_flight: 1,
        gap: GAP,
        calls: 50,
        warm_up: 200,
    },
    Load {
        name: "inflight16_gap3ms",
        title: "16 in flight, 3 ms gaps",
        in_flight: 16,
        gap: GAP,
        calls: 480,
        warm_up: 200,
    },
];
const GAP: Duration = Duration::from_millis(3);

/// A statistic of a block: its name and function.
type Statistic = (&'static str, fn(&Block) -> f64);

/// The results of a block of calls, in microseconds.
struct Block {
    latencies: Vec<f64>,
    /// CPU time of both processes per call.
    cpu: f64,
    /// Elapsed time divided by the number of calls.
    per_call: f64,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a process does not start, or a call fails.
pub fn run(args: &SbiArgs) -> Result<String> {
    ensure!(!args.variants.is_empty(), "--variants must not be empty");
    namespace::enter_new()?;
    let mut output = Output::create("sbi", &args.run, "load,variant,block,latency_us")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(args, &mut output))?;
    report::write(&mut output, args)?;
    output.finish()
}

async fn measure(args: &SbiArgs, output: &mut Output) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("martlet-lab-sbi-{}", std::process::id()));
    let socket = folder.join("sbi.sock");
    let manager =
        Manager::bind(ManagerConfig { socket: socket.clone(), ..ManagerConfig::default() })?;
    let manager = tokio::spawn(manager.run());
    let message = Arc::new(Message::new(service::body()?)?);
    let mut pairs = Vec::new();
    for variant in &args.variants {
        let pair = Pair::start(*variant, &socket, &message).await?;
        pair.pause_polling(true)?;
        pairs.push(Arc::new(pair));
    }
    let blocks = if args.run.quick { 4 } else { 30 };
    let mut random = StdRng::seed_from_u64(args.run.seed);
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    let mut progress = Progress::new("blocks", blocks * LOADS.len() as u64);
    for mut load in LOADS {
        if args.run.quick {
            load.calls = load.calls.div_ceil(5).max(load.in_flight);
            load.warm_up /= 4;
        }
        let mut results: Vec<Vec<Block>> = pairs.iter().map(|_| Vec::new()).collect();
        for number in 0..blocks {
            order.shuffle(&mut random);
            for &index in &order {
                pairs[index].pause_polling(false)?;
                let block = block(&pairs[index], load, &message).await?;
                pairs[index].pause_polling(true)?;
                for latency in &block.latencies {
                    output.row(format_args!(
                        "{},{},{number},{latency:.2}",
                        load.name,
                        pairs[index].variant.name()
                    ))?;
                }
                results[index].push(block);
            }
            progress.step(load.title);
        }
        figures(output, load, &pairs, &results)?;
    }
    progress.done();
    drop(pairs);
    manager.abort();
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// Runs a block of calls under a load, after a warm-up. Each caller is a task, as in a network
/// function: the runtime polls its main future only after a number of its tasks.
async fn block(pair: &Arc<Pair>, load: Load, message: &Arc<Message>) -> Result<Block> {
    let calls = |number: usize, gap: Duration| {
        let (pair, message) = (pair.clone(), message.clone());
        tokio::spawn(async move {
            let mut latencies = Vec::with_capacity(number);
            for _ in 0..number {
                latencies.push(pair.call(&message).await?);
                if !gap.is_zero() {
                    tokio::time::sleep(gap).await;
                }
            }
            anyhow::Ok(latencies)
        })
    };
    calls(load.warm_up, Duration::ZERO).await??;
    let (before, started) = (pair.cpu_time(), Instant::now());
    let workers: Vec<_> =
        (0..load.in_flight).map(|_| calls(load.calls / load.in_flight, load.gap)).collect();
    let mut latencies = Vec::with_capacity(load.calls);
    for worker in workers {
        latencies.extend(worker.await??);
    }
    let (elapsed, after) = (started.elapsed().as_secs_f64() * 1e6, pair.cpu_time());
    let n = latencies.len() as f64;
    Ok(Block { latencies, cpu: (after - before) as f64 / 1e3 / n, per_call: elapsed / n })
}

/// Baselines of the comparison.
const BASELINES: &[Variant] = &[
    Variant::HttpTcp,
    #[cfg(feature = "iceoryx2")]
    Variant::Iceoryx2,
];

/// Figures of a load: those of each variant, and the [`BASELINES`] as multiples of it. Blocks
/// alternated between the variants, so each block gives a ratio; the figure is their median.
fn figures(
    output: &mut Output,
    load: Load,
    pairs: &[Arc<Pair>],
    results: &[Vec<Block>],
) -> Result<()> {
    let p50 = |block: &Block| quantile(&block.latencies, 0.5).map_or(f64::NAN, |m| m.value);
    let p99 = |block: &Block| quantile(&block.latencies, 0.99).map_or(f64::NAN, |m| m.value);
    let statistics: [Statistic; 4] = [
        ("p50", p50),
        ("p99", p99),
        ("cpu", |block| block.cpu),
        ("per_call", |block| block.per_call),
    ];
    for (name, of) in statistics {
        for (pair, blocks) in pairs.iter().zip(results) {
            let values: Vec<f64> = blocks.iter().map(of).collect();
            let id = format!("roundtrip.{}.{}.{name}", pair.variant.name(), load.name);
            output.figure(Figure::of(id, "us", median(&values).context("no blocks")?));
            for (base, others) in pairs.iter().zip(results) {
                if !BASELINES.contains(&base.variant) || base.variant == pair.variant {
                    continue;
                }
                let ratios: Vec<f64> =
                    others.iter().zip(blocks).map(|(a, b)| of(a) / of(b)).collect();
                let id = format!(
                    "roundtrip.{}_over_{}.{}.{name}",
                    base.variant.name(),
                    pair.variant.name(),
                    load.name
                );
                output.figure(Figure::of(id, "times", median(&ratios).context("no blocks")?));
            }
        }
    }
    Ok(())
}
