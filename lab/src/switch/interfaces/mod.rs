//! The switch over interfaces, after RFC 2544: throughput without loss, by binary search, and
//! latency, beside the native UPFs `kernel` and `xdp` over the same pair of virtual links; for
//! several numbers of users and rules. Also the time until a hot session is offloaded.
//!
//! Rates are those of one CPU: generator and receivers are programs in the kernel and share the CPU
//! with the device under test, so that all work is counted. Their own cost is measured separately.
//! Latencies are measured by a tester on a second CPU, where there is one.
mod points;
pub(super) mod report;

use super::{FRAMES, SwitchArgs};
use crate::progress::Progress;
use crate::stats::median;
use crate::upf::links::{DIRECTIONS, Round, Testbed, on_one_cpu, on_two_cpus};
use crate::upf::{Rules, raise_n3_mtu};
use crate::{Figure, Output};
use anyhow::{Context, Result, ensure};
use martlet_switch_control::client::Client;
use martlet_switch_control::model::{Operation, Update};
use martlet_switch_control::rules;
use martlet_upf::config::{DatapathChoice, OffloadPolicy, SwitchEngine, UpfConfig};
use points::{COMMON_FRAMES, LOADS, Point, QUANTILES, VARIANTS, load_name, packet};
use std::time::{Duration, Instant};

/// Precision of the search, as the ratio of its bounds.
const PRECISION: f64 = 1.05;
/// Maximum share of packets that a valid trial fails to send. Its actual rate is unknown otherwise.
const MAX_MISSED: f64 = 0.05;
/// Rate of the latency measurement in packets per second; low, so that no packet queues.
const LATENCY_RATE: f64 = 10_000.0;

/// Sizes, loads, durations and repetitions of the measurement.
pub(super) struct Plan {
    pub frames: Vec<u32>,
    pub loads: Vec<(u32, u32)>,
    pub trial: Duration,
    latency: Duration,
    hot: u32,
}

impl Plan {
    pub fn of(args: &SwitchArgs) -> Plan {
        let second = Duration::from_secs(1);
        let mut plan = match args.run.quick {
            true => Plan {
                frames: COMMON_FRAMES.to_vec(),
                loads: LOADS[..usize::from(args.loads.unwrap_or(1))].to_vec(),
                trial: second / 10,
                latency: second / 4,
                hot: 3,
            },
            false => Plan {
                frames: FRAMES.to_vec(),
                loads: LOADS[..usize::from(args.loads.unwrap_or(LOADS.len() as u8))].to_vec(),
                trial: Duration::from_secs_f64(args.trial),
                latency: second.min(Duration::from_secs_f64(4.0 * args.trial)),
                hot: 15,
            },
        };
        if !args.frames.is_empty() {
            plan.frames = args.frames.clone();
        }
        plan
    }

    /// Frame sizes of a load: all for the first load, else the common ones.
    fn frames(&self, load: (u32, u32)) -> Vec<u32> {
        match load == self.loads[0] {
            true => self.frames.clone(),
            false => {
                self.frames.iter().copied().filter(|frame| COMMON_FRAMES.contains(frame)).collect()
            }
        }
    }
}

