//! The switch over interfaces, after RFC 2544: the rate at which nothing is lost, by binary search,
//! and latency, beside the native UPFs `kernel` and `xdp` over the same pair of virtual links; for
//! some users and rules; and how soon a hot session is on the switch.
//!
//! Rates are those of one processor: generator and receivers are programs of the kernel and share
//! it with what is measured, all of it, so that nothing is done elsewhere. What they take is
//! measured by itself. Latencies are seen by a tester with a processor of its own, where there are
//! two.
use super::points::{FEW, LOADS, Point, QUANTILES, VARIANTS, load_name, packet};
use super::{FRAMES, SwitchArgs};
use crate::progress::Progress;
use crate::stats::median;
use crate::upf::wire::{DIRECTIONS, Round, Wire, on_one_processor, on_processors};
use crate::upf::{Rules, longest_frames};
use crate::{Figure, Output};
use anyhow::{Context, Result, ensure};
use martlet_switch_control::client::Client;
use martlet_switch_control::model::{Operation, Update};
use martlet_switch_control::rules;
use martlet_upf::config::{DatapathChoice, OffloadPolicy, SwitchEngine, UpfConfig};
use std::time::{Duration, Instant};

/// The search ends where it knows the rate as closely as this.
const CLOSE: f64 = 1.05;
/// Share of packets that may not have been sent in a trial that counts: at which rate else it was,
/// nobody knows.
const MISSED: f64 = 0.05;
/// Packets a second whose latency is looked at: few, so that none waits for the one before.
const PACED: f64 = 10_000.0;

