//! The switch over interfaces, after RFC 2544: throughput without loss, and latency, beside the
//! native UPFs `kernel` and `xdp` over the same pair of virtual links; for several numbers of users
//! and rules. Also the time until a hot session is offloaded.
//!
//! Throughput is searched with trials of a second: RFC 2544, 24, allows shorter trials in a search.
//! The rate that was found is then confirmed by a trial of the full length ([`search`]).
//!
//! Rates are those of one CPU: generator and receivers are programs in the kernel and share the CPU
//! with the device under test, so that all work is counted. Their own cost is measured separately.
//! Latencies are measured by a tester on a second CPU, where there is one.
mod points;
pub(super) mod report;
mod search;

use super::{FRAMES, SwitchArgs};
use crate::progress::Progress;
use crate::stats::{at_least_zero, median};
use crate::upf::links::{DIRECTIONS, Round, Testbed, on_one_cpu, on_two_cpus};
use crate::upf::{Rules, raise_n3_mtu};
use crate::{Figure, Output};
use anyhow::{Context, Result, ensure};
use martlet_switch_control::client::Client;
use martlet_switch_control::model::{Operation, Update};
use martlet_switch_control::rules;
use martlet_upf::config::{DatapathChoice, OffloadPolicy, SwitchEngine, UpfConfig};
use points::{COMMON_FRAMES, CONFIRMED, LOADS, Point, QUANTILES, VARIANTS, load_name, packet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Rate of the latency measurement in packets per second; low, so that no packet queues.
const LATENCY_RATE: f64 = 10_000.0;

/// Seconds of a trial by RFC 2544, 24.
pub(super) const RFC_2544_TRIAL: f64 = 60.0;
/// Seconds of a trial of the search.
const SEARCH_TRIAL: f64 = 1.0;

/// Sizes, loads, durations and repetitions of the measurement.
pub(super) struct Plan {
    pub frames: Vec<u32>,
    pub loads: Vec<(u32, u32)>,
    /// A trial of the search.
    pub search: Duration,
    /// A trial that confirms a rate.
    pub trial: Duration,
    latency: Duration,
    hot: u32,
    /// Measure hot sessions and writes of rules, too.
    control: bool,
    /// The switch program; `None`: where the UPF finds it.
    program: Option<PathBuf>,
}

impl Plan {
    pub fn of(args: &SwitchArgs) -> Plan {
        let second = Duration::from_secs(1);
        let mut plan = match args.run.quick {
            true => Plan {
                frames: COMMON_FRAMES.to_vec(),
                loads: LOADS[..usize::from(args.loads.unwrap_or(1))].to_vec(),
                search: second / 10,
                trial: second / 10,
                latency: second / 4,
                hot: 3,
                control: !args.forwarding_only,
                program: args.program.clone(),
            },
            false => Plan {
                frames: FRAMES.to_vec(),
                loads: LOADS[..usize::from(args.loads.unwrap_or(LOADS.len() as u8))].to_vec(),
                search: Duration::from_secs_f64(args.trial.min(SEARCH_TRIAL)),
                trial: Duration::from_secs_f64(args.trial),
                latency: second.min(Duration::from_secs_f64(4.0 * args.trial)),
                hot: 15,
                control: !args.forwarding_only,
                program: args.program.clone(),
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

    /// Whether the trials are as long as RFC 2544 requires.
    pub fn is_rfc_2544(&self) -> bool {
        self.trial.as_secs_f64() >= RFC_2544_TRIAL
    }

    /// Whether a rate is confirmed by a trial of full length: rates of the engines and of the
    /// baseline that they are compared with, for all frames with the first load, and for the
    /// smallest frame with the others.
    fn confirms(&self, variant: &str, point: &Point) -> bool {
        let is_drawn = point.load == self.loads[0]
            || Some(&point.frame) == self.frames(point.load).iter().min();
        self.trial > self.search && CONFIRMED.contains(&variant) && is_drawn
    }

    /// All points of a variant and a load. The tester alone is measured with the first load.
    fn points(&self, variant: &str, load: (u32, u32)) -> Vec<(Point, bool)> {
        if variant == "tester" && load != self.loads[0] {
            return Vec::new();
        }
        let both =
            |frame: u32| DIRECTIONS.map(|(direction, up)| (Point { direction, frame, load }, up));
        self.frames(load).into_iter().flat_map(both).collect()
    }

    /// The number of searched points, and of those that are confirmed.
    fn count(&self) -> (u32, u32) {
        let mut counts = (0, 0);
        for &load in &self.loads {
            for (variant, ..) in VARIANTS {
                for (point, _) in self.points(variant, load) {
                    counts.0 += 1;
                    counts.1 += u32::from(self.confirms(variant, &point));
                }
            }
        }
        counts
    }

    /// How long the measurement takes on a machine without other work.
    pub fn expected(&self) -> Duration {
        // A search has about thirteen trials, and half of the confirmations need a second one. Then
        // the start of a device under test, and for each engine the hot sessions and the rules.
        let (points, confirmed) = self.count();
        (self.search * 13 + self.latency) * points
            + self.trial.mul_f64(1.5) * confirmed
            + Duration::from_secs(4) * (2 * VARIANTS.len() * self.loads.len()) as u32
            + Duration::from_secs(2) * if self.control { 2 * (self.hot + 5) } else { 0 }
    }
}

/// Measures rates, latencies and offload times.
pub(super) fn measure(output: &mut Output, plan: &Plan) -> Result<()> {
    let (points, confirmed) = plan.count();
    let minutes = plan.expected().as_secs_f64() / 60.0;
    eprintln!(
        "over interfaces: {points} points, {confirmed} of them confirmed by trials of {} s: about \
         {:.0} minutes on a machine without other work",
        plan.trial.as_secs_f64(),
        minutes.ceil()
    );
    let steps = u64::from(2 * points) + if plan.control { 6 } else { 0 };
    let mut progress = Progress::new("steps over interfaces", steps);
    for &load in &plan.loads {
        for (variant, choice, engine) in VARIANTS {
            let points = plan.points(variant, load);
            if points.is_empty() {
                continue;
            }
            let title =
                |point: &Point| format!("{variant}, {}, {} bytes", point.direction, point.frame);
            let rates = on_one_cpu(|| {
                raise_n3_mtu()?;
                let mut testbed = Testbed::with_config(choice, Rules::Full, load.1, |config| {
                    adapt_config(config, plan, engine, load.1, false);
                })?;
                if choice == Some(DatapathChoice::Kernel) {
                    testbed.pass_to_kernel()?;
                }
                // Packets per second depend little on the frame, so a search starts where the last
                // one of its direction ended.
                let mut first = [search::FIRST; 2];
                let rate = |(point, uplink): &(Point, bool)| {
                    let first = &mut first[usize::from(*uplink)];
                    let length = packet(point.frame, *uplink);
                    let confirms = plan.confirms(variant, point);
                    let found = rate(&testbed, *uplink, length, load.0, plan, confirms, *first)
                        .with_context(|| title(point))?;
                    *first = (found.best / 2.0).max(search::FIRST);
                    progress.step(&title(point));
                    Ok(found)
                };
                points.iter().map(rate).collect::<Result<Vec<_>>>()
            })?;
            let latencies = on_two_cpus(|tester_cpu| {
                let testbed =
                    Testbed::with_tester_on(choice, Rules::Full, load.1, tester_cpu, |config| {
                        adapt_config(config, plan, engine, load.1, tester_cpu.is_some())
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
    let length = plan.trial.as_secs_f64();
    output.figure(Figure::once("trial_length.interfaces.confirmation", "s", length));
    ratios(output, plan);
    let engines = [("switch", SwitchEngine::Swx), ("switch_xdp", SwitchEngine::Xdp)];
    for (variant, engine) in engines.into_iter().filter(|_| plan.control) {
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
        let ms = on_two_cpus(|tester_cpu| hot_to_offloaded(plan, engine, tester_cpu))?;
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
        let (ms, sent, lost) =
            on_two_cpus(|tester_cpu| write_rules(plan, engine, tester_cpu, rules))?;
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
fn adapt_config(
    config: &mut UpfConfig,
    plan: &Plan,
    engine: SwitchEngine,
    rules: u32,
    alone: bool,
) {
    config.switch.engine = engine;
    config.n6.mtu = 1500;
    config.switch.sessions = 131_072;
    if rules > 10_000 {
        // Sampling the rules costs CPU time of the UPF, so it is rare here.
        config.switch.sample_ms = 5_000;
    }
    if let Some(run) = &mut config.switch.run {
        run.program = plan.program.clone();
        run.spin_us = alone.then_some(10_000_000);
    }
}

/// The highest rate without loss, and the rate and loss share of each trial.
struct Rate {
    best: f64,
    trials: Vec<(f64, f64)>,
    /// Those of full length, which confirm the rate.
    confirmations: Vec<(f64, f64)>,
}

fn rate(
    testbed: &Testbed,
    uplink: bool,
    length: u32,
    users: u32,
    plan: &Plan,
    confirms: bool,
    first: f64,
) -> Result<Rate> {
    let trial = |rate: f64, time: Duration, done: &mut Vec<(f64, f64)>| -> Result<Round> {
        let round = testbed.paced_in_bursts(uplink, length, rate, time, users)?;
        done.push((rate, round.loss()));
        Ok(round)
    };
    let (mut trials, mut confirmations) = (Vec::new(), Vec::new());
    let mut best = search::loss_free(first, |rate| trial(rate, plan.search, &mut trials))?;
    if confirms {
        best = search::confirmed(best, |rate| trial(rate, plan.trial, &mut confirmations))?;
    }
    Ok(Rate { best, trials, confirmations })
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
    for (n, (rate, loss)) in rate.confirmations.iter().enumerate() {
        output.row(format_args!(
            "{direction}_confirmation_{name},{frame},{rules},{variant},{n},{rate:.0},{loss:.9}"
        ))?;
    }
    if !rate.confirmations.is_empty() {
        let trials = rate.confirmations.len() as f64;
        output.figure(Figure::once(point.id("trials", variant, "confirmations"), "trials", trials));
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
            let own = at_least_zero(ns / 1000.0 - tester);
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
fn hot_to_offloaded(plan: &Plan, engine: SwitchEngine, tester_cpu: Option<usize>) -> Result<f64> {
    let hot = |config: &mut UpfConfig| {
        adapt_config(config, plan, engine, 1, tester_cpu.is_some());
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
    plan: &Plan,
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
            adapt_config(config, plan, engine, 1, tester_cpu.is_some());
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
    use clap::Parser;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        switch: SwitchArgs,
    }

    fn plan(arguments: &[&str]) -> Plan {
        let all = ["switch", "--interfaces"].iter().chain(arguments);
        Plan::of(&Arguments::try_parse_from(all).unwrap().switch)
    }

    /// The frames and loads of the paper.
    const PAPER: [&str; 4] = ["--frames", "64,128,256,1024,1518", "--loads", "3"];

    #[test]
    fn the_default_has_trials_of_rfc_2544_and_ends_within_two_hours() {
        // All frames and loads take a little longer than those of the paper.
        for (arguments, limit) in [(&PAPER[..], 120), (&[], 150)] {
            let plan = plan(arguments);
            assert!(plan.is_rfc_2544());
            assert_eq!(plan.search, Duration::from_secs(1));
            let minutes = plan.expected().as_secs() / 60;
            assert!((30..limit).contains(&minutes), "{minutes} minutes");
        }
        // Each frame of figure 2 and the 64 bytes of the other loads, in both directions.
        assert_eq!(plan(&PAPER).count(), (50 + 2 * 2 * 2 * 4, (5 + 2) * 2 * 3));
    }

    #[test]
    fn a_shorter_trial_is_not_rfc_2544() {
        let ten = plan(&[&PAPER[..], &["--trial", "10"]].concat());
        assert!(!ten.is_rfc_2544());
        assert_eq!(ten.count().1, 42);
        // A trial that is not longer than the search's confirms nothing.
        for arguments in [&["--trial", "0.5"][..], &["--quick"]] {
            let short = plan(arguments);
            assert_eq!((short.count().1, short.is_rfc_2544()), (0, false));
        }
    }

    #[test]
    fn without_the_testers_latency_that_of_the_switch_is_unknown() {
        let out = format!("../target/martlet-switch-latency-{}", std::process::id());
        let run = crate::RunArgs { out: Some(out.into()), ..crate::RunArgs::default() };
        let mut output = Output::create("test", &run, "header").unwrap();
        let point = Point { direction: "uplink", frame: 64, load: LOADS[0] };
        let rate = Rate { best: 1e6, trials: Vec::new(), confirmations: Vec::new() };
        write(&mut output, "switch", &point, &rate, &[("p50", 5000.0)]).unwrap();
        assert!(point.latency(&output, "switch", "p50").is_nan());
        write(&mut output, "tester", &point, &rate, &[("p50", 3000.0)]).unwrap();
        write(&mut output, "kernel", &point, &rate, &[("p50", 5000.0)]).unwrap();
        assert_eq!(point.latency(&output, "kernel", "p50"), 2.0);
        std::fs::remove_dir_all(output.folder()).unwrap();
    }

    #[test]
    fn the_upf_runs_the_program_of_the_option() {
        let mut config = UpfConfig::default();
        config.switch.run = Some(crate::upf::switch_run());
        let plan = plan(&["--program", "/opt/martlet-switch"]);
        adapt_config(&mut config, &plan, SwitchEngine::Swx, 1, false);
        let run = config.switch.run.unwrap();
        assert_eq!(run.program, Some(PathBuf::from("/opt/martlet-switch")));
    }
}