/// Measures rates, latencies and offload times.
pub(super) fn measure(output: &mut Output, plan: &Plan) -> Result<()> {
    let steps: usize =
        plan.loads.iter().map(|load| 4 * VARIANTS.len() * plan.frames(*load).len()).sum();
    let mut progress = Progress::new("steps over interfaces", steps as u64 + 6);
    for &load in &plan.loads {
        for (variant, choice, engine) in VARIANTS {
            let frames = plan.frames(load);
            if choice.is_none() && load != plan.loads[0] {
                (0..4 * frames.len()).for_each(|_| progress.step(variant));
                continue;
            }
            let points: Vec<(Point, bool)> = frames
                .iter()
                .flat_map(|frame| {
                    DIRECTIONS.map(|(direction, up)| (Point { direction, frame: *frame, load }, up))
                })
                .collect();
            let title =
                |point: &Point| format!("{variant}, {}, {} bytes", point.direction, point.frame);
            let rates = on_one_cpu(|| {
                raise_n3_mtu()?;
                let mut testbed = Testbed::with_config(choice, Rules::Full, load.1, |config| {
                    adapt_config(config, engine, load.1, false);
                })?;
                if choice == Some(DatapathChoice::Kernel) {
                    testbed.pass_to_kernel()?;
                }
                let rate = |(point, uplink): &(Point, bool)| {
                    let found = rate(&testbed, *uplink, packet(point.frame, *uplink), load.0, plan);
                    progress.step(&title(point));
                    found.with_context(|| title(point))
                };
                points.iter().map(rate).collect::<Result<Vec<_>>>()
            })?;
            let latencies = on_two_cpus(|tester_cpu| {
                let testbed =
                    Testbed::with_tester_on(choice, Rules::Full, load.1, tester_cpu, |config| {
                        adapt_config(config, engine, load.1, tester_cpu.is_some())
                    })?;
                let latency = |(point, uplink): &(Point, bool)| {
                    let found =
                        latency(&testbed, *uplink, packet(point.frame, *uplink), load.0, plan);
                    progress.step(&title(point));
                    found.with_context(|| title(point))
                };
                points.iter().map(latency).collect::<Result<Vec<_>>>()
            })?;
            for (((point, _), rate), latency) in points.iter().zip(rates).zip(latencies) {
                write(output, variant, point, &rate, &latency)?;
            }
        }
    }
    ratios(output, plan);
    for (variant, engine) in [("switch", SwitchEngine::Swx), ("switch_xdp", SwitchEngine::Xdp)] {
        control(output, plan, &mut progress, variant, engine)?;
    }
    progress.done();
    Ok(())
}

/// Measures the time until a hot session is offloaded, and the time to write rules under traffic.
fn control(
    output: &mut Output,
    plan: &Plan,
    progress: &mut Progress,
    variant: &str,
    engine: SwitchEngine,
) -> Result<()> {
    let mut samples = Vec::new();
    for round in 0..plan.hot {
        let ms = on_two_cpus(|tester_cpu| hot_to_offloaded(engine, tester_cpu))?;
        output.row(format_args!("hot_to_offloaded,512,1,{variant},{round},{ms},0"))?;
        samples.push(ms);
    }
    let name = format!("offload.{variant}.hot_to_offloaded");
    output.figure(Figure::of(
        format!("{name}.median"),
        "ms",
        median(&samples).context("no samples")?,
    ));
    let slowest = samples.iter().copied().fold(0.0, f64::max);
    output.figure(Figure::once(format!("{name}.slowest"), "ms", slowest));
    progress.step("a hot session");
    for rules in [1_000, 100_000] {
        let (ms, sent, lost) = on_two_cpus(|tester_cpu| write_rules(engine, tester_cpu, rules))?;
        output.row(format_args!("rules_issued,512,{rules},{variant},0,{ms},{lost}"))?;
        let name = format!("rules_issued.{variant}.{rules}");
        output.figure(Figure::once(format!("{name}_under_traffic"), "ms", ms));
        output.figure(Figure::once(format!("{name}_lost"), "packets", lost as f64));
        output.figure(Figure::once(format!("{name}_sent"), "packets", sent as f64));
        progress.step("rules under traffic");
    }
    Ok(())
}

/// Makes room for all rules. A switch with a CPU of its own (`alone`) polls all the time.
fn adapt_config(config: &mut UpfConfig, engine: SwitchEngine, rules: u32, alone: bool) {
    config.switch.engine = engine;
    config.n6.mtu = 1500;
    config.switch.sessions = 131_072;
    if rules > 10_000 {
        // Sampling the rules costs CPU time of the UPF, so it is rare here.
        config.switch.sample_ms = 5_000;
    }
    if let Some(run) = config.switch.run.as_mut().filter(|_| alone) {
        run.spin_us = Some(10_000_000);
    }
}

/// The highest rate without loss, and the rate and loss share of each trial.
struct Rate {
    best: f64,
    trials: Vec<(f64, f64)>,
}

fn rate(testbed: &Testbed, uplink: bool, length: u32, users: u32, plan: &Plan) -> Result<Rate> {
    let mut trials = Vec::new();
    let best = loss_free(|rate| {
        let round = testbed.paced_in_bursts(uplink, length, rate, plan.trial, users)?;
        trials.push((rate, round.loss()));
        Ok(round)
    })?;
    Ok(Rate { best, trials })
}