/// How long things take, and how often they are done.
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
        let mut plan = match args.quick {
            true => Plan {
                frames: FEW.to_vec(),
                loads: LOADS[..1].to_vec(),
                trial: second / 10,
                latency: second / 4,
                hot: 3,
            },
            false => Plan {
                frames: FRAMES.to_vec(),
                loads: LOADS[..usize::from(args.loads)].to_vec(),
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

    /// Frame sizes that are measured with a load: all with the first one, else the smallest, the
    /// middle and the largest.
    fn frames(&self, load: (u32, u32)) -> Vec<u32> {
        match load == self.loads[0] {
            true => self.frames.clone(),
            false => self.frames.iter().copied().filter(|frame| FEW.contains(frame)).collect(),
        }
    }
}

/// Measures all of it.
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
            let named =
                |point: &Point| format!("{variant}, {}, {} octets", point.direction, point.frame);
            let rates = on_one_processor(|| {
                longest_frames()?;
                let mut wire = Wire::changed(choice, Rules::Full, load.1, |config| {
                    of_lab(config, engine, load.1, false);
                })?;
                if choice == Some(DatapathChoice::Kernel) {
                    wire.pass_to_the_kernel()?;
                }
                let rate = |(point, uplink): &(Point, bool)| {
                    let found = rate(&wire, *uplink, packet(point.frame, *uplink), load.0, plan);
                    progress.step(&named(point));
                    found.with_context(|| named(point))
                };
                points.iter().map(rate).collect::<Result<Vec<_>>>()
            })?;
            let latencies = on_processors(|parting| {
                let wire = Wire::apart(choice, Rules::Full, load.1, parting, |config| {
                    of_lab(config, engine, load.1, parting.is_some())
                })?;
                let latency = |(point, uplink): &(Point, bool)| {
                    let found = latency(&wire, *uplink, packet(point.frame, *uplink), load.0, plan);
                    progress.step(&named(point));
                    found.with_context(|| named(point))
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

/// How soon a hot session is on the switch, and how long rules take.
fn control(
    output: &mut Output,
    plan: &Plan,
    progress: &mut Progress,
    variant: &str,
    engine: SwitchEngine,
) -> Result<()> {
    let mut taken = Vec::new();
    for round in 0..plan.hot {
        let ms = on_processors(|parting| hot_to_in_force(engine, parting))?;
        output.row(format_args!("hot_to_in_force,512,1,{variant},{round},{ms},0"))?;
        taken.push(ms);
    }
    let name = format!("offload.{variant}.hot_to_in_force");
    output.figure(Figure::of(format!("{name}.median"), "ms", median(&taken).context("nothing")?));
    let slowest = taken.iter().copied().fold(0.0, f64::max);
    output.figure(Figure::once(format!("{name}.slowest"), "ms", slowest));
    progress.step("a hot session");
    for rules in [1_000, 100_000] {
        let (ms, sent, lost) = on_processors(|parting| issued(engine, parting, rules))?;
        output.row(format_args!("rules_issued,512,{rules},{variant},0,{ms},{lost}"))?;
        let name = format!("rules_issued.{variant}.{rules}");
        output.figure(Figure::once(format!("{name}_under_traffic"), "ms", ms));
        output.figure(Figure::once(format!("{name}_lost"), "packets", lost as f64));
        output.figure(Figure::once(format!("{name}_sent"), "packets", sent as f64));
        progress.step("rules under traffic");
    }
    Ok(())
}

/// Room for all rules, and a switch that keeps its processor where it has one for itself.
fn of_lab(config: &mut UpfConfig, engine: SwitchEngine, rules: u32, alone: bool) {
    config.switch.engine = engine;
    config.n6.mtu = 1500;
    config.switch.sessions = 131_072;
    if rules > 10_000 {
        // Who looks at what they carry is the UPF's processor, not the switch's: now and then,
        // here.
        config.switch.sample_ms = 5_000;
    }
    if let Some(run) = config.switch.run.as_mut().filter(|_| alone) {
        run.spin_us = Some(10_000_000);
    }
}

/// Packets a second without a loss, and each trial: rate, share lost.
struct Rate {
    best: f64,
    trials: Vec<(f64, f64)>,
}

fn rate(wire: &Wire, uplink: bool, length: u32, users: u32, plan: &Plan) -> Result<Rate> {
    let mut trials = Vec::new();
    let best = loss_free(|rate| {
        let round = wire.paced_in_runs(uplink, length, rate, plan.trial, users)?;
        trials.push((rate, round.loss()));
        Ok(round)
    })?;
    Ok(Rate { best, trials })
}

/// Quantiles in nanoseconds.
fn latency(
    wire: &Wire,
    uplink: bool,
    length: u32,
    users: u32,
    plan: &Plan,
) -> Result<Vec<(&'static str, f64)>> {
    let round = wire.paced_one_by_one(uplink, length, PACED, plan.latency, users)?;
    let quantile = |(name, q)| Some((name, round.received.quantile(q)?));
    Ok(QUANTILES.into_iter().filter_map(quantile).collect())
}

/// The highest rate at which nothing is lost, in packets a second really sent: upwards in large
/// steps until something is, then by halves. A rate has some tries, for the machine may have been
/// busy with something else.
fn loss_free(mut trial: impl FnMut(f64) -> Result<Round>) -> Result<f64> {
    const FIRST: f64 = 20_000.0;
    const TRIES: u32 = 4;
    let mut carried = |rate: f64| -> Result<Option<f64>> {
        let mut most = None;
        for _ in 0..TRIES {
            let round = trial(rate)?;
            if round.sent > 0 && round.received.packets >= round.sent {
                let sent = round.sent as f64 / round.wall.as_secs_f64();
                if round.missed <= MISSED {
                    return Ok(Some(sent));
                }
                most = most.max(Some(sent as u64));
            }
        }
        // Nothing was lost of what the tester could send.
        Ok(most.map(|sent| sent as f64))
    };
    let (mut low, mut high, mut best) = (0.0, None, 0f64);
    let mut rate = FIRST;
    loop {
        match carried(rate)? {
            Some(sent) => {
                // The tester does not send more, however much is asked of it.
                let no_more = sent < rate * 0.8 && sent < best * 1.2;
                best = best.max(sent);
                low = rate;
                if no_more {
                    return Ok(best);
                }
            }
            None => high = Some(rate),
        }
        rate = match high {
            None => rate * 2.0,
            Some(high) if low > 0.0 && high / low <= CLOSE => return Ok(best),
            // Not even a few.
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
    let of_tester = point.unloaded();
    if variant != "tester" {
        let tester = of_tester.rate(output, "tester");
        let own = 1.0 / (1.0 / rate.best - 1.0 / tester);
        output.figure(Figure::once(point.id("pps_own", variant, "loss_free"), "packets/s", own));
    }
    for (q, ns) in latency {
        output.row(format_args!(
            "{direction}_latency_{q}_{name},{frame},{rules},{variant},0,{ns},{PACED:.0}"
        ))?;
        // Of what the links and the tester take; a quantile of the sum is no sum of quantiles, so
        // this is an estimate.
        let tester = of_tester.value(output, "latency_whole", "tester", q);
        output.figure(Figure::once(point.id("latency_whole", variant, q), "us", ns / 1000.0));
        if variant != "tester" {
            let own = (ns / 1000.0 - tester).max(0.0);
            output.figure(Figure::once(point.id("latency", variant, q), "us", own));
        }
    }
    Ok(())
}

/// The switch over `kernel`.
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

/// Milliseconds from the first packet of a session that is hot from then on until its rules are in
/// force on the switch.
fn hot_to_in_force(engine: SwitchEngine, parting: Option<usize>) -> Result<f64> {
    let hot = |config: &mut UpfConfig| {
        of_lab(config, engine, 1, parting.is_some());
        config.switch.policy = OffloadPolicy::Hot;
    };
    let wire = Wire::apart(Some(DatapathChoice::Switch), Rules::Full, 1, parting, hot)?;
    let started = Instant::now();
    let mut taken = None;
    while taken.is_none() {
        ensure!(started.elapsed() < Duration::from_secs(5), "a hot session does not move");
        // 41 Mbit/s, and a look every two milliseconds.
        wire.paced_among(true, 512, 10_000.0, Duration::from_secs(1), || {
            if taken.is_none() && wire.moved_on() > 0 {
                taken = Some(started.elapsed());
            }
            1
        })?;
    }
    Ok(taken.unwrap_or_default().as_secs_f64() * 1e3)
}

/// Milliseconds in which so many rules are issued in one batch, over P4Runtime, while packets of a
/// session pass; how many were sent meanwhile, and lost.
fn issued(engine: SwitchEngine, parting: Option<usize>, rules: u32) -> Result<(f64, u64, u64)> {
    let mut address = None;
    let wire = Wire::apart(Some(DatapathChoice::Switch), Rules::Full, 1, parting, |config| {
        of_lab(config, engine, 1, parting.is_some());
        address = Some((config.switch.address, config.switch.device));
    })?;
    let (address, device) = address.context("a switch")?;
    let issue = move || -> Result<f64> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut client = Client::connect(address, device).await?;
            client.lead(Some(1_000)).await?;
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
            let round = wire.paced(true, 512, 20_000.0, Duration::from_millis(200))?;
            (sent, received) = (sent + round.sent, received + round.received.packets);
        }
        let ms = writer.join().map_err(|_| anyhow::anyhow!("the writer broke off"))??;
        Ok((ms, sent, sent.saturating_sub(received)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_upf_xdp::Received;

    fn round(rate: f64, most: f64) -> Result<Round> {
        let sent = (rate.min(3e6) / 10.0) as u64;
        let packets = sent.min((most / 10.0) as u64);
        let received = Received { packets, octets: 0, took: vec![] };
        Ok(Round {
            sent,
            received,
            wall: Duration::from_millis(100),
            cpu: Duration::ZERO,
            missed: 0.0,
        })
    }

    #[test]
    fn the_search_finds_the_rate_without_a_loss() {
        for most in [700.0, 3_000.0, 90_000.0, 1_234_567.0] {
            let found = loss_free(|rate| round(rate, most)).unwrap();
            assert!(found <= most && found >= most / 1.06, "{most}: {found}");
        }
        // As much as the tester sends.
        assert!(loss_free(|rate| round(rate, 1e9)).unwrap() >= 2.5e6);
        assert_eq!(loss_free(|rate| round(rate, 0.0)).unwrap(), 0.0);
    }
}