/// Measures the quantiles of the latency, in nanoseconds.
fn latency(
    testbed: &Testbed,
    uplink: bool,
    length: u32,
    users: u32,
    plan: &Plan,
) -> Result<Vec<(&'static str, f64)>> {
    let round = testbed.paced_singly(uplink, length, LATENCY_RATE, plan.latency, users)?;
    let quantile = |(name, q)| Some((name, round.received.quantile(q)?));
    Ok(QUANTILES.into_iter().filter_map(quantile).collect())
}

/// The highest rate without loss, in packets per second that were actually sent. The rate is
/// doubled until packets are lost, then bisected. Each rate has several tries, since other work on
/// the machine can cause losses.
fn loss_free(mut trial: impl FnMut(f64) -> Result<Round>) -> Result<f64> {
    const FIRST: f64 = 20_000.0;
    const TRIES: u32 = 4;
    let mut carried = |rate: f64| -> Result<Option<f64>> {
        let mut incomplete = None;
        for _ in 0..TRIES {
            let round = trial(rate)?;
            if round.sent > 0 && round.received.packets >= round.sent {
                let sent = round.sent as f64 / round.wall.as_secs_f64();
                if round.missed <= MAX_MISSED {
                    return Ok(Some(sent));
                }
                incomplete = incomplete.max(Some(sent as u64));
            }
        }
        // The tester could not send at the rate, and nothing it sent was lost.
        Ok(incomplete.map(|sent| sent as f64))
    };
    let (mut low, mut high, mut best) = (0.0, None, 0f64);
    let mut rate = FIRST;
    loop {
        match carried(rate)? {
            Some(sent) => {
                // The tester has reached its own limit.
                let tester_limit = sent < rate * 0.8 && sent < best * 1.2;
                best = best.max(sent);
                low = rate;
                if tester_limit {
                    return Ok(best);
                }
            }
            None => high = Some(rate),
        }
        rate = match high {
            None => rate * 2.0,
            Some(high) if low > 0.0 && high / low <= PRECISION => return Ok(best),
            // Even low rates lose packets.
            Some(high) if high < 500.0 => return Ok(best),
            Some(high) if low == 0.0 => high / 2.0,
            Some(high) => f64::sqrt(low * high),
        };
    }
}

fn write(
    output: &mut Output,
    variant: &str,
    point: &Point,
    rate: &Rate,
    latency: &[(&'static str, f64)],
) -> Result<()> {
    let Point { direction, frame, load } = *point;
    let (name, rules) = (load_name(load), load.1);
    for (n, (rate, loss)) in rate.trials.iter().enumerate() {
        output.row(format_args!(
            "{direction}_trial_{name},{frame},{rules},{variant},{n},{rate:.0},{loss:.6}"
        ))?;
    }
    output.figure(Figure::once(point.id("pps", variant, "loss_free"), "packets/s", rate.best));
    let unloaded = point.unloaded();
    if variant != "tester" {
        let tester = unloaded.rate(output, "tester");
        let own = 1.0 / (1.0 / rate.best - 1.0 / tester);
        output.figure(Figure::once(point.id("pps_own", variant, "loss_free"), "packets/s", own));
    }
    for (q, ns) in latency {
        output.row(format_args!(
            "{direction}_latency_{q}_{name},{frame},{rules},{variant},0,{ns},{LATENCY_RATE:.0}"
        ))?;
        // Less the latency of links and tester. This is an estimate: the quantile of a sum is not
        // the sum of the quantiles.
        let tester = unloaded.value(output, "latency_whole", "tester", q);
        output.figure(Figure::once(point.id("latency_whole", variant, q), "us", ns / 1000.0));
        if variant != "tester" {
            let own = (ns / 1000.0 - tester).max(0.0);
            output.figure(Figure::once(point.id("latency", variant, q), "us", own));
        }
    }
    Ok(())
}

/// Adds the figures of the switch relative to `kernel`.
pub(super) fn ratios(output: &mut Output, plan: &Plan) {
    for &load in &plan.loads {
        for frame in plan.frames(load) {
            for (direction, _) in DIRECTIONS {
                let point = Point { direction, frame, load };
                for (what, statistic) in [
                    ("pps", "loss_free"),
                    ("pps_own", "loss_free"),
                    ("latency", "p50"),
                    ("latency_whole", "p50"),
                ] {
                    for variant in ["switch", "switch_xdp"] {
                        let of = |variant| point.value(output, what, variant, statistic);
                        let times = of(variant) / of("kernel");
                        let id = point.id(what, &format!("{variant}_over_kernel"), statistic);
                        if times.is_finite() && output.find(&id).is_none() {
                            output.figure(Figure::once(id, "times", times));
                        }
                    }
                }
            }
        }
    }
}

/// Milliseconds from the first packet of a hot session until its rules are active on the switch.
fn hot_to_offloaded(engine: SwitchEngine, tester_cpu: Option<usize>) -> Result<f64> {
    let hot = |config: &mut UpfConfig| {
        adapt_config(config, engine, 1, tester_cpu.is_some());
        config.switch.policy = OffloadPolicy::Hot;
    };
    let testbed =
        Testbed::with_tester_on(Some(DatapathChoice::Switch), Rules::Full, 1, tester_cpu, hot)?;
    let started = Instant::now();
    let mut offloaded = None;
    while offloaded.is_none() {
        ensure!(started.elapsed() < Duration::from_secs(5), "a hot session is not offloaded");
        // 41 Mbit/s, checked with every batch of packets.
        testbed.paced_among(true, 512, 10_000.0, Duration::from_secs(1), || {
            if offloaded.is_none() && testbed.offloaded() > 0 {
                offloaded = Some(started.elapsed());
            }
            1
        })?;
    }
    Ok(offloaded.unwrap_or_default().as_secs_f64() * 1e3)
}

/// Writes rules in one batch over P4Runtime while packets of a session are forwarded. Returns the
/// duration in milliseconds, and the packets sent and lost meanwhile.
fn write_rules(
    engine: SwitchEngine,
    tester_cpu: Option<usize>,
    rules: u32,
) -> Result<(f64, u64, u64)> {
    let mut address = None;
    let testbed = Testbed::with_tester_on(
        Some(DatapathChoice::Switch),
        Rules::Full,
        1,
        tester_cpu,
        |config| {
            adapt_config(config, engine, 1, tester_cpu.is_some());
            address = Some((config.switch.address, config.switch.device));
        },
    )?;
    let (address, device) = address.context("no switch is configured")?;
    let issue = move || -> Result<f64> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut client = Client::connect(address, device).await?;
            client.become_primary(Some(1_000)).await?;
            let info = client.program().info.clone();
            let rule = |n: u32| -> Result<Update> {
                let line = format!(
                    "decap teid {} ue 10.200.{}.{} via 1 counter {n}",
                    0x100_0000 + n,
                    n >> 8 & 255,
                    n & 255
                );
                let entry = rules::parse(&info, &rules::words(&line), 0, false, &mut || None);
                Ok(Update { operation: Operation::Insert, entry: entry? })
            };
            let updates: Vec<Update> = (0..rules).map(rule).collect::<Result<_>>()?;
            tokio::time::sleep(Duration::from_millis(200)).await;
            let started = Instant::now();
            client.write(&updates).await?;
            Ok(started.elapsed().as_secs_f64() * 1e3)
        })
    };
    std::thread::scope(|scope| {
        let writer = scope.spawn(issue);
        let (mut sent, mut received) = (0, 0);
        while !writer.is_finished() {
            let round = testbed.paced(true, 512, 20_000.0, Duration::from_millis(200))?;
            (sent, received) = (sent + round.sent, received + round.received.packets);
        }
        let ms = writer.join().map_err(|_| anyhow::anyhow!("the writer thread panicked"))??;
        Ok((ms, sent, sent.saturating_sub(received)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_upf_xdp::Received;

    fn round(rate: f64, max: f64) -> Result<Round> {
        let sent = (rate.min(3e6) / 10.0) as u64;
        let packets = sent.min((max / 10.0) as u64);
        let received = Received { packets, bytes: 0, latency_classes: vec![] };
        Ok(Round {
            sent,
            received,
            wall: Duration::from_millis(100),
            cpu: Duration::ZERO,
            missed: 0.0,
        })
    }

    #[test]
    fn the_search_finds_the_highest_rate_without_loss() {
        for max in [700.0, 3_000.0, 90_000.0, 1_234_567.0] {
            let found = loss_free(|rate| round(rate, max)).unwrap();
            assert!(found <= max && found >= max / 1.06, "{max}: {found}");
        }
        // The limit of the tester.
        assert!(loss_free(|rate| round(rate, 1e9)).unwrap() >= 2.5e6);
        assert_eq!(loss_free(|rate| round(rate, 0.0)).unwrap(), 0.0);
    }
}
